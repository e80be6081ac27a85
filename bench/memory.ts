/** What many streams in one process take while the store is away: one ingester, a full broker, an S3 server that is cut off in the middle. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { IngestState } from "../dashboard/control.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { ensureBucket } from "../delta/store/s3.ts";
import type { S3Settings } from "../delta/store/s3-settings.ts";
import { tableNameOf } from "../ingest/identity.ts";
import { connectKafka } from "../kafka/client.ts";
import { startCutProxy } from "../services/cut-proxy.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { readRunFile } from "../services/run-file.ts";
import { bringUpS3 } from "../services/s3.ts";
import { eventSource } from "./events.ts";
import { residentBytes } from "./resident.ts";

export type MemoryBenchOptions = {
  streams: number;
  /** Of all streams. */
  partitions: number;
  /** Raw value bytes that wait in the broker at the start. */
  backlogBytes: number;
  outageSeconds: number;
  /** The ingester's `--budget` and `--memory`. */
  budgetBytes: number;
  encoderBytes: number;
  seed: number;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  signal: AbortSignal;
};

/** Resident memory at a moment, seconds after the start of the ingester. */
export type MemorySample = { atSeconds: number; bytes: number; isCut: boolean };

export type MemoryBenchResult = {
  streams: number;
  partitions: number;
  messages: number;
  backlogBytes: number;
  outageSeconds: number;
  /** From the start of the ingester to its end. */
  seconds: number;
  budgetBytes: number;
  encoderBytes: number;
  /** What is promised on top of both: `overheadOf`. */
  overheadBytes: number;
  limitBytes: number;
  peakBytes: number;
  peakInOutageBytes: number;
  isWithin: boolean;
  samples: MemorySample[];
};

const MIB = 1 << 20;
const SAMPLE_MS = 500;
/** The share of the backlog that is in the tables when the store goes away. */
const CUT_AT = 0.25;

/**
 * What the process takes beside its budgets, as measured and rounded up: itself with its libraries; and for each stream a group member, two
 * tables, and what a fetch brings beyond what is accepted.
 */
export function overheadOf(streams: number): number {
  return 200 * MIB + streams * 4 * MIB;
}

/** Runs once. INTERNAL if a table does not hold exactly the messages of its topic. */
export async function benchMemory(options: MemoryBenchOptions): Promise<MemoryBenchResult> {
  const { say, log, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-memory-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const kafka = await bringUpKafka({
      ...{ choice: options.kafka, dataDir: join(folder, "kafka"), port: 0, log, signal },
    });
    closing.push(() => kafka.close());
    const server = await bringUpS3({ dataDir: join(folder, "s3"), port: 0, log, signal });
    closing.push(() => server.close());
    const proxy = await startCutProxy(server.endpoint);
    closing.push(() => proxy.close());
    const { region, accessKeyId, secretAccessKey } = server;
    const s3: S3Settings = {
      ...{ endpoint: server.endpoint, region },
      ...(accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : {}),
    };
    const bucket = `memory-${process.pid}`;
    await ensureBucket(bucket, s3, signal);
    const run = Date.now().toString(36);
    const topics = Array.from({ length: options.streams }, (_, n) => `memory-${run}-${n}`);
    say(
      `filling ${options.streams} topics of ${options.partitions} partitions with ${Math.round(options.backlogBytes / 1e6)} MB`,
    );
    const filled = await fill(kafka.brokers, topics, options);
    const store = `s3://${bucket}/tables`;
    const config = join(folder, "lab.yaml");
    const streams = topics.map((topic) => `  - { topic: ${topic}, partitionBy: [date] }\n`).join("");
    await writeFile(config, `store: ${store}\nstreams:\n${streams}`);
    say("ingesting");
    const measured = await measure(options, {
      folder,
      messages: filled.messages,
      proxy,
      args: ["--config", config, "--kafka", kafka.brokers.join(",")],
      env: {
        AWS_ENDPOINT_URL: proxy.endpoint,
        ...(region ? { AWS_REGION: region } : {}),
        ...(accessKeyId && secretAccessKey
          ? { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
          : {}),
      },
    });
    await check(topics, store, s3, filled.messages, signal);
    return resultOf(options, filled, measured);
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

function resultOf(
  options: MemoryBenchOptions,
  filled: { messages: number; bytes: number },
  { samples, seconds }: { samples: MemorySample[]; seconds: number },
): MemoryBenchResult {
  const { streams, partitions, outageSeconds, budgetBytes, encoderBytes } = options;
  const overheadBytes = overheadOf(streams);
  const limitBytes = budgetBytes + encoderBytes + overheadBytes;
  const peak = (of: MemorySample[]) => of.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  return {
    ...{ streams, partitions, messages: filled.messages, backlogBytes: filled.bytes, outageSeconds, seconds },
    ...{ budgetBytes, encoderBytes, overheadBytes, limitBytes },
    peakBytes: peak(samples),
    peakInOutageBytes: peak(samples.filter(({ isCut }) => isCut)),
    isWithin: peak(samples) <= limitBytes,
    samples,
  };
}

async function fill(
  brokers: readonly string[],
  topics: readonly string[],
  options: MemoryBenchOptions,
): Promise<{ messages: number; bytes: number }> {
  const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
  const event = eventSource(options.seed);
  const perTopic = Math.floor(options.partitions / options.streams);
  const admin = await kafka.admin();
  try {
    // What is left over goes to the first topics.
    for (const [n, topic] of topics.entries()) {
      const partitions = perTopic + (n < options.partitions - perTopic * topics.length ? 1 : 0);
      await admin.createTopic(topic, { partitions });
    }
  } finally {
    await admin.close();
  }
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  let [messages, bytes] = [0, 0];
  try {
    for (const [n, topic] of topics.entries()) {
      const until = (options.backlogBytes * (n + 1)) / topics.length;
      while (bytes < until) {
        options.signal.throwIfAborted();
        const values = Array.from({ length: 1_000 }, (_, m) => Buffer.from(event(messages + m)));
        await sink.send(
          topic,
          values.map((value, m) => ({ key: null, value, partition: m % perTopic })),
        );
        messages += values.length;
        bytes += values.reduce((sum, value) => sum + value.byteLength, 0);
      }
    }
  } finally {
    await sink.close();
  }
  return { messages, bytes };
}

async function measure(
  { budgetBytes, encoderBytes, outageSeconds, say, signal }: MemoryBenchOptions,
  lab: {
    folder: string;
    messages: number;
    proxy: { cut(): void; mend(): void };
    args: readonly string[];
    env: NodeJS.ProcessEnv;
  },
): Promise<{ samples: MemorySample[]; seconds: number }> {
  const runFile = join(lab.folder, "run", "ingest.json");
  const entry = fileURLToPath(new URL("../bin/lab.js", import.meta.url));
  const args = ["ingest", "--once", "--data", lab.folder, "--budget", String(budgetBytes)];
  const startedMs = performance.now();
  const seconds = () => Math.round((performance.now() - startedMs) / 100) / 10;
  const child = spawn(process.execPath, [entry, ...args, "--memory", String(encoderBytes), ...lab.args], {
    cwd: lab.folder,
    env: { ...process.env, ...lab.env, LAB_RUN_FILE: runFile },
    stdio: ["ignore", "ignore", "pipe"],
    signal,
  });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-4_000);
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  closed.catch(() => {});
  const samples: MemorySample[] = [];
  let cutMs: number | null = null;
  let isCut = false;
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([delay(SAMPLE_MS, undefined, { signal }), closed]);
    const bytes = await residentBytes(child.pid as number);
    if (bytes !== null) samples.push({ atSeconds: seconds(), bytes, isCut });
    if (cutMs === null && (await settled(runFile)) >= CUT_AT * lab.messages) {
      say(`${seconds()} s: the store is away for ${outageSeconds} s`);
      lab.proxy.cut();
      cutMs = performance.now();
      isCut = true;
    } else if (isCut && performance.now() - (cutMs as number) >= outageSeconds * 1000) {
      say(`${seconds()} s: the store is back`);
      lab.proxy.mend();
      isCut = false;
    }
  }
  const [status] = await closed;
  if (status !== 0)
    throw new LabError("INTERNAL", `the measured ingester ended with status ${status}: ${err}`);
  if (cutMs === null) throw new LabError("INTERNAL", "the ingester was through before the store was cut off");
  return { samples, seconds: seconds() };
}

/** Records that the ingester has settled; 0 while it does not answer. */
async function settled(runFile: string): Promise<number> {
  const run = await readRunFile(runFile).catch(() => null);
  if (!run?.opsPort) return 0;
  try {
    const reply = await fetch(`http://127.0.0.1:${run.opsPort}/state`, {
      signal: AbortSignal.timeout(2_000),
    });
    const { streams } = (await reply.json()) as IngestState;
    return streams.reduce((sum, { totals }) => sum + totals.rows + totals.letters + totals.skipped, 0);
  } catch {
    return 0;
  }
}

async function check(
  topics: readonly string[],
  store: string,
  s3: S3Settings,
  messages: number,
  signal: AbortSignal,
): Promise<void> {
  let rows = 0n;
  for (const topic of topics) {
    const opened = await openStore(`${store}/${tableNameOf(topic)}`, { signal, s3 });
    try {
      const snapshot = await (await openTable(opened, signal)).latest(signal);
      for (const { stats } of snapshot.files())
        rows += BigInt((JSON.parse(stats ?? "{}") as { numRecords?: number }).numRecords ?? 0);
    } finally {
      await opened.close();
    }
  }
  if (rows !== BigInt(messages))
    throw new LabError("INTERNAL", `${messages} messages were produced, the tables hold ${rows} rows`);
}
