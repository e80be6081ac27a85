/** The ladder to an S3 server: an address, Docker, or MinIO built with Go. */

import { mkdir } from "node:fs/promises";
import { cacheFolder } from "../core/cache-folder.ts";
import { isLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import { containerName, removeVolume, startContainer } from "./container.ts";
import { dockerAnswers } from "./docker.ts";
import { minioSettings, startMinio } from "./minio.ts";
import { buildMinio, builtMinio, findGo } from "./minio-build.ts";
import { type Keys, keysOf, writeKeys } from "./minio-keys.ts";
import { canConnect, freePort } from "./ports.ts";

export type S3Service = {
  endpoint: string;
  region: string;
  /** Absent for an address: there the AWS SDK's chain finds the keys. */
  accessKeyId?: string;
  secretAccessKey?: string;
  /** What a process needs in its environment to use this server; without keys for an address. */
  env: Readonly<Record<string, string>>;
  /** A mode-600 file with `env`, where keys were made here. */
  keysFile: string | null;
  rung: "address" | "docker" | "go";
  /** The server's process, where it is one of this machine that was started here. */
  pid: number | null;
  /** Resolves if the server that was started here ends by itself; for an address at `close`. */
  exited: Promise<unknown>;
  /** Stops what was started here. A server that was only given an address stays. */
  close(): Promise<void>;
};

export type S3ServiceOptions = {
  /** `http(s)://HOST[:PORT]` of a server that somebody else runs. */
  endpoint?: string | undefined;
  /** Where a server that is started here keeps its keys and objects; the next start goes on with them. */
  dataDir: string;
  /** Port of a server that is started here; 0 takes a free one. */
  port: number;
  log: Log;
  signal: AbortSignal;
  /** Rungs to try in this order where no endpoint is given. */
  rungs?: readonly ("docker" | "go")[];
  /** For Docker; default: LAB_S3_IMAGE, then `S3_IMAGE`. */
  image?: string;
  /** How long an address may take to answer, in ms. */
  connectTimeoutMs?: number;
  /** File the server's log is appended to; default: `minio.log` in `dataDir`. */
  logFile?: string;
  cacheDir?: string;
};

export const S3_IMAGE = "quay.io/minio/minio:RELEASE.2025-09-07T16-13-09Z";
const REGION = "us-east-1";
const INSIDE_PORT = 9000;
const PORT_HINT = "give another with --s3-port, or stop that process";
const WAYS = "set AWS_ENDPOINT_URL and AWS_* keys of a server; or start Docker; or install Go";

/**
 * Brings an S3 server up on the first rung that holds. A bucket is not made. STORE_UNREACHABLE when an endpoint does not answer,
 * PORT_TAKEN, LAB_RUNNING, SERVICE_FAILED with the end of the server's log, SERVICE_UNAVAILABLE when no rung holds.
 */
export async function bringUpS3(options: S3ServiceOptions): Promise<S3Service> {
  if (options.endpoint) return atEndpoint(options.endpoint, options);
  const reasons: string[] = [];
  for (const rung of options.rungs ?? ["docker", "go"]) {
    try {
      return await (rung === "docker" ? onDocker(options) : onGo(options));
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isLabError(error, "SERVICE_UNAVAILABLE")) throw error;
      options.log.debug({ code: error.code }, error.message);
      reasons.push(error.message);
    }
  }
  throw new LabError("SERVICE_UNAVAILABLE", `there is no S3 server: ${reasons.join("; ")}`, { hint: WAYS });
}

/** Removes the objects that a server in Docker kept for this data folder; false where there were none, or no Docker. */
export async function removeDockerObjects(dataDir: string, signal: AbortSignal): Promise<boolean> {
  return removeVolume(containerName("s3", dataDir), signal);
}

async function atEndpoint(endpoint: string, options: S3ServiceOptions): Promise<S3Service> {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new LabError("CONFIG_INVALID", `the S3 endpoint ${JSON.stringify(endpoint)} is no http(s) URL`, {
      hint: "set AWS_ENDPOINT_URL to something like http://127.0.0.1:9000",
    });
  }
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const timeoutMs = options.connectTimeoutMs ?? 30_000;
  const deadline = Date.now() + timeoutMs;
  while (!(await canConnect(host, port, Math.min(2000, timeoutMs), options.signal))) {
    if (Date.now() >= deadline) {
      throw new LabError(
        "STORE_UNREACHABLE",
        `no server answers at ${endpoint} within ${timeoutMs / 1000} s`,
        {
          hint: "check AWS_ENDPOINT_URL and that the server runs",
        },
      );
    }
    await sleep(Math.min(250, timeoutMs), options.signal);
  }
  const region = process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || REGION;
  // Whoever stops a lab waits for the end of each of its parts.
  let end: () => void = () => {};
  const exited = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    endpoint,
    region,
    env: { AWS_ENDPOINT_URL: endpoint, AWS_REGION: region },
    keysFile: null,
    rung: "address",
    pid: null,
    exited,
    close: async () => end(),
  };
}

async function onDocker(options: S3ServiceOptions): Promise<S3Service> {
  const { dataDir, signal, log } = options;
  if ((await dockerAnswers(signal)) === null) {
    throw new LabError("SERVICE_UNAVAILABLE", "Docker does not answer", { hint: WAYS });
  }
  await mkdir(dataDir, { recursive: true });
  const keys = await keysOf(dataDir);
  const port = options.port === 0 ? await freePort() : options.port;
  const image = options.image || process.env.LAB_S3_IMAGE || S3_IMAGE;
  const name = containerName("s3", dataDir);
  log.info({ image }, "starting MinIO in Docker");
  const container = await startContainer({
    image,
    name,
    dataPath: "/data",
    ports: { inside: INSIDE_PORT, outside: port },
    command: ["server", "--address", `:${INSIDE_PORT}`, "/data"],
    environment: minioSettings(keys),
    ready: /API: http/,
    readyMs: 120_000,
    stopSeconds: 10,
    portHint: PORT_HINT,
    wayOut: "install Go, or set AWS_ENDPOINT_URL",
    say: (line) => log.info(line),
    signal,
  });
  return { ...(await started(dataDir, port, keys)), rung: "docker", pid: null, ...container };
}

async function onGo(options: S3ServiceOptions): Promise<S3Service> {
  const { dataDir, signal, log } = options;
  const cacheDir = options.cacheDir ?? cacheFolder();
  let program = await builtMinio(cacheDir);
  if (program === null) {
    if ((await findGo(signal)) === null) {
      throw new LabError("SERVICE_UNAVAILABLE", "Go does not run", { hint: WAYS });
    }
    program = await buildMinio({ cacheDir, signal, say: (line) => log.info(line) });
  }
  await mkdir(dataDir, { recursive: true });
  const keys = await keysOf(dataDir);
  const { port, ...server } = await startMinio({
    program,
    dataDir,
    port: options.port,
    keys,
    ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
    signal,
  });
  return { ...(await started(dataDir, port, keys)), rung: "go", ...server };
}

async function started(dataDir: string, port: number, keys: Keys) {
  const endpoint = `http://127.0.0.1:${port}`;
  const env = {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
  };
  return { endpoint, region: REGION, ...keys, env, keysFile: await writeKeys(dataDir, env) };
}
