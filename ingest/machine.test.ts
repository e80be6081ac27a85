import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Effect, type Event, step, TRANSITIONS } from "./machine.ts";
import { initialState, type Limits, type State } from "./state.ts";

const limits: Limits = {
  flushLatencyMs: 1000,
  flushRows: 100,
  flushBytes: 10_000,
  chunkBytes: 1000,
  budgetBytes: 20_000,
  auditPairs: 1000,
  ends: null,
};

/** Feeds events in order; returns the last state and the effects of the last event. */
function run(
  events: readonly Event[],
  start: State = initialState(limits),
): { state: State; effects: Effect[] } {
  let state = start;
  let effects: Effect[] = [];
  for (const event of events) ({ state, effects } = step(state, event));
  return { state, effects };
}

const assigned: Event = { type: "assigned", generation: 1, partitions: [0] };
const positions = (next: bigint, generation = 1): Event => ({
  type: "positions",
  generation,
  next: new Map([[0, next]]),
});
const fetched = (
  from: bigint,
  to: bigint,
  more: Partial<Extract<Event, { type: "fetched" }>> = {},
): Event => ({
  type: "fetched",
  generation: 1,
  partition: 0,
  fetchedOffset: from,
  nextOffset: to,
  rows: Number(to - from),
  bytes: Number(to - from) * 10,
  heldBytes: more.bytes ?? Number(to - from) * 10,
  nowMs: 0,
  ...more,
});
const types = (effects: readonly Effect[]) => effects.map((effect) => effect.type);

test("an assignment reads the log before anything flows", () => {
  const first = run([assigned]);
  assert.deepEqual(first.effects, [{ type: "readPositions", generation: 1, partitions: [0] }]);
  const second = step(first.state, positions(5n));
  assert.deepEqual(second.effects, [{ type: "start", generation: 1, next: new Map([[0, 5n]]) }]);
});

test("a batch fetched from another offset than the one due is dropped and the partition sought", () => {
  const { state, effects } = run([assigned, positions(5n), fetched(0n, 9n)]);
  assert.deepEqual(effects, [{ type: "seek", partition: 0, nextOffset: 5n }]);
  assert.equal(state.chunks.length, 0);
});

test("a batch of an older generation leaves no trace", () => {
  const { state, effects } = run([assigned, positions(5n), fetched(5n, 9n, { generation: 0 })]);
  assert.deepEqual(effects, []);
  assert.equal(state.partitions.get(0)?.next, 5n);
});

test("a batch without records moves the position and buffers nothing", () => {
  const { state, effects } = run([assigned, positions(5n), fetched(5n, 9n, { rows: 0, bytes: 0 })]);
  assert.deepEqual(effects, []);
  assert.equal(state.partitions.get(0)?.next, 9n);
  assert.equal(state.chunks.length, 0);
});

test("a flush by time comes in silence too", () => {
  const before = run([assigned, positions(0n), fetched(0n, 3n), { type: "tick", nowMs: 999 }]);
  assert.deepEqual(before.effects, []);
  const due = step(before.state, { type: "tick", nowMs: 1000 });
  assert.deepEqual(types(due.effects), ["encode"]);
});

test("a clock that is set back postpones no flush by more than the latency", () => {
  const tick = (nowMs: number): Event => ({ type: "tick", nowMs });
  const { state } = run([assigned, positions(0n), fetched(0n, 3n, { nowMs: 5_000_000 }), tick(2_000)]);
  assert.deepEqual(step(state, tick(2_999)).effects, []);
  assert.deepEqual(types(step(state, tick(3_000)).effects), ["encode"]);
});

test("a slow encoder postpones no commit: a flush under way takes nothing in that came later", () => {
  const tick = (nowMs: number): Event => ({ type: "tick", nowMs });
  const { state } = run([
    assigned,
    positions(0n),
    fetched(0n, 3n),
    tick(1000),
    fetched(3n, 6n),
    tick(1100),
    fetched(6n, 9n),
    tick(1200),
  ]);
  assert.deepEqual(
    state.chunks.map(({ rows, stage }) => [rows, stage]),
    [
      [3, "encoding"],
      [6, "open"],
    ],
  );
  const encoded = step(state, { type: "encoded", chunk: 1 });
  assert.deepEqual(types(encoded.effects), ["commit"]);
  const slowStore = step(encoded.state, tick(9000));
  assert.deepEqual(slowStore.effects, []);
  const next = step(step(slowStore.state, { type: "committed", commit: 3 }).state, tick(9100));
  assert.deepEqual(types(next.effects), ["encode"]);
});

test("a flush by rows commits exactly what was buffered, with the next offset as settled", () => {
  const { state, effects } = run([assigned, positions(0n), fetched(0n, 100n, { bytes: 500 })]);
  assert.deepEqual(types(effects), ["append", "encode"]);
  const encoded = step(state, { type: "encoded", chunk: 1 });
  assert.deepEqual(encoded.effects, [
    { type: "commit", commit: 2, chunks: [1], settled: new Map([[0, 100n]]) },
  ]);
});

test("fetching goes on while a chunk is encoded and a commit is under way", () => {
  const busy = run([
    assigned,
    positions(0n),
    fetched(0n, 100n),
    { type: "encoded", chunk: 1 },
    fetched(100n, 150n),
  ]);
  assert.deepEqual(types(busy.effects), ["append"]);
  assert.equal(busy.state.partitions.get(0)?.next, 150n);
  const after = step(busy.state, { type: "committed", commit: 2 });
  assert.equal(after.state.partitions.get(0)?.settled, 100n);
  assert.equal(after.state.chunks.length, 1);
});

test("a revoked assignment drops what is buffered", () => {
  const { state, effects } = run([
    assigned,
    positions(0n),
    fetched(0n, 3n),
    { type: "revoked", generation: 1 },
  ]);
  assert.deepEqual(effects, [{ type: "drop" }]);
  assert.deepEqual(state.chunks, []);
  assert.equal(state.phase, "idle");
});

test("a new assignment without a revoke (an expelled member) drops what is buffered too", () => {
  const { state, effects } = run([
    assigned,
    positions(0n),
    fetched(0n, 3n),
    { type: "assigned", generation: 2, partitions: [0] },
  ]);
  assert.deepEqual(types(effects), ["drop", "readPositions"]);
  assert.deepEqual(state.chunks, []);
});

test("a new assignment cancels the reading of positions for the older one", () => {
  const again = run([assigned, { type: "assigned", generation: 2, partitions: [1] }]);
  assert.deepEqual(types(again.effects), ["drop", "readPositions"]);
  assert.deepEqual(step(again.state, positions(5n)).effects, []);
});

test("positions are not read before a commit of the older assignment has ended", () => {
  const committing = run([assigned, positions(0n), fetched(0n, 100n), { type: "encoded", chunk: 1 }]);
  const again = step(committing.state, { type: "assigned", generation: 2, partitions: [0] });
  assert.deepEqual(types(again.effects), ["drop"]);
  const ended = step(again.state, { type: "committed", commit: 2 });
  assert.deepEqual(ended.effects, [{ type: "readPositions", generation: 2, partitions: [0] }]);
});

test("a lost commit drops everything and asks the log where to go on", () => {
  const { state, effects } = run([
    assigned,
    positions(0n),
    fetched(0n, 100n),
    { type: "encoded", chunk: 1 },
    fetched(100n, 120n),
    { type: "rejected", commit: 2 },
  ]);
  assert.deepEqual(types(effects), ["pause", "drop", "readPositions"]);
  assert.deepEqual(state.chunks, []);
});

test("the source is paused at the byte budget and goes on when a chunk has room again", () => {
  const big = (from: bigint) => fetched(from, from + 1n, { bytes: 11_000 });
  const wide = initialState({ ...limits, chunkBytes: 15_000 });
  const first = run([assigned, positions(0n), big(0n), { type: "encoded", chunk: 1 }], wide);
  const full = step(first.state, big(1n));
  assert.ok(types(full.effects).includes("pause"));
  const free = step(full.state, { type: "committed", commit: 2 });
  assert.deepEqual(types(free.effects), ["encode"]);
  const encoded = step(free.state, { type: "encoded", chunk: 3 });
  assert.deepEqual(types(encoded.effects), ["commit"]);
  const empty = step(encoded.state, { type: "committed", commit: 4 });
  assert.deepEqual(types(empty.effects), ["resume"]);
});

test("stop settles what is buffered and then finishes", () => {
  const stopping = run([assigned, positions(0n), fetched(0n, 3n), { type: "stop" }]);
  assert.deepEqual(types(stopping.effects), ["encode"]);
  assert.deepEqual(step(stopping.state, fetched(3n, 9n)).effects, []);
  const committing = step(stopping.state, { type: "encoded", chunk: 1 });
  assert.deepEqual(types(committing.effects), ["commit"]);
  const done = step(committing.state, { type: "committed", commit: 2 });
  assert.deepEqual(types(done.effects), ["finish"]);
});

test("stop with nothing buffered finishes at once, in every phase", () => {
  for (const events of [[], [assigned], [assigned, positions(0n)]] as Event[][]) {
    assert.deepEqual(types(run([...events, { type: "stop" }]).effects), ["finish"]);
  }
});

const onceLimits = { ...limits, ends: new Map([[0, 10n]]) };

test("once: ends at the offsets seen at the start, also over gaps", () => {
  const { state, effects } = run([assigned, positions(0n), fetched(0n, 7n)], initialState(onceLimits));
  assert.deepEqual(types(effects), ["append"]);
  const last = step(state, fetched(7n, 12n, { rows: 0, bytes: 0 }));
  assert.equal(last.state.phase, "draining");
  assert.deepEqual(types(last.effects), ["encode"]);
});

test("once: ends at once where the table is at the end already, and on an empty topic", () => {
  for (const [next, end] of [
    [10n, 10n],
    [0n, 0n],
  ] as const) {
    const state = initialState({ ...limits, ends: new Map([[0, end]]) });
    assert.deepEqual(types(run([assigned, positions(next)], state).effects), ["start", "finish"]);
  }
});

test("once: partitions lost before the end was committed are read again, not given up", () => {
  const draining = run([assigned, positions(0n), fetched(0n, 10n)], initialState(onceLimits));
  assert.equal(draining.state.phase, "draining");
  const again = step(draining.state, { type: "assigned", generation: 2, partitions: [0] });
  assert.deepEqual(types(again.effects), ["drop", "readPositions"]);
});

const PHASES: Record<State["phase"], readonly Event[]> = {
  idle: [],
  assigning: [assigned],
  running: [assigned, positions(0n), fetched(0n, 100n), { type: "encoded", chunk: 1 }],
  draining: [assigned, positions(0n), fetched(0n, 3n), { type: "stop" }],
  stopped: [{ type: "stop" }],
};
const EVENTS: readonly Event[] = [
  assigned,
  { type: "revoked", generation: 1 },
  positions(0n),
  fetched(0n, 3n),
  { type: "encoded", chunk: 1 },
  { type: "committed", commit: 2 },
  { type: "rejected", commit: 2 },
  { type: "tick", nowMs: 0 },
  { type: "stop" },
];

test("in any phase any event has an answer, and after the end nothing has an effect", () => {
  for (const [phase, events] of Object.entries(PHASES)) {
    const { state } = run(events);
    assert.equal(state.phase, phase);
    for (const event of EVENTS) {
      const { effects } = step(state, event);
      if (phase === "stopped") assert.deepEqual(effects, [], event.type);
    }
  }
});

test("SPEC.md shows the transition table as it is, cell by cell", () => {
  const spec = readFileSync(new URL("./SPEC.md", import.meta.url), "utf8");
  const lines = spec.slice(spec.indexOf("| phase \\ event")).split("\n");
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [, ...events] = cells(lines[0] as string);
  const shown = new Map<string, string>();
  for (const line of lines.slice(2, lines.indexOf(""))) {
    const [phase, ...handlers] = cells(line);
    for (const [n, handler] of handlers.entries()) shown.set(`${phase} ${events[n]}`, handler);
  }
  const real = new Map<string, string>();
  for (const [phase, handlers] of Object.entries(TRANSITIONS))
    for (const [event, handler] of Object.entries(handlers))
      real.set(`${phase} ${event}`, handler.name === "stay" ? "-" : handler.name);
  assert.deepEqual(shown, real);
  assert.deepEqual(
    EVENTS.map(({ type }) => type),
    events,
  );
  for (const handler of new Set(real.values()))
    if (handler !== "-")
      assert.match(spec, new RegExp(`^- \\*\\*${handler}\\*\\*: `, "m"), `${handler} is explained`);
});

test("each test that SPEC.md names is there", () => {
  const spec = readFileSync(new URL("./SPEC.md", import.meta.url), "utf8");
  const root = new URL("..", import.meta.url);
  const fileAt = (name: string) =>
    readFileSync(new URL(name.includes("/") ? name : `ingest/${name}`, root), "utf8");
  for (const [sentence] of spec.matchAll(/_Enforced by_[^\n]*/g)) {
    let file = "machine.test.ts";
    for (const [, name, quoted] of sentence.matchAll(/`([\w./-]+\.ts)`|"([^"]+)"/g)) {
      if (name !== undefined) {
        file = name;
        assert.ok(fileAt(file).length > 0, `${file} is there`);
      } else if (quoted !== undefined && !quoted.endsWith(": ..."))
        assert.ok(fileAt(file).includes(quoted), `${file} has a test "${quoted}"`);
    }
  }
});

test("a commit is split where it would count more audited pairs than one may, and what is left follows", () => {
  const small = initialState({ ...limits, auditPairs: 3, chunkBytes: 100 });
  const encoded = (chunk: number, ...auditPairs: string[]): Event => ({
    ...({ type: "encoded", chunk, auditPairs, hasStamps: true } as const),
  });
  const events = [assigned, positions(0n), fetched(0n, 10n), fetched(10n, 20n), fetched(20n, 30n)];
  const waiting = run(
    [...events, encoded(1, "a", "b"), encoded(2, "b", "c"), { type: "tick", nowMs: 1000 }],
    small,
  );
  const first = step(waiting.state, encoded(3, "c", "d"));
  assert.deepEqual(first.effects, [
    { type: "commit", commit: 4, chunks: [1, 2], settled: new Map([[0, 20n]]) },
  ]);
  const second = step(first.state, { type: "committed", commit: 4 });
  assert.deepEqual(second.effects, [
    { type: "commit", commit: 5, chunks: [3], settled: new Map([[0, 30n]]) },
  ]);
});

test("windows of messages without a stamp count where a chunk of their commit has stamps, and only there", () => {
  const small = initialState({ ...limits, auditPairs: 3, chunkBytes: 100 });
  const encoded = (chunk: number, hasStamps: boolean, ...auditPairs: string[]): Event => ({
    ...({ type: "encoded", chunk, auditPairs, hasStamps } as const),
  });
  const events = [assigned, positions(0n), fetched(0n, 10n), fetched(10n, 20n), fetched(20n, 30n)];
  const bare = [encoded(1, false, "a", "b", "c"), encoded(2, false, "d", "e")];
  const waiting = run([...events, ...bare, { type: "tick", nowMs: 1000 }], small).state;
  const committed = (last: Event) => step(waiting, last).effects.map((one) => "chunks" in one && one.chunks);
  assert.deepEqual(committed(encoded(3, false, "f")), [[1, 2, 3]]);
  assert.deepEqual(committed(encoded(3, true, "f")), [[1, 2]]);
});

test("a chunk that counts as many audited pairs as a commit may grows no more, and is committed", () => {
  const few = initialState({ ...limits, auditPairs: 3 });
  const { effects } = run(
    [assigned, positions(0n), fetched(0n, 1n), fetched(1n, 2n, { openAuditPairs: 3 })],
    few,
  );
  assert.deepEqual(effects, [
    { type: "append", chunk: 2 },
    { type: "encode", chunk: 1 },
  ]);
});
