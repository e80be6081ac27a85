/**
 * Random interleavings of everything that can happen to a stream, against a model of log and topic: whatever comes in whatever
 * order, each offset is committed exactly once and in order.
 *
 * The model of a commit is that of delta/commit.ts: look at the log, put the next version, hear what came of it. A put that is cut off may
 * be done later all the same, as a store may finish what it was sent; then it takes its version only if that is still free.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Effect, type Event, step } from "./machine.ts";
import { initialState, type Limits, type State } from "./state.ts";

const TOPIC_END = 40n;
const PARTITIONS = [0, 1] as const;
const limits: Limits = {
  flushLatencyMs: 5,
  flushRows: 7,
  flushBytes: 90,
  chunkBytes: 30,
  budgetBytes: 150,
  auditPairs: 4,
  ends: null,
};
const once: Limits = { ...limits, ends: new Map(PARTITIONS.map((partition) => [partition, TOPIC_END])) };

type Positions = Map<number, bigint>;
type Record = { partition: number; offset: bigint };
/** A batch has no more records than this. */
const MOST_FETCHED = 6;
/** As if every third record of a partition were of another origin or window. */
const pairsOf = (records: readonly Record[]) => [
  ...new Set(records.map(({ partition, offset }) => `${partition}/${offset / 3n}`)),
];

/** `version` is the one that it was put as: null before the put, and again after a put that did not take it. */
type Commit = {
  id: number;
  records: Record[];
  next: ReadonlyMap<number, bigint>;
  version: number | null;
  isLanded: boolean;
  isDropped: boolean;
};

/** The world around the machine: a log of committed ranges, a client with its own idea of the positions, work under way. */
class World {
  state: State;
  /** The log: its version, the next offset to settle of each partition, and what was ever committed. */
  version = 0;
  settled: Positions = new Map(PARTITIONS.map((partition) => [partition, 0n]));
  committed: Record[] = [];
  /** What this worker last read or wrote of the log. */
  owned: Positions = new Map();
  generation = 0;
  /** Where the client fetches from next; empty when not started. */
  clientAt: Positions = new Map();
  isFlowing = false;
  nowMs = 0;
  buffers = new Map<number, Record[]>();
  encoding: number[] = [];
  commits: Commit[] = [];
  /** Puts that nobody waits for any more, and the store may yet perform. */
  floating: Commit[] = [];
  reads: { generation: number; at: Positions }[] = [];
  isFinished = false;
  late: Extract<Event, { type: "fetched" }>[] = [];
  seen = new Set<string>();
  current: Record[] = [];

  constructor(with_: Limits = limits) {
    this.state = initialState(with_);
  }

  feed(event: Event, records: Record[] = []): void {
    this.current = records;
    this.seen.add(`${this.state.phase} ${event.type}`);
    const next = step(this.state, event);
    this.state = next.state;
    for (const effect of next.effects) this.perform(effect);
  }

  perform(effect: Effect): void {
    assert.ok(!this.isFinished, `${effect.type} after the end`);
    if (effect.type === "readPositions")
      this.reads.push({ generation: effect.generation, at: new Map(this.settled) });
    if (effect.type === "start") {
      this.clientAt = new Map(effect.next);
      this.isFlowing = true;
    }
    if (effect.type === "seek") this.clientAt.set(effect.partition, effect.nextOffset);
    if (effect.type === "append")
      this.buffers.set(effect.chunk, [...(this.buffers.get(effect.chunk) ?? []), ...this.current]);
    if (effect.type === "encode") this.encoding.push(effect.chunk);
    if (effect.type === "commit") {
      assert.equal(this.commits.length, 0, "one commit at a time");
      const pairs = pairsOf(effect.chunks.flatMap((id) => this.buffers.get(id) ?? []));
      const most = limits.auditPairs + (effect.chunks.length > 1 ? 0 : MOST_FETCHED - 1);
      assert.ok(pairs.length <= most, `${pairs.length} audited pairs in a commit`);
      this.commits.push({
        id: effect.commit,
        records: effect.chunks.flatMap((id) => this.buffers.get(id) ?? []),
        next: effect.settled,
        ...{ version: null, isLanded: false, isDropped: false },
      });
    }
    if (effect.type === "drop") {
      this.buffers.clear();
      this.encoding = [];
      this.reads = [];
      for (const commit of this.commits) commit.isDropped = true;
    }
    if (effect.type === "pause") this.isFlowing = false;
    if (effect.type === "resume") this.isFlowing = true;
    if (effect.type === "finish") this.isFinished = true;
  }

  fetch(partition: number, count: number): void {
    const from = this.clientAt.get(partition);
    if (from === undefined || !this.isFlowing || from >= TOPIC_END) return;
    const to = from + BigInt(count) > TOPIC_END ? TOPIC_END : from + BigInt(count);
    this.clientAt.set(partition, to);
    const event = {
      type: "fetched" as const,
      generation: this.generation,
      partition,
      fetchedOffset: from,
      nextOffset: to,
      rows: Number(to - from),
      bytes: Number(to - from) * 10,
      heldBytes: Number(to - from) * 10,
      openAuditPairs: this.openAuditPairs(),
      nowMs: this.nowMs,
    };
    this.late.push(event);
    this.feed(event, recordsOf(event));
  }

  /** A batch that was fetched earlier arrives again, late. */
  replayLate(pick: number): void {
    const event = this.late[pick % Math.max(1, this.late.length)];
    if (event) this.feed({ ...event, openAuditPairs: this.openAuditPairs() }, recordsOf(event));
  }

  openAuditPairs(): number {
    const last = this.state.chunks.at(-1);
    return last?.stage === "open" ? pairsOf(this.buffers.get(last.id) ?? []).length : 0;
  }

  answerRead(): void {
    const read = this.reads.shift();
    if (!read) return;
    if (read.generation === this.state.generation) this.owned = new Map(read.at);
    this.feed({ type: "positions", generation: read.generation, next: read.at });
  }

  /** Looks at the log, and puts the next version if no position of ours was moved by others. */
  put(): void {
    const commit = this.commits[0];
    if (!commit || commit.version !== null || commit.isDropped) return;
    const isMoved = PARTITIONS.some((partition) => this.settled.get(partition) !== this.owned.get(partition));
    if (isMoved) this.end(commit, "rejected");
    else commit.version = this.version + 1;
  }

  /** The store performs a put, in time or long after everybody went on. */
  land(commit: Commit | undefined): void {
    if (!commit || commit.version === null || commit.isLanded || commit.version !== this.version + 1) return;
    commit.isLanded = true;
    this.version++;
    this.committed.push(...commit.records);
    for (const [partition, next] of commit.next) this.settled.set(partition, next);
  }

  /** The reply: clear, or settled by reading the version. */
  reply(): void {
    const commit = this.commits[0];
    if (!commit || commit.version === null || commit.isDropped) return;
    if (!commit.isLanded) {
      // Lost to another writer, or nothing is there: another attempt. The put that is out may not come to be beside it.
      if (this.version >= commit.version) commit.version = null;
      return;
    }
    for (const [partition, next] of commit.next) this.owned.set(partition, next);
    this.end(commit, "committed");
  }

  /** A commit whose buffers were dropped is cut off, and reported as not come about, whatever becomes of its put. */
  cutOff(): void {
    const commit = this.commits[0];
    if (!commit?.isDropped) return;
    if (commit.version !== null && !commit.isLanded) this.floating.push(commit);
    this.end(commit, "rejected");
  }

  end(commit: Commit, type: "committed" | "rejected"): void {
    this.commits.shift();
    this.feed({ type, commit: commit.id });
  }

  endEncode(): void {
    const chunk = this.encoding.shift();
    if (chunk === undefined) return;
    const auditPairs = pairsOf(this.buffers.get(chunk) ?? []);
    this.feed({ type: "encoded", chunk, auditPairs, hasStamps: auditPairs.length > 0 });
  }

  /** Another worker, in possession for a while, moves a position. */
  foreignCommit(partition: number, count: number): void {
    let next = this.settled.get(partition) as bigint;
    if (next >= TOPIC_END) return;
    this.version++;
    for (let n = 0; n < count && next < TOPIC_END; n++) this.committed.push({ partition, offset: next++ });
    this.settled.set(partition, next);
  }

  /** A commit that has nothing to do with us takes a version. */
  otherCommit(): void {
    this.version++;
  }

  assign(): void {
    this.generation++;
    this.clientAt.clear();
    this.isFlowing = false;
    this.feed({ type: "assigned", generation: this.generation, partitions: PARTITIONS });
  }
}

const recordsOf = (event: Extract<Event, { type: "fetched" }>): Record[] =>
  Array.from({ length: event.rows }, (_, n) => ({
    partition: event.partition,
    offset: event.fetchedOffset + BigInt(n),
  }));

const KINDS = {
  fetch: 10,
  read: 8,
  encode: 8,
  put: 8,
  land: 8,
  reply: 8,
  tick: 6,
  cut: 4,
  late: 1,
  reset: 1,
  float: 2,
  foreign: 1,
  other: 1,
  assign: 1,
  revoke: 1,
  clock: 1,
} as const;
type Kind = keyof typeof KINDS | "stop";
type Command = { kind: Kind; n: number };
const kinds = (Object.keys(KINDS) as (keyof typeof KINDS)[]).flatMap((kind) =>
  Array<Kind>(KINDS[kind]).fill(kind),
);
const n = fc.integer({ min: 1, max: 6 });
const command: fc.Arbitrary<Command> = fc.record({ kind: fc.constantFrom(...kinds), n });
const commandOrStop: fc.Arbitrary<Command> = fc.record({
  kind: fc.constantFrom(...kinds, "stop" as const),
  n,
});

function play(world: World, { kind, n }: Command): void {
  const partition = n % PARTITIONS.length;
  if (kind === "fetch") world.fetch(partition, n);
  if (kind === "late") world.replayLate(n);
  if (kind === "reset" && world.clientAt.size > 0) world.clientAt.set(partition, BigInt(n - 1));
  if (kind === "read") world.answerRead();
  if (kind === "encode") world.endEncode();
  if (kind === "put") world.put();
  if (kind === "land") world.land(world.commits[0]);
  if (kind === "reply") world.reply();
  if (kind === "cut") world.cutOff();
  if (kind === "float") world.land(world.floating[n % Math.max(1, world.floating.length)]);
  if (kind === "foreign") world.foreignCommit(partition, n);
  if (kind === "other") world.otherCommit();
  if (kind === "assign") world.assign();
  if (kind === "revoke") world.feed({ type: "revoked", generation: world.generation });
  if (kind === "stop") world.feed({ type: "stop" });
  if (kind === "clock") world.nowMs -= 100 * n;
  if (kind === "tick") {
    world.nowMs += n;
    world.feed({ type: "tick", nowMs: world.nowMs });
  }
}

/** Everything goes well for a while. */
function calm(world: World, isOver: () => boolean): void {
  const kinds = ["cut", "read", "fetch", "fetch", "encode", "put", "land", "reply", "tick"] as const;
  for (let round = 0; round < 1000 && !isOver(); round++)
    for (const [at, kind] of kinds.entries()) play(world, { kind, n: 5 + (at % 2) });
}

function isExactlyOnce(world: World): void {
  for (const partition of PARTITIONS) {
    const offsets = world.committed
      .filter((record) => record.partition === partition)
      .map(({ offset }) => offset);
    assert.deepEqual(
      offsets,
      offsets.map((_, index) => BigInt(index)),
    );
  }
}

const isAllIn = (world: World) => [...world.settled.values()].every((next) => next === TOPIC_END);

test("whatever comes in whatever order, each offset is committed exactly once and in order", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.array(commandOrStop, { maxLength: 200, size: "max" }), (commands) => {
      const world = new World();
      world.assign();
      for (const item of commands) {
        play(world, item);
        isExactlyOnce(world);
      }
      for (const cell of world.seen) seen.add(cell);
    }),
    { numRuns: 600 },
  );
  const events = [
    "assigned",
    "revoked",
    "positions",
    "fetched",
    "encoded",
    "committed",
    "rejected",
    "tick",
    "stop",
  ];
  for (const event of events)
    assert.ok(
      [...seen].some((cell) => cell.endsWith(` ${event}`)),
      `${event} was driven`,
    );
});

test("a put that lands after its commit was given up is counted once, whoever goes on", () => {
  const world = new World();
  world.assign();
  for (const kind of ["read", "fetch"] as const) play(world, { kind, n: 2 });
  world.nowMs += 10;
  for (const kind of ["tick", "encode", "put", "revoke", "cut", "assign", "read"] as const)
    play(world, { kind, n: 2 });
  play(world, { kind: "fetch", n: 4 });
  play(world, { kind: "float", n: 6 });
  calm(world, () => isAllIn(world));
  isExactlyOnce(world);
  assert.ok(isAllIn(world));
});

test("from any state, a calm world brings everything in, and stop ends the stream", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80, size: "max" }), (commands) => {
      const world = new World();
      world.assign();
      for (const item of commands) play(world, item);
      world.assign();
      calm(world, () => isAllIn(world));
      isExactlyOnce(world);
      assert.ok(isAllIn(world));
      world.feed({ type: "stop" });
      for (let n = 0; n < 20 && !world.isFinished; n++)
        for (const kind of ["encode", "put", "land", "reply", "cut"] as const) play(world, { kind, n: 1 });
      assert.ok(world.isFinished);
    }),
    { numRuns: 300 },
  );
});

test("once: from any state, a calm world ends it by itself, and not before its end is committed", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80, size: "max" }), (commands) => {
      const world = new World(once);
      world.assign();
      for (const item of commands) play(world, item);
      if (!world.isFinished) world.assign();
      calm(world, () => world.isFinished);
      assert.ok(world.isFinished);
      isExactlyOnce(world);
      assert.ok(isAllIn(world));
    }),
    { numRuns: 300 },
  );
});
