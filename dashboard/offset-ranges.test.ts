import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { common, doubledIn, minus, type OffsetRange, rangesOf, sizeOf, within } from "./offset-ranges.ts";

const someRanges = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 12 }))
    .map(([first, more]): OffsetRange => ({ first: BigInt(first), last: BigInt(first + more) })),
  { maxLength: 12 },
);

/** Each offset as often as ranges hold it. */
function each(ranges: Iterable<OffsetRange>): bigint[] {
  const offsets: bigint[] = [];
  for (const { first, last } of ranges) for (let at = first; at <= last; at++) offsets.push(at);
  return offsets.sort((a, b) => Number(a - b));
}
const distinct = (ranges: Iterable<OffsetRange>) => [...new Set(each(ranges))];

test("ranges hold the offsets that were put in, each once, and neighbours are one range", () => {
  fc.assert(
    fc.property(someRanges, (some) => {
      const ranges = rangesOf(some);
      assert.deepEqual(each(ranges), distinct(some));
      assert.equal(sizeOf(ranges), BigInt(distinct(some).length));
      for (let n = 1; n < ranges.length; n++) assert.ok(ranges[n]!.first > ranges[n - 1]!.last + 1n);
    }),
  );
});

test("what is held too often is counted, however the ranges overlap", () => {
  fc.assert(
    fc.property(someRanges, (some) => {
      const { offsets, extra } = doubledIn(some);
      assert.equal(extra, BigInt(each(some).length - distinct(some).length));
      const all = each(some);
      assert.deepEqual(each(offsets), [...new Set(all.filter((at, n) => all[n - 1] === at))]);
    }),
  );
});

test("difference, common part and span are those of the sets", () => {
  fc.assert(
    fc.property(someRanges, someRanges, fc.nat(80), fc.nat(80), (one, two, from, to) => {
      const [a, b] = [rangesOf(one), rangesOf(two)];
      const inB = new Set(each(b));
      assert.deepEqual(
        each(minus(a, b)),
        each(a).filter((at) => !inB.has(at)),
      );
      assert.deepEqual(
        each(common(a, b)),
        each(a).filter((at) => inB.has(at)),
      );
      const span = within(a, BigInt(from), BigInt(to));
      assert.deepEqual(
        each(span),
        each(a).filter((at) => at >= BigInt(from) && at < BigInt(to)),
      );
    }),
  );
});
