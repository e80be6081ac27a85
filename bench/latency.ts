/** How long after it was produced a message is in the table, at steady rates, and what the ingester takes meanwhile. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { connectKafka } from "../kafka/client.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { cpuSecondsOf } from "./awake.ts";
import { checkTable, IDENTITY } from "./check-table.ts";
import { compiledLab } from "./compiled.ts";
import { type EventSize, eventSource } from "./events.ts";
import { type Live, startLive } from "./live.ts";
import { type Percentiles, percentiles } from "./percentiles.ts";
import { type Steady, steadyProducer } from "./steady.ts";

export type LatencyBenchOptions = {
  /** Messages a second. */
  rates: readonly number[];
  /** Of each rate, after the warm-up. */
  seconds: number;
  size: EventSize;
  seed: number;
  partitions: number;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  now: () => number;
  signal: AbortSignal;
};

export type LatencyRun = {
  rate: number;
  /** Of the messages that count. */
  messages: number;
  /** Average of a value. */
  bytesEach: number;
  /** From the moment a message was due, at a steady rate, until a reader found it committed: what delays the producer counts, too. */
  visibleMs: Percentiles;
  /** From the producer's request to the broker's acknowledgement, by request. */
  ackMs: Percentiles;
  /** CPU of the ingester as a share of one core; null where there is no /proc. */
  coreShare: number | null;
  peakBytes: number;
  /** Versions that brought messages that count. */
  commits: number;
};

export type LatencyBenchResult = {
  size: EventSize;
  seconds: number;
  partitions: number;
  flushMs: number;
  runs: LatencyRun[];
};

const FLUSH_MS = 1_000;
/** The reader looks this often, as one that follows a table does. */
const LOOK_MS = 10;
/** After the first rows are seen: Node compiles what runs often, and the table's first versions are made. */
const WARM_MS = 15_000;
const PATIENCE_MS = 120_000;
/** Values are made before, and taken in turns. */
const VALUES = 20_000;

/** INTERNAL if a table does not hold each message exactly once. */
export async function benchLatency(options: LatencyBenchOptions): Promise<LatencyBenchResult> {
  const { rates, seconds, size, seed, partitions, log, say, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-latency-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const compiled = join(folder, "compiled");
    await mkdir(compiled);
    const program = await compiledLab(compiled, signal);
    const { brokers, close } = await bringUpKafka({
      ...{ choice: options.kafka, dataDir: join(folder, "kafka"), port: 0, log, signal },
    });
    closing.push(close);
    const event = eventSource(seed, size);
    const values = Array.from({ length: VALUES }, (_, n) => Buffer.from(event(n)));
    const result: LatencyBenchResult = { size, seconds, partitions, flushMs: FLUSH_MS, runs: [] };
    for (const rate of rates) {
      say(`${rate.toLocaleString("en")} messages a second of ${size}, for ${seconds} s`);
      const at = join(folder, `rate-${rate}`);
      await mkdir(at);
      result.runs.push(await oneRate(rate, { ...options, folder: at, program, brokers, values }));
    }
    return result;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

type Bench = LatencyBenchOptions & {
  folder: string;
  program: string;
  brokers: readonly string[];
  values: readonly Buffer[];
};

async function oneRate(rate: number, bench: Bench): Promise<LatencyRun> {
  const { brokers, folder, partitions, now, values, signal } = bench;
  const topic = `latency-${rate}-${now().toString(36)}`;
  const table = join(folder, "table");
  const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
  const admin = await kafka.admin();
  await admin.createTopic(topic, { partitions }).finally(() => admin.close());
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  const args = ["ingest", "--kafka", brokers.join(","), "--topic", topic, "--table", table];
  const flush = ["--flush-latency", `${FLUSH_MS}ms`, "--partition-by", "date"];
  const live = await startLive([bench.program, ...args, ...flush], { cwd: folder });
  const stopping = new AbortController();
  const producer = steadyProducer({ sink, topic, partitions, rate, values, now });
  const producing = producer.run(stopping.signal);
  producing.catch(() => {});
  try {
    const stopProducing = () => {
      stopping.abort();
      return producing;
    };
    const seen = await watch({ ...bench, topic, table, live, producer, stopProducing });
    const { peakBytes } = await live.stop();
    await checkTable(table, { messages: producer.sent(), identity: IDENTITY.kafka, who: "lab" }, signal);
    const bytes = values.reduce((sum, { byteLength }) => sum + byteLength, 0) / values.length;
    return {
      ...{ rate, messages: seen.visibleMs.length, bytesEach: Math.round(bytes) },
      ...{ visibleMs: percentiles(seen.visibleMs), ackMs: percentiles(producer.ackMs) },
      ...{ coreShare: seen.coreShare, peakBytes, commits: seen.commits },
    };
  } finally {
    stopping.abort();
    await producing.catch(() => {});
    await sink.close();
    await live.close();
  }
}

type Seen = { visibleMs: number[]; coreShare: number | null; commits: number };

/**
 * Follows the table: what is committed is what the latest snapshot's positions say. What counts are the messages due in the window
 * that begins after the warm-up; once all of them are seen the producer is stopped, and it ends when the last message is in the table.
 */
async function watch(
  at: Bench & {
    topic: string;
    table: string;
    live: Live;
    producer: Steady;
    stopProducing: () => Promise<void>;
  },
): Promise<Seen> {
  const { topic, partitions, producer, live, now, seconds } = at;
  const signal = AbortSignal.any([at.signal, live.ended]);
  const store = await openStore(at.table, { signal });
  const settled = Array.from({ length: partitions }, () => -1);
  const seen: Seen = { visibleMs: [], coreShare: null, commits: 0 };
  let window: { fromMs: number; toMs: number; cpuSeconds: number | null } | undefined;
  const isCounted = (ms: number) => window !== undefined && ms >= window.fromMs && ms < window.toMs;
  const isEnough = () => {
    const { fromMs, toMs } = window ?? { fromMs: Number.POSITIVE_INFINITY, toMs: 0 };
    if (now() < toMs || fromMs > toMs) return false;
    return producer.created.every(
      (all, partition) => (all[(settled[partition] as number) + 1] ?? toMs) >= toMs,
    );
  };
  const isAll = () => producer.created.every((all, partition) => settled[partition] === all.length - 1);
  try {
    const table = await firstVersion(() => openTable(store, signal), now, signal);
    const warmMs = now() + WARM_MS;
    const deadlineMs = warmMs + seconds * 1000 + PATIENCE_MS;
    let isProducing = true;
    while (isProducing || !isAll()) {
      const snapshot = await table.latest(signal);
      const seenMs = now();
      if (seenMs > deadlineMs)
        throw new LabError("INTERNAL", `${topic}: not all messages came into the table`);
      let brought = 0;
      for (const [partition, last] of settled.entries()) {
        const to = Number(snapshot.txn(`lab/${topic}-${partition}`) ?? -1n);
        for (let offset = last + 1; offset <= to; offset++) {
          const createdMs = producer.created[partition]![offset] as number;
          if (!isCounted(createdMs)) continue;
          seen.visibleMs.push(seenMs - createdMs);
          brought += 1;
        }
        settled[partition] = to;
      }
      if (brought > 0) seen.commits += 1;
      if (window === undefined && seenMs >= warmMs)
        window = { fromMs: seenMs, toMs: seenMs + seconds * 1000, cpuSeconds: await cpuSecondsOf(live.pid) };
      if (
        window !== undefined &&
        seen.coreShare === null &&
        window.cpuSeconds !== null &&
        seenMs >= window.toMs
      ) {
        const used = ((await cpuSecondsOf(live.pid)) ?? Number.NaN) - window.cpuSeconds;
        seen.coreShare = used / ((now() - window.fromMs) / 1000);
      }
      if (isProducing && isEnough()) {
        await at.stopProducing();
        isProducing = false;
      }
      await delay(LOOK_MS, undefined, { signal });
    }
    return seen;
  } finally {
    await store.close();
  }
}

/** What `open` gives once there is a table. */
async function firstVersion<T>(open: () => Promise<T>, now: () => number, signal: AbortSignal): Promise<T> {
  const deadlineMs = now() + PATIENCE_MS;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isLabError(error, "NOT_A_TABLE") || now() > deadlineMs) throw error;
      await delay(LOOK_MS, undefined, { signal });
    }
  }
}
