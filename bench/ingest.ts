/** How fast and how cheaply the ingester takes in a topic that is already full: a broker of its own, a process of its own. */

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { connectKafka } from "../kafka/client.ts";
import type { Sink } from "../kafka/ports.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { eventSource } from "./events.ts";

export type IngestBenchOptions = {
  messages: number;
  seed: number;
  partitions: number;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type IngestBenchResult = {
  messages: number;
  /** Raw value bytes. */
  bytes: number;
  /** From process start to its end, start-up and group join included. */
  seconds: number;
  messagesPerSecond: number;
  megabytesPerSecond: number;
  /** User and system time of the whole process, all threads. */
  cpuSecondsPerMillion: number;
  peakMegabytes: number;
  bytesWritten: number;
  files: number;
};

const TOPIC = "bench-events";

/** Runs once. INTERNAL if the table does not hold exactly the messages that were produced. */
export async function benchIngest(options: IngestBenchOptions): Promise<IngestBenchResult> {
  const { say, log, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    const broker = await bringUpKafka({
      choice: options.kafka,
      dataDir: join(folder, "kafka"),
      port: 0,
      log,
      signal,
    });
    try {
      say(`filling ${TOPIC} with ${options.messages.toLocaleString("en")} messages`);
      const bytes = await fill(broker.brokers, options);
      say("ingesting");
      const usage = await measureIngest(broker.brokers, folder, signal);
      const table = await count(join(folder, "table"), signal);
      if (table.rows !== BigInt(options.messages)) {
        throw new LabError(
          "INTERNAL",
          `${options.messages} messages were produced, the table holds ${table.rows} rows`,
        );
      }
      return {
        messages: options.messages,
        bytes,
        seconds: usage.seconds,
        messagesPerSecond: Math.round(options.messages / usage.seconds),
        megabytesPerSecond: round(bytes / 1e6 / usage.seconds),
        cpuSecondsPerMillion: round((usage.cpuSeconds / options.messages) * 1e6),
        peakMegabytes: Math.round(usage.peakBytes / 1e6),
        bytesWritten: table.bytes,
        files: table.files,
      };
    } finally {
      await broker.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fill(brokers: readonly string[], options: IngestBenchOptions): Promise<number> {
  const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
  const admin = await kafka.admin();
  const event = eventSource(options.seed);
  let sink: Sink | undefined;
  let bytes = 0;
  try {
    await admin.createTopic(TOPIC, { partitions: options.partitions });
    sink = await kafka.sink({ acks: "all", idempotent: true });
    const perBatch = 2_000;
    for (let from = 0; from < options.messages; from += perBatch) {
      options.signal.throwIfAborted();
      const values = Array.from({ length: Math.min(perBatch, options.messages - from) }, (_, n) =>
        Buffer.from(event(from + n)),
      );
      bytes += values.reduce((sum, value) => sum + value.byteLength, 0);
      await sink.send(
        TOPIC,
        values.map((value, n) => ({ key: null, value, partition: (from + n) % options.partitions })),
      );
    }
    return bytes;
  } finally {
    await sink?.close();
    await admin.close();
  }
}

async function measureIngest(
  brokers: readonly string[],
  folder: string,
  signal: AbortSignal,
): Promise<{ cpuSeconds: number; peakBytes: number; seconds: number }> {
  const entry = fileURLToPath(new URL("../bin/lab.js", import.meta.url));
  const preload = new URL("./report-usage.js", import.meta.url).href;
  const usageFile = join(folder, "usage.json");
  const args = [
    "ingest",
    "--topic",
    TOPIC,
    "--table",
    join(folder, "table"),
    "--partition-by",
    "date",
    "--once",
    "--kafka",
    brokers.join(","),
  ];
  const startedMs = performance.now();
  const child = spawn(process.execPath, ["--import", preload, entry, ...args], {
    cwd: folder,
    env: { ...process.env, LAB_USAGE_FILE: usageFile },
    stdio: ["ignore", "ignore", "pipe"],
    signal,
  });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-4000);
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0)
    throw new LabError("INTERNAL", `the measured ingester ended with status ${status}: ${err}`);
  const seconds = round((performance.now() - startedMs) / 1000);
  return {
    ...(JSON.parse(await readFile(usageFile, "utf8")) as { cpuSeconds: number; peakBytes: number }),
    seconds,
  };
}

async function count(
  path: string,
  signal: AbortSignal,
): Promise<{ rows: bigint; bytes: number; files: number }> {
  const store = await openStore(path, { signal });
  try {
    const snapshot = await (await openTable(store, signal)).latest(signal);
    let rows = 0n;
    for (const add of snapshot.files())
      rows += BigInt((JSON.parse(add.stats ?? "{}") as { numRecords?: number }).numRecords ?? 0);
    return { rows, bytes: snapshot.sizeBytes, files: snapshot.numFiles };
  } finally {
    await store.close();
  }
}

const round = (value: number) => Math.round(value * 100) / 100;
