/** A broker in a container, for machines with Docker: the same settings as on the JVM, its topics in a named volume. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { asLabError, LabError } from "../core/errors.ts";
import { COMMON_PROPERTIES } from "./broker-properties.ts";
import { spawnGuarded } from "./guard.ts";
import { KAFKA_VERSION } from "./kafka-jars.ts";
import { freePort, requireFreePort } from "./ports.ts";

export type DockerBroker = { port: number; exited: Promise<unknown>; close(): Promise<void> };

export const KAFKA_IMAGE = `apache/kafka:${KAFKA_VERSION}`;

const CLIENT_PORT = 19092;
const DATA = "/var/lib/kafka/data";
const STOP_SECONDS = 30;

/**
 * Starts `apache/kafka` and resolves when it accepts clients on a loopback port. The container goes when it is closed or when this
 * process is gone; the volume stays, so that the next start goes on. SERVICE_UNAVAILABLE when no container can be made (no image, no
 * rights), SERVICE_FAILED when the broker in it does not become ready, PORT_TAKEN.
 */
export async function startDockerBroker(options: {
  dataDir: string;
  port: number;
  config: Readonly<Record<string, string>>;
  signal: AbortSignal;
}): Promise<DockerBroker> {
  const { signal } = options;
  const name = dockerName(options.dataDir);
  const port = options.port === 0 ? await freePort() : options.port;
  // A container that a killed lab left would hold the port and the volume.
  await docker(["rm", "--force", "--volumes", name], signal);
  await requireFreePort(port, "give another with --kafka-port, or stop that process");
  await requireImage(signal);
  signal.throwIfAborted();

  // Watches the container from the first moment: without testcontainers' own cleaner nothing else would end it after a kill.
  const keeper = spawnGuarded({
    command: "/bin/sh",
    args: ["-c", KEEPER, "keeper", name, String(STOP_SECONDS)],
    termMs: (STOP_SECONDS + 10) * 1000,
  });
  const close = async () => {
    await keeper.stop();
    await docker(["rm", "--force", "--volumes", name]);
  };
  try {
    await startContainer(name, port, options.config);
    signal.throwIfAborted();
  } catch (error) {
    const log = await containerLog(name);
    await close();
    signal.throwIfAborted();
    throw new LabError(
      "SERVICE_FAILED",
      `Kafka in Docker did not become ready: ${asLabError(error).message}`,
      {
        hint: "look at Docker's disk and memory, or run without it: --kafka jvm",
        details: { log },
        cause: error,
      },
    );
  }
  signal.addEventListener("abort", () => void close(), { once: true });
  return { port, exited: keeper.exited, close };
}

/** Removes the topics that a broker in Docker kept for this data folder; false where there were none, or no Docker. */
export async function removeDockerData(dataDir: string, signal: AbortSignal): Promise<boolean> {
  return (await docker(["volume", "rm", dockerName(dataDir)], signal)) !== null;
}

/** Ends when the container does; ends the container when it is told to end. */
const KEEPER = `
trap 'docker stop --time "$2" "$1"; docker rm --force --volumes "$1"; exit 0' TERM
until docker container inspect "$1"; do sleep 0.3 & wait $!; done
docker wait "$1" & wait $!
`;

function dockerName(dataDir: string): string {
  const hash = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 12);
  return `delta-stream-lab-kafka-${hash}`;
}

async function startContainer(
  name: string,
  port: number,
  config: Readonly<Record<string, string>>,
): Promise<void> {
  const { GenericContainer, Wait } = await import("testcontainers");
  /** testcontainers publishes on all addresses; a broker without a password belongs on loopback. */
  class LoopbackContainer extends GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      const bindings = [{ HostIp: "127.0.0.1", HostPort: String(port) }];
      this.hostConfig.PortBindings = { [`${CLIENT_PORT}/tcp`]: bindings };
    }
  }
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
    ...config,
  };
  await new LoopbackContainer(KAFKA_IMAGE)
    .withName(name)
    .withExposedPorts({ container: CLIENT_PORT, host: port })
    .withBindMounts([{ source: name, target: DATA }])
    .withEnvironment({
      ...Object.fromEntries(Object.entries(properties).map(([key, value]) => [imageVariable(key), value])),
      KAFKA_HEAP_OPTS: "-Xmx512m -Xms128m",
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(180_000)
    .start();
}

/** The image takes each broker setting as a variable. */
export function imageVariable(key: string): string {
  return `KAFKA_${key.toUpperCase().replaceAll(".", "_")}`;
}

async function requireImage(signal: AbortSignal): Promise<void> {
  if ((await docker(["image", "inspect", KAFKA_IMAGE], signal)) !== null) return;
  if ((await docker(["pull", "--quiet", KAFKA_IMAGE], signal)) !== null) return;
  throw new LabError("SERVICE_UNAVAILABLE", `Docker cannot pull ${KAFKA_IMAGE}`, {
    hint: `try \`docker pull ${KAFKA_IMAGE}\` to see why, or run without Docker: --kafka jvm`,
  });
}

async function containerLog(name: string): Promise<string[]> {
  const { stdout, stderr } = await promisify(execFile)("docker", ["logs", "--tail", "12", name]).catch(
    () => ({
      stdout: "",
      stderr: "",
    }),
  );
  return `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
}

/** What the command printed, or null when it failed. */
async function docker(args: string[], signal?: AbortSignal): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("docker", args, signal === undefined ? {} : { signal });
    return stdout;
  } catch {
    signal?.throwIfAborted();
    return null;
  }
}
