import assert from "node:assert/strict";
import { test } from "node:test";
import type { Chosen } from "./choice.ts";
import { place, type Settled, settledOffset } from "./placement.ts";

let places = 0;
const letter = (offset: bigint, more: Partial<Chosen> = {}): Chosen => ({
  place: places++,
  topic: "t",
  partition: 0,
  offset,
  timestampMs: 100,
  state: "open",
  isWanted: true,
  isInTable: false,
  generations: [],
  ...more,
});
const commit = (first: bigint, last: bigint, generation: number, timestampMs: number): Settled => ({
  topic: "t",
  partition: 0,
  first,
  last,
  minTimestampMs: timestampMs,
  maxTimestampMs: timestampMs + 50,
  generation,
});
const known = (settled: bigint | undefined, generation = 0, commits: readonly Settled[] = []) => ({
  settled: () => settled,
  generation: () => generation,
  commits,
});
const of = (letters: Chosen[], about: ReturnType<typeof known>) => {
  const placements = place(letters, about);
  return letters.map((one) => placements.get(one.place));
};

test("a record that is in the table is not written again, settled or not", () => {
  assert.deepEqual(of([letter(5n, { isInTable: true })], known(undefined)), [{ kind: "present" }]);
});

test("what the ingester has not settled is its own affair; the last settled offset is settled", () => {
  assert.deepEqual(of([letter(5n), letter(6n)], known(5n)), [
    { kind: "write", generation: 0 },
    { kind: "pending" },
  ]);
  assert.deepEqual(of([letter(0n)], known(undefined)), [{ kind: "pending" }]);
});

test("a topic made anew: each record has the generation of the commit that settled it, by offset and time", () => {
  const commits = [commit(0n, 3n, 1, 1_000), commit(0n, 9n, 0, 100)];
  assert.deepEqual(of([letter(2n), letter(2n, { timestampMs: 1_010 }), letter(8n)], known(3n, 1, commits)), [
    { kind: "write", generation: 0 },
    { kind: "write", generation: 1 },
    { kind: "write", generation: 0 },
  ]);
});

test("where the log is silent: the newest generation that no row at the offset has, and never the same one twice", () => {
  assert.deepEqual(of([letter(2n)], known(9n, 2)), [{ kind: "write", generation: 2 }]);
  assert.deepEqual(of([letter(2n, { generations: [2] })], known(9n, 2)), [{ kind: "write", generation: 1 }]);
  assert.deepEqual(of([letter(2n), letter(2n, { timestampMs: 500 })], known(9n, 1)), [
    { kind: "write", generation: 0 },
    { kind: "write", generation: 1 },
  ]);
});

test("a letter of the old topic beyond the end of the new one is known by its commit; without it, it waits", () => {
  assert.deepEqual(of([letter(8n)], known(3n, 1, [commit(0n, 9n, 0, 100)])), [
    { kind: "write", generation: 0 },
  ]);
  assert.deepEqual(of([letter(8n)], known(3n, 1)), [{ kind: "pending" }]);
});

test("positions in both forms of txn ids", () => {
  const snapshot = (id: string) => ({ txn: (asked: string) => (asked === id ? 7n : undefined) });
  const where = { app: "lab", topic: "t", partition: 3 };
  assert.equal(settledOffset(snapshot("lab/t-3"), where), 7n);
  assert.equal(settledOffset(snapshot("lab-3"), where), 7n);
  assert.equal(settledOffset(snapshot("other/t-3"), where), undefined);
});
