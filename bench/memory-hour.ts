/** Whether the memory of an ingester at default settings depends on how much waits, how many messages come, and in how many partitions. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { connectKafka } from "../kafka/client.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { checkTable, IDENTITY } from "./check-table.ts";
import { compiledLab } from "./compiled.ts";
import type { EventSize } from "./events.ts";
import { fillTopic } from "./fill.ts";
import { residentBytes } from "./resident.ts";

export type MemoryHourOptions = {
  /** Of the longest run: an hour of a thousand a second is 3,600,000. */
  messages: number;
  /** Of the widest run. */
  partitions: number;
  size: EventSize;
  seed: number;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type ResidentSample = { atSeconds: number; bytes: number };

export type MemoryHourRun = {
  messages: number;
  partitions: number;
  bytes: number;
  /** From the start of the process to its end. */
  seconds: number;
  peakBytes: number;
  /** At most SAMPLES, each the most of its span. */
  samples: ResidentSample[];
};

export type MemoryHourResult = { size: EventSize; runs: MemoryHourRun[] };

const FEW_PARTITIONS = 4;
const SAMPLE_MS = 200;
const SAMPLES = 200;

/** A tenth of the messages, all of them, and all of them in many partitions. INTERNAL if a table does not hold each message exactly once. */
export async function benchMemoryHour(options: MemoryHourOptions): Promise<MemoryHourResult> {
  const { messages, partitions, size, log, say, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-memory-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const compiled = join(folder, "compiled");
    await mkdir(compiled);
    const program = await compiledLab(compiled, signal);
    const broker = await bringUpKafka({
      ...{ choice: options.kafka, dataDir: join(folder, "kafka"), port: 0, log, signal },
    });
    closing.push(() => broker.close());
    const cases = [
      { messages: Math.max(1, Math.floor(messages / 10)), partitions: FEW_PARTITIONS },
      { messages, partitions: FEW_PARTITIONS },
      { messages, partitions },
    ];
    const result: MemoryHourResult = { size, runs: [] };
    for (const [n, one] of cases.entries()) {
      say(`${one.messages.toLocaleString("en")} messages in ${one.partitions} partitions`);
      const at = join(folder, `run-${n}`);
      await mkdir(at);
      const topic = `memory-${process.pid}-${n}`;
      const fill = { brokers: broker.brokers, topic, size, seed: options.seed, ...one };
      const bytes = await fillTopic(fill, signal);
      result.runs.push({ ...one, bytes, ...(await ingest(program, fill, at, signal)) });
      await rm(at, { recursive: true });
      await dropTopic(broker.brokers, topic);
    }
    return result;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function ingest(
  program: string,
  { brokers, topic, messages }: { brokers: readonly string[]; topic: string; messages: number },
  folder: string,
  signal: AbortSignal,
): Promise<Pick<MemoryHourRun, "seconds" | "peakBytes" | "samples">> {
  const table = join(folder, "table");
  const args = ["ingest", "--once", "--kafka", brokers.join(","), "--topic", topic, "--table", table];
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, ...args, "--partition-by", "date"], {
    ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe"], signal },
  });
  let err = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-4_000);
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  closed.catch(() => {});
  const samples: ResidentSample[] = [];
  const seconds = () => (performance.now() - startedMs) / 1000;
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([delay(SAMPLE_MS, undefined, { signal }), closed]);
    const bytes = await residentBytes(child.pid as number);
    if (bytes !== null) samples.push({ atSeconds: seconds(), bytes });
  }
  const [status] = await closed;
  if (status !== 0) throw new LabError("INTERNAL", `the measured ingester ended with ${status}: ${err}`);
  const took = seconds();
  await checkTable(table, { messages, identity: IDENTITY.kafka, who: "lab" }, signal);
  const peakBytes = Math.max(0, ...samples.map(({ bytes }) => bytes));
  return { seconds: Math.round(took * 10) / 10, peakBytes, samples: thinned(samples, SAMPLES) };
}

/** At most `count` samples: of each span of time the one with the most memory. */
export function thinned(samples: readonly ResidentSample[], count: number): ResidentSample[] {
  const span = Math.ceil(samples.length / count);
  return Array.from({ length: Math.ceil(samples.length / (span || 1)) }, (_, n) => {
    const part = samples.slice(n * span, (n + 1) * span);
    const most = part.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    return { atSeconds: Math.round(most.atSeconds * 10) / 10, bytes: most.bytes };
  });
}

async function dropTopic(brokers: readonly string[], topic: string): Promise<void> {
  const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
  const admin = await kafka.admin();
  await admin.deleteTopic(topic).finally(() => admin.close());
}
