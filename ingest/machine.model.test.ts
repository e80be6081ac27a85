/**
 * Random interleavings of everything that can happen to a stream, against a model of log and topic: whatever comes in whatever
 * order, each offset is committed exactly once and in order.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Effect, type Event, step } from "./machine.ts";
import { initialState, type State } from "./state.ts";

const TOPIC_END = 60n;
const limits = {
  flushLatencyMs: 5,
  flushRows: 7,
  flushBytes: 90,
  chunkBytes: 30,
  budgetBytes: 150,
  ends: null,
};

/** The world around the machine: a log of committed ranges, a client with its own idea of the position, work under way. */
class World {
  state: State = initialState(limits);
  /** The log: the next offset to settle; and what was ever committed. */
  settled = 0n;
  committed: bigint[] = [];
  generation = 0;
  /** Where the client fetches from next; null when not started. */
  clientAt: bigint | null = null;
  isFlowing = false;
  nowMs = 0;
  buffers = new Map<number, bigint[]>();
  encoding: number[] = [];
  commits: { commit: number; offsets: bigint[]; readAt: bigint; next: bigint; isDropped: boolean }[] = [];
  reads: { generation: number; at: bigint }[] = [];
  snapshotAt = 0n;
  isFinished = false;
  late: Extract<Event, { type: "fetched" }>[] = [];
  current: bigint[] = [];

  feed(event: Event, offsets: bigint[] = []): void {
    this.current = offsets;
    const next = step(this.state, event);
    this.state = next.state;
    for (const effect of next.effects) this.perform(effect);
  }

  perform(effect: Effect): void {
    if (effect.type === "readPositions") this.reads.push({ generation: effect.generation, at: this.settled });
    if (effect.type === "start") {
      this.clientAt = effect.next.get(0) ?? null;
      this.isFlowing = true;
    }
    if (effect.type === "seek") this.clientAt = effect.nextOffset;
    if (effect.type === "append")
      this.buffers.set(effect.chunk, [...(this.buffers.get(effect.chunk) ?? []), ...this.current]);
    if (effect.type === "encode") this.encoding.push(effect.chunk);
    if (effect.type === "commit") {
      const offsets = effect.chunks.flatMap((id) => this.buffers.get(id) ?? []);
      this.commits.push({
        commit: effect.commit,
        offsets,
        readAt: this.snapshotAt,
        next: effect.settled.get(0) ?? -1n,
        isDropped: false,
      });
    }
    if (effect.type === "drop") {
      this.buffers.clear();
      this.encoding = [];
      for (const commit of this.commits) commit.isDropped = true;
    }
    if (effect.type === "pause") this.isFlowing = false;
    if (effect.type === "resume") this.isFlowing = true;
    if (effect.type === "finish") this.isFinished = true;
  }

  fetch(count: number): void {
    if (this.clientAt === null || !this.isFlowing || this.clientAt >= TOPIC_END) return;
    const from = this.clientAt;
    const to = from + BigInt(count) > TOPIC_END ? TOPIC_END : from + BigInt(count);
    this.clientAt = to;
    const offsets: bigint[] = [];
    for (let offset = from; offset < to; offset++) offsets.push(offset);
    const event = {
      type: "fetched" as const,
      generation: this.generation,
      partition: 0,
      fetchedOffset: from,
      nextOffset: to,
      rows: offsets.length,
      bytes: offsets.length * 10,
      heldBytes: offsets.length * 10,
      nowMs: this.nowMs,
    };
    this.late.push(event);
    this.feed(event, offsets);
  }

  /** A batch that was fetched earlier arrives again, late. */
  replayLate(pick: number): void {
    const event = this.late[pick % Math.max(1, this.late.length)];
    if (!event) return;
    const offsets: bigint[] = [];
    for (let offset = event.fetchedOffset; offset < event.nextOffset; offset++) offsets.push(offset);
    this.feed(event, offsets);
  }

  answerRead(): void {
    const read = this.reads.shift();
    if (!read) return;
    this.snapshotAt = read.at;
    this.feed({ type: "positions", generation: read.generation, next: new Map([[0, read.at]]) });
  }

  /** The commit's put reaches the log, or loses because the position moved since the snapshot it builds on. */
  endCommit(isReplyLost: boolean): void {
    const commit = this.commits.shift();
    if (!commit) return;
    if (commit.readAt === this.settled && !(commit.isDropped && isReplyLost)) {
      this.committed.push(...commit.offsets);
      this.settled = commit.next;
      this.snapshotAt = commit.next;
      // A cancelled commit may have landed all the same: then the machine is told it did not.
      this.feed({ type: commit.isDropped ? "rejected" : "committed", commit: commit.commit });
    } else {
      this.feed({ type: "rejected", commit: commit.commit });
    }
  }

  endEncode(): void {
    const chunk = this.encoding.shift();
    if (chunk !== undefined) this.feed({ type: "encoded", chunk });
  }

  /** Another worker, in possession for a while, moves the position. */
  foreignCommit(count: number): void {
    for (let n = 0; n < count && this.settled < TOPIC_END; n++) this.committed.push(this.settled++);
  }

  assign(): void {
    this.generation++;
    this.clientAt = null;
    this.isFlowing = false;
    this.feed({ type: "assigned", generation: this.generation, partitions: [0] });
  }
}

type Command = { kind: string; n: number };
const command = fc.record({
  kind: fc.constantFrom(
    "fetch",
    "fetch",
    "fetch",
    "late",
    "reset",
    "read",
    "read",
    "encode",
    "encode",
    "commit",
    "commit",
    "lost",
    "foreign",
    "assign",
    "revoke",
    "tick",
    "tick",
  ),
  n: fc.integer({ min: 1, max: 6 }),
});

function play(world: World, { kind, n }: Command): void {
  if (kind === "fetch") world.fetch(n);
  if (kind === "late") world.replayLate(n);
  if (kind === "reset" && world.clientAt !== null) world.clientAt = BigInt(n - 1);
  if (kind === "read") world.answerRead();
  if (kind === "encode") world.endEncode();
  if (kind === "commit") world.endCommit(false);
  if (kind === "lost") world.endCommit(true);
  if (kind === "foreign") world.foreignCommit(n);
  if (kind === "assign") world.assign();
  if (kind === "revoke") world.feed({ type: "revoked", generation: world.generation });
  if (kind === "tick") {
    world.nowMs += n;
    world.feed({ type: "tick", nowMs: world.nowMs });
  }
}

const isExactlyOnce = (world: World) =>
  assert.deepEqual(
    world.committed,
    world.committed.map((_, index) => BigInt(index)),
  );

test("whatever comes in whatever order, each offset is committed exactly once and in order", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200 }), (commands) => {
      const world = new World();
      world.assign();
      for (const item of commands) {
        play(world, item);
        isExactlyOnce(world);
      }
    }),
    { numRuns: 500 },
  );
});

test("from any state, a calm world brings everything in, and stop ends the stream", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
      const world = new World();
      world.assign();
      for (const item of commands) play(world, item);
      world.assign();
      for (let n = 0; n < 1000 && world.settled < TOPIC_END; n++) {
        for (const kind of ["read", "fetch", "encode", "commit", "tick"]) play(world, { kind, n: 6 });
      }
      isExactlyOnce(world);
      assert.equal(world.settled, TOPIC_END);
      world.feed({ type: "stop" });
      for (let n = 0; n < 20 && !world.isFinished; n++)
        for (const kind of ["encode", "commit"]) play(world, { kind, n: 1 });
      assert.ok(world.isFinished);
    }),
    { numRuns: 300 },
  );
});
