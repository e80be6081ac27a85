/** `lab ingest`: Kafka to Delta, until it is told to stop or, with --once, until it is caught up. */

import { rm } from "node:fs/promises";
import { Registry } from "prom-client";
import { toJson } from "../core/ops.ts";
import { bytes, integer } from "../core/setting-kinds.ts";
import { SETTINGS, setting, type Values } from "../core/settings.ts";
import { checkTransforms } from "./check-transforms.ts";
import { type Context, defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { KAFKA, kafkaAccess } from "./kafka-settings.ts";
import { plural } from "./lines.ts";
import { processOrders } from "./process-orders.ts";
import { REGISTRY, registryAccess } from "./registry-settings.ts";
import { OPS, servePart } from "./serve-part.ts";
import { openStaging } from "./staging.ts";
import { type ConfiguredStream, STREAM_SETTINGS, streamOptions } from "./stream-options.ts";
import { type StreamWatch, watchStreams } from "./stream-watch.ts";
import { createKeeper } from "./upkeep.ts";
import { upkeepOf, upkeepSetting } from "./upkeep-plan.ts";

const MIB = 1024 * 1024;

export const INGEST_SETTINGS = {
  ...STREAM_SETTINGS,
  store: SETTINGS.store,
  ...KAFKA,
  app: SETTINGS.app,
  ...REGISTRY,
  connectTimeout: CONNECT_TIMEOUT,
  memory: setting<number>({
    flag: "--memory",
    kind: bytes,
    default: 256 * MIB,
    description: "what the encoder may use; raw messages come on top",
  }),
  chunk: setting<number>({
    flag: "--chunk",
    kind: bytes,
    default: 24 * MIB,
    description: "raw bytes that are encoded together",
  }),
  budget: setting<number>({
    flag: "--budget",
    kind: bytes,
    default: 512 * MIB,
    description: "raw bytes that may wait uncommitted before reading pauses",
  }),
  threads: setting<number>({
    flag: "--threads",
    kind: integer(1, 1024),
    default: 1,
    description: "threads of the encoder; a second one costs more CPU and is no faster",
  }),
  failpoint: setting<string | undefined>({
    flag: "--failpoint",
    kind: { placeholder: "step", parse: (value) => value, show: (value) => value },
    default: undefined,
    description: "kill this process by SIGKILL at that step of a commit, to prove that it does no harm",
  }),
  upkeep: upkeepSetting("what lab.yaml says, else off"),
  data: SETTINGS.data,
  ...OPS,
} as const;

export const ingest = defineCommand({
  name: "ingest",
  summary: "Write topics into Delta tables, each message exactly once",
  examples: [
    "lab ingest --topic orders --table ./lab-data/tables/orders --once",
    "lab ingest --topic orders --partition-by date --flush-latency 500ms",
    "lab ingest                      the streams of ./lab.yaml",
  ],
  settings: INGEST_SETTINGS,
  stops: "gracefully",
  seeAlso: ["produce", "history", "up"],
  run: (context, values) => runIngest(context, values, "ingest"),
});

/** The streams of `values` and of lab.yaml, until `context.signal`; `name` is the command that people see. */
export async function runIngest(
  context: Context,
  values: Values<typeof INGEST_SETTINGS>,
  name: string,
): Promise<undefined> {
  const { signal, env, screen } = context;
  let watch: StreamWatch | null = null;
  const isLookedAt = screen.isNoteLive && !context.common.verbose && !context.common.json;
  const log = await context.openLog({ clear: () => watch?.clear() });
  const streams = streamOptions(values, context.lab);
  const access = await kafkaAccess(values, context);
  const asked = registryAccess(values, env);
  await checkTransforms(streams, signal);
  // Loaded here: the client, DuckDB and the S3 SDK are heavy, and what is above can fail without them.
  const { createIngest } = await import("../ingest/run.ts");
  const { createMetrics, exposeReports } = await import("../ingest/metrics.ts");
  const { areReady } = await import("../ingest/report.ts");
  const { createRowReader } = await import("../ingest/table-rows.ts");
  const { openEncoder } = await import("../columnar/open-encoder.ts");
  const { openFileCache } = await import("../engine/file-cache.ts");
  const { openStore } = await import("../delta/store/open.ts");
  const { connectKafka } = await import("../kafka/client.ts");
  const { openDecoder } = await import("../formats/open-decoder.ts");
  const { createRegistry } = await import("../formats/registry.ts");
  const { createWorks } = await import("./stream-work.ts");
  const schemaRegistry = asked === undefined ? null : createRegistry(asked);

  const stagingDir = await openStaging(values.data);
  // Beside it, as the encoder may touch nothing else than what is in its own.
  const cacheDir = `${stagingDir}-cache`;
  const registry = new Registry();
  const told = processOrders(env);
  const closing: (() => Promise<unknown>)[] = [stagingDir, cacheDir].map(
    (folder) => () => rm(folder, { recursive: true, force: true }),
  );
  const upkeep = new AbortController();
  const keeper = createKeeper(
    { app: values.app, store: values.store, data: values.data, env, log },
    upkeep.signal,
  );
  closing.push(() => keeper.ended());
  closing.push(async () => upkeep.abort());
  try {
    const encoder = await openEncoder({
      stagingDir,
      memoryLimitBytes: values.memory,
      threads: values.threads,
    });
    closing.push(() => encoder.close());
    const running = createIngest(
      {
        streams,
        connectTimeoutMs: values.connectTimeout,
        chunkBytes: values.chunk,
        budgetBytes: values.budget,
      },
      {
        kafka: connectKafka({
          ...access,
          clientId: `lab-ingest-${process.pid}`,
          connectTimeoutMs: values.connectTimeout,
        }),
        openStore: (uri) => openStore(uri, { signal: new AbortController().signal, env }),
        encoder,
        decoderFor: (stream) => {
          const { wire, schema } = streams.find((one) => one === stream) as ConfiguredStream;
          return openDecoder(wire, { registry: schemaRegistry, columns: schema ?? null }, signal);
        },
        workFor: createWorks({ ...values, encoder, stagingDir, registry, log, env }),
        rowReader: createRowReader({
          cache: await openFileCache({ folder: cacheDir, maxBytes: values.memory }),
          memoryLimitBytes: values.memory,
        }),
        metricsFor: createMetrics(registry),
        onTable: ({ topic }, uri) => {
          if (!values.once) keeper.keep(uri, upkeepOf(topic, values.upkeep, context.lab));
        },
        log,
        now: Date.now,
        onStep: (step) => {
          if (step === values.failpoint || told.isArmed(step)) process.kill(process.pid, "SIGKILL");
        },
      },
    );
    exposeReports(registry, () => running.reports());
    const state = () => ({ part: "ingest", pid: process.pid, streams: running.reports() });
    const isReady = () => areReady(running.reports());
    const part = await servePart(
      "ingest",
      { isHealthy: () => true, isReady, state, registry, ...told },
      values,
      env,
    );
    closing.push(() => part.close());
    log.info({ event: "ops", port: part.port }, "serving /healthz, /readyz, /state and /metrics");
    const [only] = streams.length === 1 ? streams : [];
    const label = `${name} ${only?.topic ?? plural(streams.length, "stream")}`;
    if (values.once || isLookedAt)
      watch = await watchStreams(screen, { label, once: values.once, reports: running.reports });
    await running.run(signal).finally(() => watch?.end());
    if (context.common.json) screen.out(`${toJson({ streams: running.reports() }, 2)}\n`);
    for (const { table, tableUri, totals, version } of running.reports()) {
      const what = streams.some((one) => one.tableUri === tableUri && one.cdc) ? "change" : "row";
      const letters = totals.letters > 0 ? `, ${plural(totals.letters, "dead letter")}` : "";
      screen.note(
        `${table}: ${plural(totals.rows, what)}${letters} in ${plural(totals.commits, "commit")}, version ${version ?? "-"}`,
      );
    }
    return undefined;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}
