/** The ladder to a Kafka broker: an address, Docker, or the JVM. */

import { cacheFolder } from "../core/cache-folder.ts";
import { isLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { dockerAnswers } from "./docker.ts";
import { findJava, LEAST_JAVA } from "./java.ts";
import { reachBrokers } from "./kafka-address.ts";
import { startDockerBroker } from "./kafka-docker.ts";
import { hasJvmData, startJvmBroker } from "./kafka-jvm.ts";

/** Which rung to take; an address is `HOST:PORT[,HOST:PORT...]`. */
export type KafkaChoice = "auto" | "docker" | "jvm" | (string & {});

export type KafkaService = {
  brokers: string[];
  rung: "address" | "docker" | "jvm";
  /** The broker's process, where it is one of this machine that was started here. */
  pid: number | null;
  /** Resolves if the broker that was started here ends by itself; for an address at `close`. */
  exited: Promise<unknown>;
  /** Stops what was started here. A broker that was only given an address stays. */
  close(): Promise<void>;
};

export type KafkaServiceOptions = {
  choice: KafkaChoice;
  /** Where a broker that is started here keeps its topics; the next start goes on with them. */
  dataDir: string;
  /** Port of a broker that is started here; 0 takes a free one. */
  port: number;
  log: Log;
  signal: AbortSignal;
  /** File its own log is appended to; default: `broker.log` in `dataDir`. */
  logFile?: string;
  /** How long an address may take to answer, in ms. */
  connectTimeoutMs?: number;
  /** Broker settings over the lab's, by Kafka's own names. */
  config?: Readonly<Record<string, string>>;
  cacheDir?: string;
};

const WAYS = [
  "give the address of a broker: --kafka HOST:PORT",
  "start Docker",
  `install Java ${LEAST_JAVA} or later and Maven`,
].join("; or ");

/**
 * Brings a broker up on the first rung that holds. BROKER_UNREACHABLE when an address does not answer, PORT_TAKEN, SERVICE_FAILED with
 * the end of the broker's log, SERVICE_UNAVAILABLE when no rung holds.
 */
export async function bringUpKafka(options: KafkaServiceOptions): Promise<KafkaService> {
  const { choice } = options;
  if (choice === "docker") return onDocker(options);
  if (choice === "jvm") return onJvm(options);
  if (choice !== "auto") return atAddress(options);

  const reasons: string[] = [];
  // Topics that a JVM broker keeps here are not in any container: a start goes on with them, whatever else there is by now.
  const rungs = (await hasJvmData(options.dataDir)) ? [onJvm, onDocker] : [onDocker, onJvm];
  for (const rung of rungs) {
    try {
      return await rung(options);
    } catch (error) {
      options.signal.throwIfAborted();
      // An engine that cannot get the image is no broker either; a JVM that fails has a reason worth stopping for.
      const isNext =
        isLabError(error, "SERVICE_UNAVAILABLE") ||
        (rung === onDocker && isLabError(error, "SERVICE_FAILED"));
      if (!isNext) throw error;
      options.log.debug({ code: error.code }, error.message);
      reasons.push(error.message);
    }
  }
  throw new LabError("SERVICE_UNAVAILABLE", `there is no Kafka broker: ${reasons.join("; ")}`, {
    hint: WAYS,
  });
}

async function atAddress(options: KafkaServiceOptions): Promise<KafkaService> {
  const brokers = await reachBrokers(options.choice, options.connectTimeoutMs ?? 30_000, options.signal);
  // Whoever stops a lab waits for the end of each of its parts.
  let end: () => void = () => {};
  const exited = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { brokers, rung: "address", pid: null, exited, close: async () => end() };
}

async function onDocker(options: KafkaServiceOptions): Promise<KafkaService> {
  const version = await dockerAnswers(options.signal);
  if (version === null) {
    throw new LabError("SERVICE_UNAVAILABLE", "Docker does not answer", { hint: WAYS });
  }
  options.log.info({ docker: version }, "starting Kafka in Docker");
  const broker = await startDockerBroker({
    dataDir: options.dataDir,
    port: options.port,
    config: options.config ?? {},
    say: (line) => options.log.info(line),
    signal: options.signal,
  });
  const { port, exited, close } = broker;
  return { brokers: [`127.0.0.1:${port}`], rung: "docker", pid: null, exited, close };
}

async function onJvm(options: KafkaServiceOptions): Promise<KafkaService> {
  const java = await findJava(options.signal);
  if (java === null) throw new LabError("SERVICE_UNAVAILABLE", "Java does not run", { hint: WAYS });
  if (java.major < LEAST_JAVA) {
    throw new LabError(
      "SERVICE_UNAVAILABLE",
      `Java is ${java.version}, and Kafka needs ${LEAST_JAVA} or later`,
      {
        hint: WAYS,
      },
    );
  }
  options.log.info({ java: java.version }, "starting Kafka on the JVM");
  const { port, pid, exited, close } = await startJvmBroker({
    java,
    cacheDir: options.cacheDir ?? cacheFolder(),
    dataDir: options.dataDir,
    port: options.port,
    ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
    ...(options.config === undefined ? {} : { config: options.config }),
    say: (line) => options.log.info(line),
    signal: options.signal,
  });
  return { brokers: [`127.0.0.1:${port}`], rung: "jvm", pid, exited, close };
}
