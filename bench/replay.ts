/**
 * What sending a table back to Kafka costs, beside consuming the same records from Kafka, which any copy of a topic must do and a replay need not.
 * Both run in this process, one after the other on one broker, CPU of all its threads; start-up is in neither. A replay also writes, in transactions.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { connectKafka } from "../kafka/client.ts";
import type { Kafka } from "../kafka/ports.ts";
import { liveTopic } from "../replay/live-topic.ts";
import { replay } from "../replay/run.ts";
import { bringUpKafka } from "../services/kafka.ts";
import type { EventSize } from "./events.ts";
import { fillTopic } from "./fill.ts";
import { load } from "./machine.ts";
import { measured } from "./measured.ts";
import { LAB } from "./ours.ts";

export type ReplayBenchOptions = {
  messages: number;
  size: EventSize;
  seed: number;
  partitions: number;
  rounds: number;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  now: () => number;
  signal: AbortSignal;
};

/** "consume": the topic read to its end. "replay, kept": values that the table kept. "replay, made": values made again of columns. */
export type ReplayRun = {
  what: "consume" | "replay, kept" | "replay, made";
  round: number;
  seconds: number;
  cpuSeconds: number;
  /** The load of the machine when it began. */
  load: number;
};

export type ReplayBenchResult = {
  messages: number;
  size: EventSize;
  /** Of all values. */
  bytes: number;
  partitions: number;
  seed: number;
  rounds: number;
  runs: ReplayRun[];
};

const MEMORY_BYTES = 512 * 1024 * 1024;

/** INTERNAL if a run did not bring each of the messages once. */
export async function benchReplay(options: ReplayBenchOptions): Promise<ReplayBenchResult> {
  const { messages, size, seed, partitions, rounds, say, log, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const broker = await bringUpKafka({
      ...{ choice: options.kafka, dataDir: join(folder, "kafka"), port: 0, log, signal },
    });
    closing.push(() => broker.close());
    const { brokers } = broker;
    // A broker that was only given may have these topics from another run.
    const topic = `bench-replay-${options.now().toString(36)}`;
    say(`filling a topic with ${messages.toLocaleString("en")} messages of ${size}, and two tables from it`);
    const bytes = await fillTopic({ brokers, topic, partitions, messages, size, seed }, signal);
    for (const keepRaw of ["on", "off"]) {
      const args = [LAB, "ingest", "--once", "--kafka", brokers.join(","), "--topic", topic];
      const more = ["--table", join(folder, keepRaw), "--keep-raw", keepRaw];
      await measured([...args, ...more], { cwd: folder }, signal);
    }
    const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
    const result: ReplayBenchResult = { messages, size, bytes, partitions, seed, rounds, runs: [] };
    for (let round = 1; round <= rounds; round++) {
      const works = [
        { what: "consume", run: () => consume(kafka, topic, partitions, messages, signal) },
        { what: "replay, kept", run: () => send(kafka, folder, "on", `${topic}-kept-${round}`, options) },
        { what: "replay, made", run: () => send(kafka, folder, "off", `${topic}-made-${round}`, options) },
      ] as const;
      for (const { what, run } of works) {
        const one = await timed(what, round, run);
        result.runs.push(one);
        say(
          `round ${round}: ${what}, ${((one.cpuSeconds / messages) * 1e6).toFixed(1)} CPU s per million, ${Math.round(messages / one.seconds).toLocaleString("en")} records/s`,
        );
      }
    }
    return result;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function timed(what: ReplayRun["what"], round: number, run: () => Promise<void>): Promise<ReplayRun> {
  const before = load();
  const [startedMs, used] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(used);
  const seconds = Math.round(performance.now() - startedMs) / 1000;
  return { what, round, seconds, cpuSeconds: (user + system) / 1e6, load: before };
}

async function consume(
  kafka: Kafka,
  topic: string,
  partitions: number,
  messages: number,
  signal: AbortSignal,
): Promise<void> {
  const next = new Map(Array.from({ length: partitions }, (_, partition) => [partition, 0n]));
  let seen = 0;
  for await (const { records } of liveTopic({ kafka, topic, next, onOutage: () => {}, signal })) {
    seen += records.length;
    if (seen >= messages) break;
  }
  requireAll("consumed", seen, messages);
}

async function send(
  kafka: Kafka,
  folder: string,
  name: string,
  target: string,
  { messages, signal, now }: ReplayBenchOptions,
): Promise<void> {
  const store = await openStore(`file://${join(folder, name)}`, { signal });
  try {
    const table = await openTable(store, signal);
    const cache = () => Promise.reject(new LabError("INTERNAL", "a local table needs no cache"));
    const work = { scratchDir: join(folder, "scratch"), memoryLimitBytes: MEMORY_BYTES, threads: 2, cache };
    const from = { kind: "start" } as const;
    const { sent } = await replay({
      ...{
        table,
        kafka,
        target,
        from,
        value: "auto",
        isAppended: false,
        isCompared: false,
        work,
        signal,
        now,
      },
    });
    requireAll("replayed", sent, messages);
  } finally {
    await store.close();
  }
}

function requireAll(what: string, found: number, messages: number): void {
  if (found !== messages) throw new LabError("INTERNAL", `${found} of ${messages} messages were ${what}`);
}
