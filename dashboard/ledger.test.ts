import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type LedgerInput, settle } from "./ledger.ts";
import { type OffsetRange, rangesOf } from "./offset-ranges.ts";
import { openProducedBook } from "./produced.ts";

const range = (first: number, last = first): OffsetRange => ({ first: BigInt(first), last: BigInt(last) });
const row = (first: number, last = first, key = "0") => ({ key, ...range(first, last) });

/** Offsets 0 to `last` were produced, one each second from a full minute on, beginning at `from`. */
function produced(last: number, from = 0) {
  const book = openProducedBook();
  book.begins(0, BigInt(from));
  const records = Array.from({ length: last - from + 1 }, (_, n) => ({
    offset: BigInt(from + n),
    timestampMs: 1_700_000_040_000 + (from + n) * 1_000,
  }));
  book.took({ partition: 0, nextOffset: BigInt(last + 1), records });
  return book.partitions().get(0)!;
}

const input = (more: Partial<LedgerInput>): LedgerInput => ({
  ...{ topic: "orders", partition: 0, produced: produced(99), settled: 99n, rows: [row(0, 99)] },
  ...{ letters: [], replayed: [], skipped: [], restored: [], bothBefore: [] },
  ...more,
});

/** The terms that are not 0. */
function terms(more: Partial<LedgerInput>) {
  const { line } = settle(input(more));
  const {
    produced: all,
    distinct,
    letters,
    skipped,
    removedByRestore,
    waiting,
    lost,
    doubled,
    strange,
  } = line;
  assert.equal(all, distinct + letters + skipped + removedByRestore + waiting + lost, "the equation adds up");
  const named = { distinct, letters, skipped, removedByRestore, waiting, lost, doubled, strange };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, n]) => (n === 0n ? [] : [[name, Number(n)]])),
  );
}

test("a record is a row, a letter, skipped, or waits: then nothing is lost", () => {
  assert.deepEqual(terms({}), { distinct: 100 });
  const mixed = {
    rows: [row(0, 69)],
    letters: [row(70, 79)],
    settled: 89n,
    skipped: [{ ...range(80, 89), skipped: 10n }],
  };
  assert.deepEqual(terms(mixed), { distinct: 70, letters: 10, skipped: 10, waiting: 10 });
});

test("rows that are taken away are lost, with their offsets", () => {
  const { line } = settle(input({ rows: [row(0, 11), row(15, 99)] }));
  assert.deepEqual([line.lost, line.lostOffsets], [3n, [range(12, 14)]]);
});

test("what waits is not lost, however long the outage", () => {
  assert.deepEqual(terms({ rows: [], settled: null }), { waiting: 100 });
});

test("rows that are there twice are doubled, within a file or across files", () => {
  const { line } = settle(input({ rows: [row(0, 99), row(20, 24), row(24)] }));
  assert.deepEqual(
    [line.doubled, line.doubledOffsets, line.lost, line.rows],
    [6n, [range(20, 24)], 0n, 106n],
  );
});

test("several rows that a transform makes of one record are no doubles", () => {
  const rows = [row(0, 99, "0"), row(0, 99, "1")];
  assert.deepEqual(terms({ rows }), { distinct: 100 });
  assert.equal(settle(input({ rows })).line.rows, 200n);
  assert.deepEqual(terms({ rows: [...rows, row(5, 5, "1")] }), { distinct: 100, doubled: 1 });
});

test("a record that is row and letter is doubled once it stays so, unless a replay made it a row", () => {
  const letters = [row(7)];
  const first = settle(input({ letters }));
  assert.deepEqual([first.line.doubled, first.both], [0n, [range(7)]]);
  assert.deepEqual(terms({ letters, bothBefore: first.both }), { distinct: 100, doubled: 1 });
  assert.deepEqual(terms({ letters, bothBefore: first.both, replayed: [range(7)] }), { distinct: 100 });
});

test("a second attempt at a letter is no double, the same attempt twice is", () => {
  const rows = [row(1, 99)];
  assert.deepEqual(terms({ rows, letters: [row(0, 0, "1"), row(0, 0, "2")] }), { distinct: 99, letters: 1 });
  assert.deepEqual(terms({ rows, letters: [row(0, 0, "1"), row(0, 0, "1")] }), {
    distinct: 99,
    letters: 1,
    doubled: 1,
  });
});

test("what a restore took is a term of its own, and hides nothing that is taken besides", () => {
  const rows = [row(0, 49), row(60, 99)];
  assert.deepEqual(terms({ rows, restored: [range(50, 59)] }), { distinct: 90, removedByRestore: 10 });
  const robbed = [row(3, 49), row(60, 99)];
  assert.deepEqual(terms({ rows: robbed, restored: [range(50, 59)] }), {
    distinct: 87,
    removedByRestore: 10,
    lost: 3,
  });
});

test("a transform accounts for as many as its commits say, not for more", () => {
  const rows = [row(0, 89)];
  const skipped = [{ ...range(0, 99), skipped: 8n }];
  assert.deepEqual(terms({ rows, skipped }), { distinct: 90, skipped: 8, lost: 2 });
});

test("rows at offsets that the topic never had are told", () => {
  const hole = { ...produced(99), offsets: [range(0, 49), range(60, 99)] };
  assert.deepEqual(terms({ produced: hole, rows: [row(0, 52), row(60, 99)] }), { distinct: 90, strange: 3 });
});

test("what the topic no longer holds is in no term", () => {
  const { line } = settle(input({ produced: produced(99, 40), rows: [row(10, 99), row(12)] }));
  assert.deepEqual(
    [line.produced, line.distinct, line.rows, line.doubled, line.countedFrom],
    [60n, 60n, 60n, 0n, 40n],
  );
});

test("a reader of the topic that is behind the table says that it has not counted all", () => {
  assert.equal(settle(input({ produced: produced(49) })).line.isComplete, false);
  assert.equal(settle(input({})).line.isComplete, true);
});

test("each minute has an equation of its own", () => {
  const { minutes } = settle(input({ rows: [row(0, 9), row(12, 99), row(70, 71)] }));
  const numbers = minutes.map(({ produced, distinct, lost, doubled }) => [produced, distinct, lost, doubled]);
  assert.deepEqual(numbers, [
    [60n, 58n, 2n, 0n],
    [40n, 40n, 0n, 2n],
  ]);
});

test("whatever is taken or put in behind its back shows, in its full number", () => {
  const offsets = fc.uniqueArray(fc.nat(199), { maxLength: 30 });
  fc.assert(
    fc.property(offsets, offsets, offsets, (lettered, taken, copied) => {
      const letters = new Set(lettered);
      const good = Array.from({ length: 200 }, (_, n) => n).filter((n) => !letters.has(n));
      const gone = new Set(taken.filter((n) => !letters.has(n)));
      const copies = copied.filter((n) => !letters.has(n) && !gone.has(n));
      const rows = [
        ...rangesOf(good.filter((n) => !gone.has(n)).map((n) => range(n))).map((r) => ({ key: "0", ...r })),
        ...copies.map((n) => row(n)),
      ];
      const { line } = settle(
        input({ produced: produced(199), settled: 199n, rows, letters: lettered.map((n) => row(n)) }),
      );
      assert.deepEqual([line.lost, line.doubled], [BigInt(gone.size), BigInt(copies.length)]);
      assert.deepEqual(line.lostOffsets, rangesOf([...gone].map((n) => range(n))));
    }),
  );
});
