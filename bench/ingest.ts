/** How fast and how cheaply a topic that is already full becomes a table: ours and its peers in turns, on one broker that they share the cores with. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../core/log.ts";
import { connectKafka } from "../kafka/client.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { checkTable } from "./check-table.ts";
import { compiledLab } from "./compiled.ts";
import { CLONE, COMPILED, type Contender } from "./contender.ts";
import type { EventSize } from "./events.ts";
import { fillTopic } from "./fill.ts";
import { load } from "./machine.ts";
import { LAB, ours } from "./ours.ts";
import { type FoundPeer, findPeer, type PeerName } from "./peers.ts";

export type IngestBenchOptions = {
  messages: number;
  size: EventSize;
  seed: number;
  partitions: number;
  rounds: number;
  peers: readonly PeerName[];
  /** The folder that holds `kdi.py` and its like. */
  peersFolder: string;
  kafka: string;
  log: Log;
  say: (line: string) => void;
  now: () => number;
  signal: AbortSignal;
};

/** One run of one contender; all of it by the whole process. */
export type IngestRun = {
  by: string;
  round: number;
  seconds: number;
  cpuSeconds: number;
  peakBytes: number;
  bytesWritten: number;
  files: number;
  /** The load of the machine when it began. */
  load: number;
};

/** What starting costs: the same command on a topic without messages. */
export type StartRun = Pick<IngestRun, "by" | "round" | "seconds" | "cpuSeconds" | "peakBytes">;

export type IngestBenchResult = {
  messages: number;
  size: EventSize;
  /** Of all values. */
  bytes: number;
  partitions: number;
  seed: number;
  rounds: number;
  runs: IngestRun[];
  starts: StartRun[];
  missing: { name: string; why: string }[];
  /** Of the peers. */
  versions: Record<string, string>;
};

const TOPIC = "bench-events";
const NO_EVENTS = "bench-no-events";

/** INTERNAL if a table does not hold each of the messages exactly once. */
export async function benchIngest(options: IngestBenchOptions): Promise<IngestBenchResult> {
  const { say, log, signal, messages, size, partitions, seed, rounds } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const compiled = join(folder, "compiled");
    await mkdir(compiled);
    const labs = [ours(CLONE, LAB), ours(COMPILED, await compiledLab(compiled, signal))];
    const found: FoundPeer[] = [];
    for (const name of options.peers)
      found.push(await findPeer(name, { peers: options.peersFolder, folder }, signal));
    const peers = found.filter((peer) => "contender" in peer);
    const missing = found.flatMap((peer) =>
      "missing" in peer ? [{ name: peer.name, why: peer.missing }] : [],
    );
    for (const { name, why } of missing) say(`not measured: ${name}, ${why}`);

    const versions = Object.assign({}, ...peers.map((peer) => peer.versions));
    const broker = await bringUpKafka({
      ...{ choice: options.kafka, dataDir: join(folder, "kafka"), port: 0, log, signal },
    });
    closing.push(() => broker.close());
    const { brokers } = broker;
    // A broker that was only given may have these topics from another run.
    const run = options.now().toString(36);
    const [topic, empty] = [`${TOPIC}-${run}`, `${NO_EVENTS}-${run}`];
    say(`filling a topic with ${messages.toLocaleString("en")} messages of ${size}`);
    const bytes = await fillTopic({ brokers, topic, partitions, messages, size, seed }, signal);
    await makeTopic(brokers, empty, partitions);

    const result: IngestBenchResult = {
      ...{ messages, size, bytes, partitions, seed, rounds, runs: [], starts: [], missing, versions },
    };
    const contenders = [...labs, ...peers.map(({ contender }) => contender)];
    for (let round = 1; round <= rounds; round++) {
      for (const contender of inTurn(contenders, round)) {
        const work = { brokers, topic, messages, isTiny: size === "tiny", folder: join(folder, "run") };
        const before = load();
        const used = await inFolder(work.folder, async () => {
          const table = join(work.folder, "table");
          const { seconds, cpuSeconds, peakBytes } = await contender.run({ ...work, table }, signal);
          const identity = contender.identity(work.isTiny);
          const written = await checkTable(table, { messages, identity, who: contender.name }, signal);
          return { seconds, cpuSeconds, peakBytes, bytesWritten: written.bytes, files: written.files };
        });
        result.runs.push({ by: contender.name, round, ...rounded(used), load: before });
        say(
          `round ${round}: ${contender.name}, ${((used.cpuSeconds / messages) * 1e6).toFixed(1)} CPU s per million, ${Math.round(messages / used.seconds).toLocaleString("en")} rows/s`,
        );
      }
      for (const lab of inTurn(labs, round)) {
        const used = await inFolder(join(folder, "run"), () => start(lab, brokers, empty, folder, signal));
        result.starts.push({ by: lab.name, round, ...rounded(used) });
      }
    }
    return result;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Who was last is first the next time. */
function inTurn<T>(all: readonly T[], round: number): readonly T[] {
  return round % 2 === 1 ? all : all.toReversed();
}

const start = (
  lab: Contender,
  brokers: readonly string[],
  topic: string,
  folder: string,
  signal: AbortSignal,
) =>
  lab.run(
    {
      brokers,
      topic,
      isTiny: false,
      messages: 0,
      table: join(folder, "run", "table"),
      folder: join(folder, "run"),
    },
    signal,
  );

async function inFolder<T>(folder: string, step: () => Promise<T>): Promise<T> {
  await mkdir(folder);
  try {
    return await step();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeTopic(brokers: readonly string[], topic: string, partitions: number): Promise<void> {
  const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
  const admin = await kafka.admin();
  try {
    await admin.createTopic(topic, { partitions });
  } finally {
    await admin.close();
  }
}

/** Milliseconds are as much as is known. */
function rounded<T extends { seconds: number; cpuSeconds: number }>(used: T): T {
  const round = (value: number) => Math.round(value * 1000) / 1000;
  return { ...used, seconds: round(used.seconds), cpuSeconds: round(used.cpuSeconds) };
}
