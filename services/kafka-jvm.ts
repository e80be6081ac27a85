/** A real Apache Kafka broker, KRaft, one node, as a guarded JVM on loopback ports. */

import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { brokerProperties, propertiesText } from "./broker-properties.ts";
import { type Guarded, spawnGuarded } from "./guard.ts";
import type { Java } from "./java.ts";
import { classArchive, kafkaClassPath } from "./kafka-jars.ts";
import { clearLeftover, rememberService } from "./leftover.ts";
import { lastLines, logSize, readLogSince } from "./log-tail.ts";
import { canConnect, freePort, requireFreePort } from "./ports.ts";

export type JvmBroker = { port: number; pid: number; exited: Guarded["exited"]; close(): Promise<void> };

export type JvmBrokerOptions = {
  java: Java;
  cacheDir: string;
  /** Holds the broker's data, settings and, unless `logFile` says otherwise, its log. */
  dataDir: string;
  /** 0 takes a free one. PORT_TAKEN if it is in use. */
  port: number;
  logFile?: string;
  /** Broker settings over those of the lab, by Kafka's own names. */
  config?: Readonly<Record<string, string>>;
  readyMs?: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

const LOG_SETTINGS = fileURLToPath(new URL("./kafka-jars/log4j2.properties", import.meta.url));
const CLUSTER_ID = "bGFiLWRlbHRhLXN0cmVhbQ";
const READY_LINE = "Kafka Server started";
/** What a JVM returns after SIGTERM. */
const ORDERLY_EXIT = 143;
/** Writing the class archive at the end of a broker's first run takes longer than an ordinary stop. */
const STOP_MS = 30_000;

/**
 * Starts the broker and resolves when it accepts clients. What an earlier run left is healed: a broker whose starter was killed is
 * ended first, and Kafka recovers its own logs. SERVICE_FAILED, with the end of its log, when it does not become ready.
 */
export async function startJvmBroker(options: JvmBrokerOptions): Promise<JvmBroker> {
  const { java, cacheDir, signal } = options;
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true });
  await clearLeftover(dataDir, signal);
  const classPath = await kafkaClassPath({ cacheDir, say: options.say, signal });
  const logFile = options.logFile ?? join(dataDir, "broker.log");
  const port = options.port === 0 ? await freePort() : options.port;
  await requireFreePort(port, "give another with --kafka-port, or stop that process");

  const archive = classArchive(cacheDir, java.version);
  const isArchived = (await stat(archive).catch(() => null)) !== null;
  const launch = (args: string[], jvm: string[]) =>
    spawnGuarded({
      command: java.command,
      args: [
        ...jvm,
        ...(isArchived ? [`-XX:SharedArchiveFile=${archive}`] : []),
        "-Xshare:auto",
        "-XX:+UseSerialGC",
        `-Dlog4j2.configurationFile=${LOG_SETTINGS}`,
        "-cp",
        classPath,
        ...args,
      ],
      logFile,
      signal,
      termMs: STOP_MS,
    });

  const logsFrom = await logSize(logFile);
  const logDir = join(dataDir, "topics");
  if ((await stat(logDir).catch(() => null)) === null) {
    await format({ dataDir, logDir, launch, logFile, logsFrom, signal });
  }

  const settings = join(dataDir, "broker.properties");
  const controllerPort = await freePort();
  await writeFile(
    settings,
    propertiesText(brokerProperties({ port, controllerPort, logDir, ...optionalConfig(options) })),
  );
  const written = `${archive}.${process.pid}-${port}`;
  const broker = launch(
    ["kafka.Kafka", settings],
    ["-Xmx512m", "-Xms128m", ...(isArchived ? [] : [`-XX:ArchiveClassesAtExit=${written}`])],
  );
  const forget = await rememberService(dataDir, broker.pid);
  const close = async () => {
    const exit = await broker.stop();
    await forget();
    // Best effort: without an archive the next start is only slower.
    const isWhole = !isArchived && exit.code === ORDERLY_EXIT;
    if (isWhole) await rename(written, archive).catch(() => {});
    else await rm(written, { force: true });
  };
  try {
    await whenReady(broker, { port, logFile, logsFrom, signal, readyMs: options.readyMs ?? 120_000 });
  } catch (error) {
    await close();
    throw error;
  }
  return { port, pid: broker.pid, exited: broker.exited, close };
}

function optionalConfig(options: JvmBrokerOptions) {
  return options.config === undefined ? {} : { config: options.config };
}

/** Formats beside and renames, so that a start that is killed half-way leaves nothing half-formatted. */
async function format(how: {
  dataDir: string;
  logDir: string;
  launch: (args: string[], jvm: string[]) => Guarded;
  logFile: string;
  logsFrom: number;
  signal: AbortSignal;
}): Promise<void> {
  const { dataDir, logDir, launch, logFile, logsFrom, signal } = how;
  const temporary = await mkdtemp(join(dataDir, "formatting-"));
  try {
    const settings = join(dataDir, "format.properties");
    const fresh = join(temporary, "topics");
    await writeFile(
      settings,
      propertiesText(brokerProperties({ port: 9092, controllerPort: 9093, logDir: fresh })),
    );
    const tool = launch(
      ["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--config", settings],
      ["-XX:TieredStopAtLevel=1"],
    );
    const exit = await tool.exited;
    await rm(settings, { force: true });
    signal.throwIfAborted();
    if (exit.code !== 0) {
      throw await failure("Kafka could not format its data folder", dataDir, logFile, logsFrom);
    }
    await rename(fresh, logDir);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function whenReady(
  broker: Guarded,
  how: { port: number; logFile: string; logsFrom: number; signal: AbortSignal; readyMs: number },
): Promise<void> {
  const { port, logFile, logsFrom, signal } = how;
  const deadline = Date.now() + how.readyMs;
  let hasEnded = false;
  void broker.exited.then(() => {
    hasEnded = true;
  });
  for (;;) {
    signal.throwIfAborted();
    const text = await readLogSince(logFile, logsFrom);
    if (hasEnded) throw await failure("Kafka ended before it was ready", logFile, logFile, logsFrom);
    if (text.includes(READY_LINE) && (await canConnect("127.0.0.1", port, 1000, signal))) return;
    if (Date.now() > deadline) {
      throw await failure(`Kafka was not ready within ${how.readyMs / 1000} s`, logFile, logFile, logsFrom);
    }
    await sleep(100, signal);
  }
}

async function failure(message: string, where: string, logFile: string, logsFrom: number): Promise<LabError> {
  const log = lastLines(await readLogSince(logFile, logsFrom), 12);
  return new LabError("SERVICE_FAILED", `${message}: ${where}`, {
    hint: `its log is ${logFile}; \`lab reset\` starts with an empty broker`,
    details: { log },
  });
}
