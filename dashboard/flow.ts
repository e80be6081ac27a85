/** From one look at the lab after another to what flows: rates, lag, and the silences told apart. Pure. */

import {
  type IngestState,
  type Part,
  type PartError,
  type PartitionState,
  type ProduceState,
  processOf,
  type StreamState,
  type Topic,
} from "./control.ts";
import { type RateMeter, rateMeter, type Samples } from "./rates.ts";
import type { Problem } from "./tables.ts";

/** Answering; silent: the process is there but says nothing; gone: there is no such process. */
export type Status = "answering" | "silent" | "gone";

export type FlowPart = {
  name: string;
  kind: string;
  pid: number | null;
  /** ISO UTC; null if unknown. */
  startedAt: string | null;
  status: Status;
  /** When it last answered; null if it never did or is not one that answers. */
  lastAnswer: string | null;
  address: string | null;
};

type Member = Pick<FlowPart, "name" | "pid" | "startedAt" | "status" | "lastAnswer">;

export type FlowProducer = Member & {
  source: string;
  acked: string;
  perSecond: number | null;
  lastError: PartError | null;
  done: boolean;
};

export type FlowIngester = Member &
  Pick<StreamState, "state" | "reason" | "version" | "buffer" | "lastCommit" | "lastError" | "totals">;

export type FlowPartition = {
  partition: number;
  start: string | null;
  end: string | null;
  settled: string | null;
  /** Null is "not known", never 0. */
  lag: string | null;
  lagSeconds: number | null;
  buffered: number | null;
  /** Name of the ingester it is assigned to. */
  owner: string | null;
};

export type FlowStream = {
  topic: string;
  /** Null for a topic nobody ingests. */
  table: string | null;
  producers: FlowProducer[];
  /** Records the topic holds. */
  records: string | null;
  producedPerSecond: number | null;
  /** Since when nothing new came into the topic. */
  quietSince: string | null;
  ingesters: FlowIngester[];
  ingestedPerSecond: number | null;
  lag: string | null;
  lagSeconds: number | null;
  partitions: FlowPartition[];
};

export type Flow = { at: string; streams: FlowStream[]; parts: FlowPart[]; problem: Problem | null };

export type Look = {
  atMs: number;
  parts: Part[];
  /** What the broker answered last, and why not this time if it did not. */
  topics: Topic[];
  problem: Problem | null;
};

/** What has to be remembered between two looks. */
export type FlowMemory = {
  samples: Samples;
  /** Last words of each part. */
  answers: ReadonlyMap<string, Answer>;
  /** When the end offsets of a topic last moved. */
  moves: ReadonlyMap<string, { atMs: number; end: bigint }>;
};

export const noMemory: FlowMemory = { samples: new Map(), answers: new Map(), moves: new Map() };

type Answer = { atMs: number; state: IngestState | ProduceState };
type Observed = { part: Part; member: Member; answer: Answer | undefined };

/** The flow as of `look`, and what the next call needs. A part that stopped answering keeps its last words. */
export function observeFlow(memory: FlowMemory, look: Look): { flow: Flow; memory: FlowMemory } {
  const meter = rateMeter(memory.samples, look.atMs);
  const observed = look.parts.map((part) => observePart(part, memory, look.atMs));
  const moves = new Map(look.topics.map((topic) => [topic.topic, moveOf(topic, memory, look.atMs)]));
  const streams = streamNames(observed, look).map(({ topic, table }) => {
    const broker = look.topics.find((t) => t.topic === topic);
    return {
      ...{ topic, table },
      producers: producersOf(topic, observed, meter),
      ...intakeOf(broker, moves.get(topic), look, meter),
      ...outflowOf(topic, table, observed, meter),
      ...backlogOf(partitionsOf(topic, table, observed, broker, look)),
    };
  });
  const answers = new Map(observed.flatMap(({ part, answer }) => (answer ? [[part.name, answer]] : [])));
  const parts = observed.map(({ part, member }) => ({ ...member, kind: part.kind, address: part.address }));
  return {
    flow: { at: iso(look.atMs), streams, parts, problem: look.problem },
    memory: { samples: meter.samples, answers, moves },
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

function observePart(part: Part, memory: FlowMemory, atMs: number): Observed {
  const answer = part.state === null ? memory.answers.get(part.name) : { atMs, state: part.state };
  const speaks = answer !== undefined || part.kind === "ingest" || part.kind === "produce";
  const status = !part.alive ? "gone" : part.state === null && speaks ? "silent" : "answering";
  const member: Member = {
    name: part.name,
    pid: part.pid,
    startedAt: part.startedAt,
    status,
    lastAnswer: answer === undefined ? null : iso(answer.atMs),
  };
  return { part, member, answer };
}

const endOf = (topic: Topic) => topic.partitions.reduce((sum, p) => sum + BigInt(p.end), 0n);

function moveOf(topic: Topic, memory: FlowMemory, atMs: number) {
  const end = endOf(topic);
  const before = memory.moves.get(topic.topic);
  return before?.end === end ? before : { atMs, end };
}

/** Every (topic, table) pair somebody ingests, and every other topic with no table; by topic. */
function streamNames(observed: Observed[], look: Look): { topic: string; table: string | null }[] {
  const names = new Map<string, { topic: string; table: string | null }>();
  for (const { answer } of observed)
    if (answer?.state.part === "ingest")
      for (const { topic, table } of answer.state.streams) names.set(`${topic}\n${table}`, { topic, table });
  const ingested = new Set([...names.values()].map((name) => name.topic));
  const produced = observed.flatMap(({ answer }) =>
    answer?.state.part === "produce" ? [answer.state.topic] : [],
  );
  for (const topic of [...look.topics.map((t) => t.topic), ...produced])
    if (!ingested.has(topic)) names.set(topic, { topic, table: null });
  return [...names.values()].sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0));
}

function producersOf(topic: string, observed: Observed[], meter: RateMeter): FlowProducer[] {
  return observed.flatMap(({ member, answer }) => {
    if (answer?.state.part !== "produce" || answer.state.topic !== topic) return [];
    const { source, acked, lastError, done } = answer.state;
    const isAnswering = member.status === "answering";
    const perSecond = isAnswering ? meter.rate(`produce ${processOf(member)}`, BigInt(acked.total)) : null;
    return [{ ...member, source, acked: acked.total, perSecond, lastError, done }];
  });
}

function intakeOf(
  topic: Topic | undefined,
  move: { atMs: number; end: bigint } | undefined,
  look: Look,
  meter: RateMeter,
): Pick<FlowStream, "records" | "producedPerSecond" | "quietSince"> {
  if (topic === undefined || move === undefined)
    return { records: null, producedPerSecond: null, quietSince: null };
  const start = topic.partitions.reduce((sum, p) => sum + BigInt(p.start), 0n);
  const isKnown = look.problem === null;
  return {
    records: String(move.end - start),
    producedPerSecond: isKnown ? meter.rate(`topic ${topic.topic}`, move.end) : null,
    quietSince: isKnown && move.atMs < look.atMs ? iso(move.atMs) : null,
  };
}

type Assigned = { member: Member; stream: StreamState };

const assigned = (topic: string, table: string | null, observed: Observed[]): Assigned[] =>
  observed.flatMap(({ member, answer }) =>
    answer?.state.part === "ingest"
      ? answer.state.streams
          .filter((stream) => stream.topic === topic && stream.table === table)
          .map((stream) => ({ member, stream }))
      : [],
  );

function outflowOf(
  topic: string,
  table: string | null,
  observed: Observed[],
  meter: RateMeter,
): Pick<FlowStream, "ingesters" | "ingestedPerSecond"> {
  let perSecond: number | null = null;
  const ingesters = assigned(topic, table, observed).map(({ member, stream }) => {
    const { state, reason, version, buffer, lastCommit, lastError, totals } = stream;
    if (member.status === "answering") {
      const settled = BigInt(totals.rows) + BigInt(totals.letters) + BigInt(totals.skipped);
      const rate = meter.rate(`ingest ${processOf(member)} ${topic} ${table}`, settled);
      perSecond = rate === null ? perSecond : (perSecond ?? 0) + rate;
    }
    return { ...member, state, reason, version, buffer, lastCommit, lastError, totals };
  });
  return { ingesters, ingestedPerSecond: perSecond };
}

/** Every partition of the topic has a row, also one that is assigned to nobody. */
function partitionsOf(
  topic: string,
  table: string | null,
  observed: Observed[],
  broker: Topic | undefined,
  look: Look,
): FlowPartition[] {
  const rows = new Map<number, FlowPartition>();
  const unowned = { settled: null, lag: null, lagSeconds: null, buffered: null, owner: null };
  for (const { partition, start, end } of broker?.partitions ?? [])
    rows.set(partition, { partition, start, end, ...unowned });
  const owners = assigned(topic, table, observed);
  // One that answers wins over one that does not: after a rebalance both still name the partition.
  owners.sort((a, b) => Number(a.member.status === "answering") - Number(b.member.status === "answering"));
  for (const { member, stream } of owners)
    for (const p of stream.partitions) {
      const known = rows.get(p.partition);
      const isAnswering = member.status === "answering";
      rows.set(p.partition, {
        partition: p.partition,
        start: known?.start ?? null,
        end: known?.end ?? p.end,
        settled: p.settled,
        lag: isAnswering ? p.lag : lagBehind(p, look.problem === null ? known?.end : undefined),
        lagSeconds: isAnswering ? p.lagSeconds : null,
        buffered: p.buffered,
        owner: member.name,
      });
    }
  return [...rows.values()].sort((a, b) => a.partition - b.partition);
}

/** Lag of a partition whose ingester says nothing any more: what the broker holds past its last position. */
function lagBehind(last: PartitionState, end: string | null | undefined): string | null {
  if (end == null) return null;
  const lag = BigInt(end) - BigInt(last.position);
  return String(lag > 0n ? lag : 0n);
}

/** Sums are known only where every term is. */
function backlogOf(partitions: FlowPartition[]): Pick<FlowStream, "partitions" | "lag" | "lagSeconds"> {
  const lags = partitions.map((p) => p.lag);
  const isKnown = lags.length > 0 && lags.every((lag) => lag !== null);
  const seconds = partitions.flatMap((p) => (p.lagSeconds === null ? [] : [p.lagSeconds]));
  return {
    partitions,
    lag: isKnown ? String(lags.reduce((sum, lag) => sum + BigInt(lag), 0n)) : null,
    lagSeconds: isKnown && seconds.length > 0 ? Math.max(...seconds) : null,
  };
}
