/** Where the CPU goes while a full topic becomes a table: by part, as a table that adds up to what the process used. */

import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { checkTable } from "./check-table.ts";
import { compiledLab } from "./compiled.ts";
import { COMPILED, type Work } from "./contender.ts";
import type { EventSize } from "./events.ts";
import { fillTopic } from "./fill.ts";
import { ours } from "./ours.ts";
import { type CpuProfile, type Part, profileTable, type ThreadSeconds } from "./profile-parts.ts";

export type ProfileBenchOptions = {
  messages: number;
  size: EventSize;
  seed: number;
  partitions: number;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type ProfileBenchResult = {
  messages: number;
  size: EventSize;
  bytes: number;
  partitions: number;
  /** CPU seconds of the profiled process; the sum of `parts`. */
  cpuSeconds: number;
  parts: Partial<Record<Part, number>>;
  /** Of the same work without a profiler. */
  plainCpuSeconds: number;
};

const TOPIC = "bench-profile";
/** Between samples, microseconds. */
const INTERVAL_US = 1_000;

/** SERVICE_UNAVAILABLE without /proc; INTERNAL if a table does not hold each message exactly once. */
export async function benchProfile(options: ProfileBenchOptions): Promise<ProfileBenchResult> {
  const { messages, size, seed, partitions, log, say, signal } = options;
  if (process.platform !== "linux")
    throw new LabError("SERVICE_UNAVAILABLE", "the CPU time of threads can be read on Linux only");
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-profile-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const compiled = join(folder, "compiled");
    await mkdir(compiled);
    const program = await compiledLab(compiled, signal);
    const broker = await bringUpKafka({
      ...{ choice: options.kafka, dataDir: join(folder, "kafka"), port: 0, log, signal },
    });
    closing.push(() => broker.close());
    const { brokers } = broker;
    const topic = `${TOPIC}-${process.pid}`;
    say(`filling a topic with ${messages.toLocaleString("en")} messages of ${size}`);
    const bytes = await fillTopic({ brokers, topic, partitions, messages, size, seed }, signal);
    const isTiny = size === "tiny";
    const once = async (work: Pick<Work, "table">, flags: readonly string[], env: NodeJS.ProcessEnv) => {
      const lab = ours(COMPILED, program, flags, env);
      const used = await lab.run({ brokers, topic, isTiny, messages, folder, ...work }, signal);
      const identity = lab.identity(isTiny);
      await checkTable(work.table, { messages, identity, who: lab.name }, signal);
      return used;
    };
    say("a run as it is");
    const plain = await once({ table: join(folder, "plain") }, [], {});
    say("a run under the profiler");
    const [profiles, file] = [join(folder, "profiles"), join(folder, "threads.json")];
    const flags = ["--cpu-prof", `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${INTERVAL_US}`];
    const preload = fileURLToPath(new URL("./report-threads.cjs", import.meta.url));
    await once({ table: join(folder, "profiled") }, [...flags, "--require", preload], {
      LAB_THREADS_FILE: file,
    });
    const threads = JSON.parse(await readFile(file, "utf8")) as ThreadSeconds;
    const { main, workers } = await readProfiles(profiles);
    const parts = [...profileTable(main, workers, threads)].filter(([, seconds]) => seconds !== 0);
    return {
      ...{ messages, size, bytes, partitions, cpuSeconds: threads.total, plainCpuSeconds: plain.cpuSeconds },
      parts: Object.fromEntries(parts),
    };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Node writes one for each thread of JavaScript, with the thread's number in the name: 0 is the main one. */
async function readProfiles(folder: string): Promise<{ main: CpuProfile; workers: CpuProfile[] }> {
  const names = await readdir(folder);
  const read = async (name: string) => JSON.parse(await readFile(join(folder, name), "utf8")) as CpuProfile;
  const isMain = (name: string) => name.split(".")[4] === "0";
  const main = names.find(isMain);
  if (main === undefined)
    throw new LabError("INTERNAL", `no profile of the main thread among ${names.join(", ")}`);
  return {
    main: await read(main),
    workers: await Promise.all(names.filter((name) => !isMain(name)).map(read)),
  };
}
