/** The checks of `lab doctor`: each looks at one thing, changes nothing that stays, and says the fix in words. */

import { randomUUID } from "node:crypto";
import { readFile, rm, stat, statfs } from "node:fs/promises";
import { freemem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { asLabError } from "../core/errors.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import { dockerAnswers } from "../services/docker.ts";
import { lockOwner } from "../services/folder-lock.ts";
import { findJava, findMaven, LEAST_JAVA } from "../services/java.ts";
import { reachBrokers } from "../services/kafka-address.ts";
import { hasJars } from "../services/kafka-jars.ts";
import { isPortFree, portHolder } from "../services/ports.ts";
import { commandLine } from "../services/process-identity.ts";
import { readRunFiles } from "../services/run-file.ts";
import type { KafkaAccess } from "./kafka-settings.ts";
import { leftStaging } from "./staging.ts";

export type Check = {
  name: string;
  /** `note`: worth knowing, nothing to do. */
  verdict: "ok" | "note" | "warning" | "failed";
  detail: string;
  fix?: string;
};

const ok = (name: string, detail: string): Check => ({ name, verdict: "ok", detail });
const note = (name: string, detail: string): Check => ({ name, verdict: "note", detail });
const warning = (name: string, detail: string, fix: string): Check => ({
  name,
  verdict: "warning",
  detail,
  fix,
});
const failed = (name: string, detail: string, fix: string): Check => ({
  name,
  verdict: "failed",
  detail,
  fix,
});

const GIB = 1024 ** 3;
/** Kafka keeps a gigabyte before it rolls its files; below the other one nothing can be written for long. */
const ENOUGH_DISK = 2 * GIB;
const LEAST_DISK = GIB / 4;
const RACERS = 20;
const CONTACT_MS = 3_000;
const LEAST_NODE = [20, 19] as const;

export function checkNode(version = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  if (isNew) return ok("node", `Node ${version}`);
  return failed("node", `Node ${version}`, `install Node ${LEAST_NODE.join(".")} or later`);
}

/** The ladder to a broker: an address that answers, or a rung that would hold. */
export async function checkBroker(
  choice: string,
  options: {
    cacheDir: string;
    dataDir: string;
    signal: AbortSignal;
    /** Where an address is given: who we are to it. */
    access: () => Promise<KafkaAccess>;
  },
): Promise<Check[]> {
  const { signal } = options;
  if (!["auto", "docker", "jvm"].includes(choice)) {
    const problem = await speakTo(choice, options.access, signal).then(() => null, asLabError);
    if (problem === null) return [ok("broker", `a broker answers at ${choice}`)];
    return [failed("broker", problem.message, problem.hint ?? "check --kafka")];
  }
  const [docker, java, maven, jars] = await Promise.all([
    dockerAnswers(signal),
    findJava(signal),
    findMaven(signal),
    hasJars(options.cacheDir),
  ]);
  const isJavaNew = java !== null && java.major >= LEAST_JAVA;
  const rungs = [
    ...(docker !== null && choice !== "jvm" ? ["Docker"] : []),
    ...(isJavaNew && (maven !== null || jars) && choice !== "docker" ? ["the JVM"] : []),
  ];
  const jarsText = jars ? "Kafka's jars are cached" : "";
  return [
    docker === null ? note("docker", "does not answer") : ok("docker", `Docker ${docker}`),
    java === null
      ? note("java", "does not run")
      : isJavaNew
        ? ok("java", `Java ${java.version}`)
        : note("java", `Java ${java.version}, and Kafka needs ${LEAST_JAVA} or later`),
    maven === null
      ? note("maven", jars ? `does not run; ${jarsText}` : "does not run")
      : ok("maven", [`Maven ${maven}`, jarsText].filter(Boolean).join("; ")),
    rungs.length > 0
      ? ok("broker", `can be started by ${rungs.join(" or ")}`)
      : failed(
          "broker",
          "none can be started here",
          `start Docker; or install Java ${LEAST_JAVA} and Maven; or give an address with --kafka HOST:PORT`,
        ),
  ];
}

/** An open port is no broker yet: it must also speak as we do, and take us for who we are. */
async function speakTo(
  address: string,
  access: () => Promise<KafkaAccess>,
  signal: AbortSignal,
): Promise<void> {
  await reachBrokers(address, CONTACT_MS, signal);
  const { connectKafka } = await import("../kafka/client.ts");
  const kafka = connectKafka({
    ...(await access()),
    clientId: "lab-doctor",
    connectTimeoutMs: 2 * CONTACT_MS,
  });
  const admin = await kafka.admin();
  await admin.close();
}

export async function checkMemory(measure = availableMemory): Promise<Check> {
  const available = (await measure()) ?? freemem();
  const text = `${(available / GIB).toFixed(1)}GiB available`;
  if (available >= 2 * GIB) return ok("memory", text);
  return warning("memory", text, "close something: the whole lab takes up to 2 GiB");
}

/** Linux counts what the page cache would give back; elsewhere null. */
async function availableMemory(): Promise<number | null> {
  const text = await readFile("/proc/meminfo", "utf8").catch(() => "");
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(text)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** Room for what the lab keeps; `path` need not exist yet. */
export async function checkDisk(
  path: string,
  free: (path: string) => Promise<number> = freeBytes,
): Promise<Check> {
  const bytes = await free(await nearestFolder(resolve(path)));
  const text = `${(bytes / GIB).toFixed(1)}GiB free for ${path}`;
  const fix =
    "free some space, or take another disk with --data and --store; lab vacuum and lab reset delete what is not needed";
  if (bytes < LEAST_DISK) return failed("disk", text, fix);
  return bytes < ENOUGH_DISK ? warning("disk", text, fix) : ok("disk", text);
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

async function nearestFolder(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : nearestFolder(dirname(path));
}

/** The engine is a binary of this system and processor, which npm leaves out where optional packages are. */
export async function checkEngine(ask = engineVersion): Promise<Check> {
  try {
    return ok("engine", `DuckDB ${await ask()}`);
  } catch (error) {
    const why = asLabError(error).message.split("\n")[0];
    return failed(
      "engine",
      `DuckDB does not run: ${why}`,
      "npm ci --include=optional, on this machine itself",
    );
  }
}

async function engineVersion(): Promise<string> {
  // Loaded here: what is missing then fails this check alone.
  const { openEngine } = await import("../engine/instance.ts");
  const engine = await openEngine({ memoryLimitBytes: 64 * 1024 ** 2, threads: 1, tempDir: null });
  try {
    const [row] = await engine.rows("SELECT version() AS version");
    return String(row?.version);
  } finally {
    engine.close();
  }
}

/** `needed`: the port has no substitute. A port that the running lab itself holds is as it should be. */
export async function checkPort(
  port: number,
  use: { name: string; needed: boolean; flag: string; dataDir: string },
): Promise<Check> {
  const name = `port ${port}`;
  if (port === 0 || (await isPortFree(port))) return ok(name, `free for the ${use.name}`);
  const holder = await portHolder(port);
  const by = holder === null ? "another process" : `${holder.name} (pid ${holder.pid})`;
  const isOurs = (await readRunFiles(use.dataDir)).some(({ pid }) => pid !== null && pid === holder?.pid);
  if (isOurs) return ok(name, `held by the running lab's ${use.name}`);
  if (!use.needed) return note(name, `held by ${by}: the ${use.name} takes a free one`);
  return failed(name, `held by ${by}`, `stop it, or give the ${use.name} another port with ${use.flag}`);
}

/** The store answers, lets one of many win a name, and its clock agrees with ours. */
export async function checkStore(
  uri: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  open = openStore,
): Promise<Check[]> {
  let store: Store | null = null;
  let missing: string | null = null;
  const folder = `_lab_probe_${randomUUID()}`;
  try {
    store = await open(uri, { signal, env });
    missing = await firstMissing(store.localPath?.(folder));
    const body = Buffer.from("lab doctor");
    const path = `${folder}/race`;
    const race = Array.from({ length: RACERS }, () => (store as Store).putIfAbsent(path, body, signal));
    const wins = (await Promise.all(race)).filter((outcome) => outcome === "created").length;
    const skewMs = await clockSkew(store, folder, signal);
    await store.delete(path, signal);
    return [
      ok("store", `${store.root} can be read and written`),
      wins === 1
        ? ok("put-if-absent", `1 of ${RACERS} racing writers won, as it must be`)
        : failed(
            "put-if-absent",
            `${wins} of ${RACERS} racing writers won: commits could overwrite each other`,
            "use another store: MinIO, versitygw and S3 itself are atomic",
          ),
      Math.abs(skewMs) < 5000
        ? ok("clock", "agrees with the store's")
        : warning(
            "clock",
            `${(skewMs / 1000).toFixed(1)} s apart from the store's`,
            "set the clock: versions carry times",
          ),
    ];
  } catch (error) {
    signal.throwIfAborted();
    const problem = asLabError(error);
    return [failed("store", `${uri}: ${problem.message} (${problem.code})`, problem.hint ?? "check --store")];
  } finally {
    if (missing !== null) await rm(missing, { recursive: true, force: true });
    await store?.close();
  }
}

/** The outermost folder of a local path that does not exist yet: what the check makes, it takes away. */
async function firstMissing(path: string | undefined): Promise<string | null> {
  let missing: string | null = null;
  for (let at = path; at !== undefined; at = dirname(at)) {
    const isMissing = await stat(at).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ENOENT",
    );
    if (!isMissing) break;
    missing = at;
  }
  return missing;
}

async function clockSkew(store: Store, folder: string, signal: AbortSignal): Promise<number> {
  const nowMs = Date.now();
  for await (const { modifiedMs } of store.list(`${folder}/`, { signal })) return modifiedMs - nowMs;
  return 0;
}

/** What a lab that was killed left behind. */
export async function checkLeftovers(dataDir: string): Promise<Check> {
  const owner = await lockOwner(dataDir);
  if (owner !== null) return ok("state", `a lab runs: pid ${owner.pid}`);
  const hasLock = (await stat(join(dataDir, "lab.lock")).catch(() => null)) !== null;
  const files = await readRunFiles(dataDir);
  const alive = await Promise.all(
    files.map(async (file) => file.pid !== null && (await commandLine(file.pid)) !== null),
  );
  const orphans = files.filter((_, n) => alive[n]);
  if (orphans.length > 0) {
    const who = orphans.map(({ name, pid }) => `${name} (pid ${pid})`).join(", ");
    return warning(
      "state",
      `without a supervisor there still run: ${who}`,
      "they end by themselves within 30 s, or kill them",
    );
  }
  const staging = await leftStaging(dataDir);
  if (staging.length > 0)
    return note(
      "state",
      `killed ingesters left ${staging.length} folders of unfinished files: the next \`lab ingest\` deletes them`,
    );
  if (hasLock || files.length > 0) return note("state", "a lab was killed here: the next `lab up` heals it");
  return ok("state", "nothing left over");
}
