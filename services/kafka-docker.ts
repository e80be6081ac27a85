/** A broker in a container, for machines with Docker: the same settings as on the JVM, its topics in a named volume. */

import { COMMON_PROPERTIES } from "./broker-properties.ts";
import { containerName, removeVolume, startContainer } from "./container.ts";
import { KAFKA_VERSION } from "./kafka-jars.ts";
import { freePort } from "./ports.ts";

export type DockerBroker = { port: number; exited: Promise<unknown>; close(): Promise<void> };

export const KAFKA_IMAGE = `apache/kafka:${KAFKA_VERSION}`;

const CLIENT_PORT = 19092;
const DATA = "/var/lib/kafka/data";

/**
 * Starts `apache/kafka` and resolves when it accepts clients on a loopback port. The volume stays, so that the next start goes on.
 * Ends and fails as `startContainer` says.
 */
export async function startDockerBroker(options: {
  dataDir: string;
  port: number;
  config: Readonly<Record<string, string>>;
  say: (line: string) => void;
  signal: AbortSignal;
}): Promise<DockerBroker> {
  const port = options.port === 0 ? await freePort() : options.port;
  const properties: Record<string, string> = {
    "node.id": "1",
    "process.roles": "broker,controller",
    listeners: `HOST://:${CLIENT_PORT},BROKER://:9092,CONTROLLER://:9093`,
    "advertised.listeners": `HOST://127.0.0.1:${port},BROKER://localhost:9092`,
    "listener.security.protocol.map": "HOST:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
    "log.dirs": DATA,
    ...COMMON_PROPERTIES,
    ...options.config,
  };
  const container = await startContainer({
    image: KAFKA_IMAGE,
    name: containerName("kafka", options.dataDir),
    dataPath: DATA,
    ports: { inside: CLIENT_PORT, outside: port },
    environment: {
      ...Object.fromEntries(Object.entries(properties).map(([key, value]) => [imageVariable(key), value])),
      KAFKA_HEAP_OPTS: "-Xmx512m -Xms128m",
    },
    ready: /Kafka Server started/,
    readyMs: 180_000,
    stopSeconds: 30,
    portHint: "give another with --kafka-port, or stop that process",
    wayOut: "run without Docker: --kafka jvm",
    say: options.say,
    signal: options.signal,
  });
  return { port, ...container };
}

/** Removes the topics that a broker in Docker kept for this data folder; false where there were none, or no Docker. */
export async function removeDockerData(dataDir: string, signal: AbortSignal): Promise<boolean> {
  return removeVolume(containerName("kafka", dataDir), signal);
}

/** The image takes each broker setting as a variable. */
export function imageVariable(key: string): string {
  return `KAFKA_${key.toUpperCase().replaceAll(".", "_")}`;
}
