/** A real Apache Kafka broker, KRaft, one node, as a guarded JVM on loopback ports. */

import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isLabError, LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { type BrokerListener, brokerProperties, propertiesText } from "./broker-properties.ts";
import { type Guarded, spawnGuarded } from "./guard.ts";
import type { Java } from "./java.ts";
import { classArchive, kafkaClassPath } from "./kafka-jars.ts";
import { clearLeftover, rememberService } from "./leftover.ts";
import { logSize, readLogSince, tellingLines } from "./log-tail.ts";
import { canConnect, freePort, portTaken, requireFreePort } from "./ports.ts";

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
  /** Ways in beside the one in the clear on `port`. */
  listeners?: readonly BrokerListener[];
  /** Users that a new broker knows from its first start, as `SCRAM-SHA-512=[name=N,password=P]`. */
  scramUsers?: readonly string[];
  readyMs?: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

const LOG_SETTINGS = fileURLToPath(new URL("./kafka-jars/log4j2.properties", import.meta.url));
const CLUSTER_ID = "bGFiLWRlbHRhLXN0cmVhbQ";
const READY_LINE = "Kafka Server started";
const PORT_LINE = "Address already in use";
const PORT_HINT = "give another with --kafka-port, or stop that process";
/** What a JVM returns after SIGTERM. */
const ORDERLY_EXIT = 143;
/** Writing the class archive at the end of a broker's first run takes longer than an ordinary stop. */
const STOP_MS = 30_000;
/** A free port can be taken by another between the look and the broker's start. */
const PORT_TRIES = 3;

/** What every JVM of one start shares. */
type Setup = {
  options: JvmBrokerOptions;
  dataDir: string;
  logDir: string;
  logFile: string;
  /** Size of the log when this start began. */
  logsFrom: number;
  archive: string;
  isArchived: boolean;
  launch(args: string[], jvm: string[]): Guarded;
};

/**
 * Starts the broker and resolves when it accepts clients. What an earlier run left is healed: a broker whose starter was killed is
 * ended first, and Kafka recovers its own logs. SERVICE_FAILED, with the end of its log, when it does not become ready.
 */
export async function startJvmBroker(options: JvmBrokerOptions): Promise<JvmBroker> {
  if (options.port !== 0) await requireFreePort(options.port, PORT_HINT);
  const setup = await prepare(options);
  if ((await stat(setup.logDir).catch(() => null)) === null) await format(setup);
  for (let tried = 1; ; tried++) {
    const port = options.port === 0 ? await freePort() : options.port;
    try {
      return await runBroker(setup, port);
    } catch (error) {
      const isUnlucky = options.port === 0 && isLabError(error, "PORT_TAKEN");
      if (!isUnlucky || tried === PORT_TRIES) throw error;
    }
  }
}

/** Whether a broker on the JVM has kept topics in this folder. */
export async function hasJvmData(dataDir: string): Promise<boolean> {
  return (await stat(join(dataDir, "topics")).catch(() => null)) !== null;
}

async function prepare(options: JvmBrokerOptions): Promise<Setup> {
  const { java, cacheDir, signal } = options;
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true });
  await clearLeftover(dataDir, signal);
  const classPath = await kafkaClassPath({ cacheDir, say: options.say, signal });
  const archive = classArchive(cacheDir, java.version);
  const isArchived = (await stat(archive).catch(() => null)) !== null;
  const logFile = options.logFile ?? join(dataDir, "broker.log");
  const shared = [
    ...(isArchived ? [`-XX:SharedArchiveFile=${archive}`] : []),
    ...["-Xshare:auto", "-XX:+UseSerialGC", `-Dlog4j2.configurationFile=${LOG_SETTINGS}`, "-cp", classPath],
  ];
  return {
    ...{ options, dataDir, logFile, archive, isArchived },
    logDir: join(dataDir, "topics"),
    logsFrom: await logSize(logFile),
    launch: (args, jvm) =>
      spawnGuarded({
        command: java.command,
        args: [...jvm, ...shared, ...args],
        ...{ logFile, signal, termMs: STOP_MS },
      }),
  };
}

/** Formats beside and renames, so that a start that is killed half-way leaves nothing half-formatted. */
async function format(setup: Setup): Promise<void> {
  const { dataDir, logDir, options } = setup;
  const temporary = await mkdtemp(join(dataDir, "formatting-"));
  try {
    const settings = join(temporary, "format.properties");
    const fresh = join(temporary, "topics");
    await writeFile(
      settings,
      propertiesText(brokerProperties({ port: 9092, controllerPort: 9093, logDir: fresh })),
    );
    const users = (options.scramUsers ?? []).flatMap((user) => ["--add-scram", user]);
    const tool = setup.launch(
      ["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--config", settings, ...users],
      ["-XX:TieredStopAtLevel=1"],
    );
    const exit = await tool.exited;
    options.signal.throwIfAborted();
    if (exit.code !== 0) throw await failure(`Kafka could not format ${dataDir}`, setup);
    await rename(fresh, logDir);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function runBroker(setup: Setup, port: number): Promise<JvmBroker> {
  const { dataDir, logDir, archive, isArchived, options } = setup;
  const settings = join(dataDir, "broker.properties");
  const properties = brokerProperties({
    ...{ port, controllerPort: await freePort(), logDir, listeners: options.listeners ?? [] },
    config: options.config ?? {},
  });
  await writeFile(settings, propertiesText(properties));
  const written = `${archive}.${process.pid}-${port}`;
  const broker = setup.launch(
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
    await whenReady(broker, port, setup);
  } catch (error) {
    await close();
    throw error;
  }
  return { port, pid: broker.pid, exited: broker.exited, close };
}

async function whenReady(broker: Guarded, port: number, setup: Setup): Promise<void> {
  const { logFile, options } = setup;
  const { signal, readyMs = 120_000 } = options;
  const logsFrom = await logSize(logFile);
  const deadline = Date.now() + readyMs;
  let hasEnded = false;
  void broker.exited.then(() => {
    hasEnded = true;
  });
  for (;;) {
    signal.throwIfAborted();
    const text = await readLogSince(logFile, logsFrom);
    if (hasEnded) {
      // Given up meanwhile: then it was ended.
      signal.throwIfAborted();
      if (text.includes(PORT_LINE)) throw await portTaken(port, PORT_HINT);
      throw await failure("Kafka ended before it was ready", setup);
    }
    if (text.includes(READY_LINE) && (await canConnect("127.0.0.1", port, 1000, signal))) return;
    if (Date.now() > deadline) throw await failure(`Kafka was not ready within ${readyMs / 1000} s`, setup);
    await sleep(100, signal);
  }
}

async function failure(message: string, { logFile, logsFrom }: Setup): Promise<LabError> {
  const log = tellingLines(await readLogSince(logFile, logsFrom), 8);
  return new LabError("SERVICE_FAILED", message, {
    hint: `its log is ${logFile}; \`lab reset\` starts with an empty broker`,
    details: { log },
  });
}
