/** What a user would run instead: kafka-delta-ingest and Spark, by the scripts of the referees' folder. */

import { type ChildProcess, execFile } from "node:child_process";
import { access, chmod, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../core/cache-folder.ts";
import { isLabError, LabError } from "../core/errors.ts";
import { sampleChild, secondsAwake } from "./awake.ts";
import { IDENTITY } from "./check-table.ts";
import type { Contender } from "./contender.ts";
import type { Usage } from "./measured.ts";
import { pythonPackages } from "./python.ts";

export const PEERS = ["kdi", "kdi-plain", "spark"] as const;
export type PeerName = (typeof PEERS)[number];

/** A peer that can be run, or why it cannot. */
export type FoundPeer =
  | { name: PeerName; contender: Contender; versions: Record<string, string> }
  | { name: PeerName; missing: string };

const run = promisify(execFile);

/** How long kafka-delta-ingest holds rows back, in seconds. Its default, 300, would make every run end in minutes of waiting. */
const KDI_LATENCY_SECONDS = 10;

/** `peers` is the folder with `kdi.py` and `spark.py`; `folder` is for what has to be unpacked. */
export async function findPeer(
  name: PeerName,
  { peers, folder }: { peers: string; folder: string },
  signal: AbortSignal,
): Promise<FoundPeer> {
  try {
    return await (name === "spark" ? spark(peers, signal) : kdi(name, peers, folder, signal));
  } catch (error) {
    signal.throwIfAborted();
    if (!isLabError(error, "SERVICE_UNAVAILABLE")) throw error;
    return { name, missing: error.message };
  }
}

async function kdi(
  name: "kdi" | "kdi-plain",
  peers: string,
  folder: string,
  signal: AbortSignal,
): Promise<FoundPeer> {
  const packed = await required(join(peers, "kafka-delta-ingest.xz"));
  const script = await required(join(peers, "kdi.py"));
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new LabError("SERVICE_UNAVAILABLE", "kafka-delta-ingest is there for Linux on x86-64 only");
  const binary = join(folder, "kafka-delta-ingest");
  await unavailable("kafka-delta-ingest cannot be unpacked", async () => {
    await run("sh", ["-c", 'xz -dc "$0" > "$1"', packed, binary], { signal });
    await chmod(binary, 0o755);
  });
  const packages = await pythonPackages(new URL("./deltalake.txt", import.meta.url), signal);
  const { stdout } = await unavailable("kafka-delta-ingest does not run", () =>
    run(binary, ["--version"], { signal }),
  );
  const contender: Contender = {
    name,
    identity: (isTiny) => (name === "kdi" ? IDENTITY.meta : isTiny ? IDENTITY.key : IDENTITY.seq),
    async run(work, signal) {
      const limit = Math.max(170, Math.ceil(work.messages / 1000));
      const args = [
        ...[script, "--brokers", work.brokers.join(","), "--topic", work.topic, "--table", work.table],
        ...["--rows", String(work.messages), "--kind", work.isTiny ? "tiny" : "ev"],
        ...["--latency", String(KDI_LATENCY_SECONDS), "--limit", String(limit)],
        ...(name === "kdi" ? [] : ["--no-transforms"]),
      ];
      const env = { ...process.env, PYTHONPATH: packages, KDI: binary };
      const running = run("python3", args, { env, cwd: work.folder, signal });
      const [{ stdout: line }, samples] = await Promise.all([running, sampleChild(pidOf(running), running)]);
      const told = toldBy(name, line);
      // It waits for its clock before it writes the last rows; only what it works counts.
      return { ...usageOf(told), seconds: Math.min(told.seconds, secondsAwake(samples)) };
    },
  };
  return {
    name,
    contender,
    versions: { "kafka-delta-ingest": stdout.trim().split(" ").at(-1) ?? "unknown" },
  };
}

async function spark(peers: string, signal: AbortSignal): Promise<FoundPeer> {
  const script = await required(join(peers, "spark.py"));
  const pom = await required(join(peers, "pom.xml"));
  const requirements = new URL("../test/referees/spark/requirements.txt", import.meta.url);
  const packages = await pythonPackages(requirements, signal);
  const jars = await unavailable("Spark's libraries cannot be fetched", () => sparkJars(pom, signal));
  const { stdout } = await run("python3", ["-c", "import pyspark; print(pyspark.__version__)"], {
    env: { ...process.env, PYTHONPATH: packages },
    signal,
  });
  const contender: Contender = {
    name: "spark",
    identity: () => IDENTITY.meta,
    async run({ brokers, topic, table, isTiny, folder }, signal) {
      const args = [script, "--brokers", brokers.join(","), "--topic", topic, "--table", table];
      const { stdout: line } = await run("python3", [...args, "--kind", isTiny ? "tiny" : "ev"], {
        env: { ...process.env, PYTHONPATH: packages, JARS: jars },
        cwd: folder,
        signal,
      });
      return usageOf(toldBy("spark", line));
    },
  };
  return { name: "spark", contender, versions: { spark: stdout.trim() } };
}

async function sparkJars(pom: string, signal: AbortSignal): Promise<string> {
  const jars = join(cacheFolder(), "spark-peer-jars");
  if (await isThere(jars)) return jars;
  const partial = `${jars}.${process.pid}`;
  await mkdir(partial, { recursive: true });
  try {
    const goal = ["dependency:copy-dependencies", `-DoutputDirectory=${partial}`];
    await run("mvn", ["-B", "-q", "-f", pom, ...goal], { signal });
    await rename(partial, jars);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return jars;
}

/** What the scripts print. */
type Told = {
  rows: number;
  seconds: number;
  cpu_s_per_million: number;
  peak_mb: number;
  error?: string;
};

/** INTERNAL where it is no result. */
function toldBy(name: string, out: string): Told {
  const line = out.trim().split("\n").at(-1) ?? "";
  const told = JSON.parse(line) as Told;
  if (told.error !== undefined || !(told.rows > 0))
    throw new LabError("INTERNAL", `${name} did not get anywhere: ${line}`);
  return told;
}

/** Their memory is in MiB. */
function usageOf({ rows, seconds, cpu_s_per_million, peak_mb }: Told): Usage {
  return { seconds, cpuSeconds: (cpu_s_per_million * rows) / 1e6, peakBytes: peak_mb * 2 ** 20 };
}

function pidOf(running: { child: ChildProcess }): number {
  return running.child.pid ?? 0;
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

async function required(path: string): Promise<string> {
  if (await isThere(path)) return path;
  throw new LabError("SERVICE_UNAVAILABLE", `there is no ${path}`);
}

async function unavailable<T>(what: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    throw new LabError("SERVICE_UNAVAILABLE", `${what}: ${(cause as Error).message}`, { cause });
  }
}
