/** `lab up`: the whole lab, or its services alone, until Ctrl+C. */

import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { destination } from "pino";
import { createLog, type Log } from "../core/log.ts";
import { toJson } from "../core/ops.ts";
import { programPath } from "../core/program.ts";
import { choice, duration, list, named, port, toggle } from "../core/setting-kinds.ts";
import { SETTINGS, setting, type Values } from "../core/settings.ts";
import type { S3Settings } from "../delta/store/s3-settings.ts";
import { childPart } from "../services/child.ts";
import { startCutProxy } from "../services/cut-proxy.ts";
import { lockFolder } from "../services/folder-lock.ts";
import { requireFreePort } from "../services/ports.ts";
import { runFolder } from "../services/run-file.ts";
import { createSupervisor, type Supervisor } from "../services/supervisor.ts";
import { breakableLab } from "./breakable-lab.ts";
import { type Context, defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { DEMO_YAML, demoYaml } from "./demo.ts";
import { KAFKA, kafkaEnv, kafkaSecurity } from "./kafka-settings.ts";
import { type BreakableLab, labOrders } from "./lab-orders.ts";
import { kafkaPart, s3Part } from "./lab-services.ts";
import type { LabYaml } from "./lab-yaml.ts";
import { showStatus } from "./live-status.ts";
import { serveSupervisor } from "./serve-supervisor.ts";
import { startAgain } from "./start-again.ts";
import { demoFile, type PlannedChild, planUp, type UpPlan } from "./up-plan.ts";
import { createTopics, makeBucket, startInTurns, tableVersions } from "./up-steps.ts";
import { UPKEEP_DEFAULT, upkeepSetting } from "./upkeep-plan.ts";

/** The last line names the versions of so many tables. */
const MOST_VERSIONS = 10;

const settings = {
  ...KAFKA,
  store: SETTINGS.store,
  app: SETTINGS.app,
  data: SETTINGS.data,
  upkeep: upkeepSetting(`what lab.yaml says, else ${UPKEEP_DEFAULT}`),
  port: setting<number>({
    flag: "--port",
    kind: port,
    default: 8080,
    description: "port of the dashboard; 0 takes a free one",
  }),
  host: setting<string>({
    flag: "--host",
    kind: named("address"),
    default: "127.0.0.1",
    description: "address the dashboard listens on",
  }),
  for: setting<number | undefined>({
    flag: "--for",
    kind: duration,
    default: undefined,
    description: "stop by itself after that long",
  }),
  only: setting<("kafka" | "s3")[]>({
    flag: "--only",
    kind: list(choice("kafka", "s3")),
    default: [],
    description: "these services alone, with their addresses on stdout",
  }),
  kafkaPort: setting<number | undefined>({
    flag: "--kafka-port",
    kind: port,
    default: undefined,
    defaultText: "9092, or a free one",
    description: "port of a broker that is started here",
  }),
  s3Port: setting<number | undefined>({
    flag: "--s3-port",
    kind: port,
    default: undefined,
    defaultText: "9000, or a free one",
    description: "port of an S3 server that is started here",
  }),
  s3Endpoint: setting<string | undefined>({
    flag: "--s3-endpoint",
    env: "AWS_ENDPOINT_URL",
    kind: named("url"),
    default: undefined,
    description: "an S3 server that runs already; without one a MinIO is started for a store on s3://",
  }),
  chaos: setting<boolean | undefined>({
    flag: "--chaos",
    env: "LAB_CHAOS",
    kind: { ...toggle, placeholder: "on|off", show: (isOn) => (isOn ? "on" : "off") },
    default: undefined,
    defaultText: "on for the demo's streams, off for those of a lab.yaml",
    description: "whether the page may kill, freeze and cut what runs, to show that nothing is lost",
  }),
  connectTimeout: CONNECT_TIMEOUT,
} as const;

export const up = defineCommand({
  name: "up",
  summary: "Run the whole lab: broker, producers, ingester, dashboard",
  examples: [
    "lab up",
    "lab up --for 45s --port 0",
    "lab up --store s3://lab/tables",
    "lab up --only kafka,s3        services for other programs",
  ],
  settings,
  stops: "gracefully",
  seeAlso: ["status", "down", "reset", "doctor"],
  async run(context, values) {
    const config = context.lab?.file ?? demoFile(values.data);
    const lab = context.lab ?? demoYaml(config);
    const isForeignBroker = context.lab !== null && !["auto", "docker", "jvm"].includes(values.kafka);
    const plan = planUp({ ...values, isForeignBroker, verbose: context.common.verbose }, lab, config);
    const lock = await lockFolder(values.data);
    try {
      if (plan.children.length > 0)
        await requireFreePort(values.port, "give another with --port, or stop that process");
      await mkdir(join(values.data, "logs"), { recursive: true });
      await rm(runFolder(values.data), { recursive: true, force: true });
      if (context.lab === null && plan.children.length > 0) await writeFile(config, DEMO_YAML);
      return await runLab(context, values, { plan, lab });
    } finally {
      await lock.release();
    }
  },
});

async function runLab(
  context: Context,
  values: Values<typeof settings>,
  { plan, lab }: { plan: UpPlan; lab: LabYaml },
): Promise<number> {
  const { signal, screen } = context;
  const logFile = join(values.data, "logs", "lab.log");
  const log = createLog("up", {
    level: context.common.verbose ? "debug" : "info",
    to: destination({ dest: logFile, sync: true }),
  });
  const supervisor = createSupervisor({ log });
  const isDemo = context.lab === null && plan.children.length > 0;
  const token = (values.chaos ?? isDemo) ? randomBytes(16).toString("hex") : null;
  let place: BreakableLab | null = null;
  const told = token === null ? null : labOrders({ token, supervisor, log, place: () => place });
  const server = await serveSupervisor(supervisor, values.data, told);
  // Ctrl+C while the lab starts gives the start up; afterwards it ends the wait below.
  const giveUp = () => void supervisor.stop();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const started = await startParts(context, values, { plan, lab, chaosToken: token }, { supervisor, log });
    place = started.place;
    const readVersions = await tableVersions(lab.streams, values.store, started.s3);
    signal.removeEventListener("abort", giveUp);
    const limit = values.for === undefined ? [] : [AbortSignal.timeout(values.for)];
    const until = AbortSignal.any([signal, ...limit]);
    const isServicesOnly = plan.children.length === 0;
    if (isServicesOnly) screen.note("Ctrl+C stops.");
    await showStatus(context, {
      data: values.data,
      supervisor,
      address: started.address,
      isServicesOnly,
      until,
    });
    const failed = supervisor.parts().filter(({ state }) => state === "failed");
    screen.note(isServicesOnly ? "Stopping" : "Stopping: flush, commit, exit (Ctrl+C again to quit now)");
    const lastIngester = plan.children.find(({ kind }) => kind === "ingest")?.name;
    await stopParts(supervisor, context, isServicesOnly ? null : { readVersions, lastIngester });
    for (const { name, lastEnd, lastHint } of failed) {
      screen.note(`[x] ${name} had failed: ${lastEnd}`);
      if (lastHint) screen.note(`  fix: ${lastHint}`);
    }
    return failed.length > 0 ? 1 : 0;
  } catch (error) {
    await supervisor.stop();
    if (!signal.aborted) throw error;
    screen.note(
      `Stopped before all was started. Start again with: ${startAgain(context.words, context.env)}`,
    );
    return 0;
  } finally {
    signal.removeEventListener("abort", giveUp);
    told?.heal();
    await place?.s3?.close();
    await server.close();
  }
}

/** Starts everything in order and prints one line a part. Returns the dashboard's link and how to reach the store. */
async function startParts(
  context: Context,
  values: Values<typeof settings>,
  { plan, lab, chaosToken }: { plan: UpPlan; lab: LabYaml; chaosToken: string | null },
  { supervisor, log }: { supervisor: Supervisor; log: Log },
): Promise<{ address: string | null; s3: S3Settings; place: BreakableLab }> {
  const { screen, signal } = context;
  const { json } = context.common;
  const say = (name: string, address: string, more = "") =>
    json ||
    screen.out(
      `${name.padEnd(plan.children.length > 0 ? 18 : 0)}${plan.children.length > 0 ? "" : " "}${address}${more}\n`,
    );
  const shared = { data: values.data, connectTimeoutMs: values.connectTimeout, log };
  // Before anything is started: what is wrong here only the user can put right.
  const security = await kafkaSecurity(values, context);
  let brokers: string[] = [];
  let env: Readonly<Record<string, string>> = {};
  let s3: S3Settings = {};
  let keysFile: string | null = null;
  if (plan.kafka) {
    if (screen.isNoteLive) screen.note("starting Kafka ...");
    const kafka = kafkaPart({ ...shared, choice: values.kafka, port: values.kafkaPort ?? null });
    await supervisor.start(kafka.part);
    const { rung, pid } = kafka.service();
    brokers = kafka.service().brokers;
    const how = plan.children.length > 0 ? `   ${rung}${pid === null ? "" : `, pid ${pid}`}` : "";
    say("kafka", brokers.join(","), how);
  }
  if (plan.s3) {
    const server = s3Part({ ...shared, endpoint: values.s3Endpoint, port: values.s3Port ?? null });
    await supervisor.start(server.part);
    const service = server.service();
    const { endpoint, region, accessKeyId, secretAccessKey } = service;
    env = service.env;
    s3 = { endpoint, region, ...(accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : {}) };
    if (service.keysFile !== null && plan.bucket !== null) await makeBucket(plan.bucket, s3, signal);
    say("s3", service.endpoint);
    keysFile = service.keysFile;
    if (keysFile !== null) say("s3-keys", keysFile);
  }
  if (plan.topics.length > 0)
    await createTopics({ brokers, ...security }, plan.topics, { timeoutMs: values.connectTimeout, signal });

  let address: string | null = null;
  // One link for as long as the lab runs, also when the page's server has to come back.
  const pageToken = randomBytes(16).toString("hex");
  const chaos = { LAB_CHAOS: chaosToken === null ? "" : "1", LAB_CHAOS_TOKEN: chaosToken ?? "" };
  const cable = chaosToken !== null && plan.s3 && s3.endpoint ? await startCutProxy(s3.endpoint) : null;
  const envOf = (kind: string) => ({
    ...{ ...env, ...kafkaEnv(values), ...chaos },
    ...(kind === "dashboard" ? { LAB_PAGE_TOKEN: pageToken } : {}),
    ...(kind === "ingest" && cable !== null ? { AWS_ENDPOINT_URL: cable.endpoint } : {}),
  });
  const start = async ({ name, kind, args, isOneOfMany = false }: PlannedChild) => {
    const isProducer = kind === "produce";
    const running = await supervisor.start(
      childPart({
        ...{ name, kind, dataDir: values.data, env: envOf(kind), finite: isProducer },
        ...(isOneOfMany ? { together: kind } : {}),
        command: process.execPath,
        args: [programPath("lab"), kind, ...args, "--kafka", brokers.join(",")],
      }),
    );
    if (kind === "dashboard") address = running.address;
    say(name, running.address ?? `pid ${running.pid}`);
  };
  await startInTurns(plan.children, start, {
    signal,
    onFailure: (name, error) => say(name, `failed: ${error.message}`),
  });
  if (json) screen.out(`${toJson({ address, parts: supervisor.parts(), s3KeysFile: keysFile }, 2)}\n`);
  const place = breakableLab({
    ...{
      supervisor,
      plan,
      streams: lab.streams,
      store: values.store,
      s3,
      cable,
      access: { brokers, ...security },
    },
    isOwnBroker: ["auto", "docker", "jvm"].includes(values.kafka),
    connectTimeoutMs: values.connectTimeout,
    start,
  });
  return { address, s3, place };
}

/** `tables` is null where services ran alone. Of many ingesters the one that started first is the last to end. */
async function stopParts(
  supervisor: Supervisor,
  context: Context,
  tables: { readVersions: () => Promise<string[]>; lastIngester: string | undefined } | null,
): Promise<void> {
  const { screen } = context;
  // The store is asked while its server still runs: the ingester's last commit is in, the services are not yet down.
  let versions: string[] = [];
  await supervisor.stop(async (name) => {
    if (tables !== null && name === tables.lastIngester) versions = await tables.readVersions();
  });
  if (tables === null) return;
  const told = versions.slice(0, MOST_VERSIONS).join(", ");
  const more = versions.length > MOST_VERSIONS ? ` and ${versions.length - MOST_VERSIONS} more` : "";
  const at = versions.length > 0 ? ` at ${told}${more}` : "";
  screen.note(`Stopped${at}. Start again with: ${startAgain(context.words, context.env)}`);
}
