/** A service in a Docker container on a loopback port, which goes when its starter does; its volume stays. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { asLabError, LabError } from "../core/errors.ts";
import { spawnGuarded } from "./guard.ts";
import { requireFreePort } from "./ports.ts";

export type ContainerOptions = {
  image: string;
  /** Of the container and of its volume: see `containerName`. A container of that name which a killed run left is removed. */
  name: string;
  /** Where the volume is mounted. */
  dataPath: string;
  /** Inside the container, and on 127.0.0.1. */
  ports: { inside: number; outside: number };
  command?: string[];
  environment: Readonly<Record<string, string>>;
  /** What the service logs when it is ready. */
  ready: RegExp;
  readyMs: number;
  /** How long it may take to end in order. */
  stopSeconds: number;
  /** What to do about a port that is in use. */
  portHint: string;
  /** What else the user may do, for the hint of an error. */
  wayOut: string;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type Container = {
  /** Resolves when the container has ended, however it ended. */
  exited: Promise<unknown>;
  /** Stops and removes the container. May be called again. */
  close(): Promise<void>;
};

/**
 * Starts the container and resolves when it is ready. It is ended when `signal` aborts, and when this process is gone, even by
 * SIGKILL. SERVICE_UNAVAILABLE when there is no image, PORT_TAKEN, SERVICE_FAILED with the end of its log when it does not become
 * ready.
 */
export async function startContainer(options: ContainerOptions): Promise<Container> {
  const { name, signal, stopSeconds } = options;
  await docker(["rm", "--force", "--volumes", name], signal);
  await requireFreePort(options.ports.outside, options.portHint);
  await requireImage(options);
  signal.throwIfAborted();

  // Watches from the first moment: without testcontainers' own cleaner nothing else would end the container after a kill.
  const keeper = spawnGuarded({
    command: "/bin/sh",
    args: ["-c", KEEPER, "keeper", name, String(stopSeconds)],
    termMs: (stopSeconds + 10) * 1000,
  });
  const close = async () => {
    signal.removeEventListener("abort", onAbort);
    await keeper.stop();
    await docker(["rm", "--force", "--volumes", name]);
  };
  const onAbort = () => void close();
  try {
    await launch(options);
    signal.throwIfAborted();
  } catch (error) {
    const log = await containerLog(name);
    await close();
    signal.throwIfAborted();
    throw new LabError(
      "SERVICE_FAILED",
      `${options.image} did not become ready: ${asLabError(error).message}`,
      {
        hint: `look at Docker's disk and memory, or ${options.wayOut}`,
        details: { log },
        cause: error,
      },
    );
  }
  signal.addEventListener("abort", onAbort, { once: true });
  return { exited: keeper.exited, close };
}

/** The name of the container and volume that serve a data folder. */
export function containerName(service: string, dataDir: string): string {
  const hash = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 12);
  return `delta-stream-lab-${service}-${hash}`;
}

/** Removes what a container of that name kept; false where there was nothing, or no Docker. */
export async function removeVolume(name: string, signal: AbortSignal): Promise<boolean> {
  return (await docker(["volume", "rm", name], signal)) !== null;
}

/**
 * Ends when the container does; ends the container when it is told to end. It holds on to the container's id: by then the name may be that
 * of the next start's container.
 */
const KEEPER = `
trap 'docker stop --time "$2" "\${id:-$1}"; docker rm --force --volumes "\${id:-$1}"; exit 0' TERM
until id=$(docker container inspect --format "{{.Id}}" "$1"); do id=; sleep 0.3 & wait $!; done
docker wait "$id" & wait $!
`;

async function launch(options: ContainerOptions): Promise<void> {
  // Loaded here because it is large, and of use on this rung only.
  const { GenericContainer, Wait } = await import("testcontainers");
  const { inside, outside } = options.ports;
  /** testcontainers publishes on all addresses; a service without a password worth the name belongs on loopback. */
  class LoopbackContainer extends GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      const bindings = [{ HostIp: "127.0.0.1", HostPort: String(outside) }];
      this.hostConfig.PortBindings = { [`${inside}/tcp`]: bindings };
    }
  }
  const container = new LoopbackContainer(options.image)
    .withName(options.name)
    .withExposedPorts({ container: inside, host: outside })
    .withBindMounts([{ source: options.name, target: options.dataPath }])
    .withEnvironment({ ...options.environment })
    .withWaitStrategy(Wait.forLogMessage(options.ready))
    .withStartupTimeout(options.readyMs);
  if (options.command) container.withCommand(options.command);
  await container.start();
}

async function requireImage({ image, signal, say, wayOut }: ContainerOptions): Promise<void> {
  if ((await docker(["image", "inspect", image], signal)) !== null) return;
  say(`pulling ${image}: once`);
  if ((await docker(["pull", "--quiet", image], signal)) !== null) return;
  throw new LabError("SERVICE_UNAVAILABLE", `Docker cannot pull ${image}`, {
    hint: `try \`docker pull ${image}\` to see why, or ${wayOut}`,
  });
}

async function containerLog(name: string): Promise<string[]> {
  const empty = { stdout: "", stderr: "" };
  const { stdout, stderr } = await run("docker", ["logs", "--tail", "12", name]).catch(() => empty);
  return `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
}

/** What the command printed, or null when it failed. */
async function docker(args: string[], signal?: AbortSignal): Promise<string | null> {
  try {
    const { stdout } = await run("docker", args, signal === undefined ? {} : { signal });
    return stdout;
  } catch {
    signal?.throwIfAborted();
    return null;
  }
}

const run = promisify(execFile);
