import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mayHold } from "./choice.ts";

const stats = (partition: [number, number], offset: [bigint | number, bigint | number]) =>
  `{"numRecords":1,"minValues":{"_kafka":{"partition":${partition[0]},"offset":${offset[0]}}},"maxValues":{"_kafka":{"partition":${partition[1]},"offset":${offset[1]}}}}`;

test("a file is read exactly if one of the chosen offsets of one of its partitions is within its bounds", () => {
  const spans = fc.tuple(fc.nat(20), fc.nat(20)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  fc.assert(
    fc.property(
      fc.tuple(fc.nat(2), fc.nat(2)),
      spans,
      fc.array(fc.tuple(fc.nat(3), fc.nat(20)), { maxLength: 8 }),
      ([one, other], [first, last], chosen) => {
        const partitions: [number, number] = [Math.min(one, other), Math.max(one, other)];
        const byPartition = new Map<number, bigint[]>();
        for (const [partition, offset] of [...chosen].sort(([, a], [, b]) => a - b))
          byPartition.set(partition, [...(byPartition.get(partition) ?? []), BigInt(offset)]);
        const expected = chosen.some(
          ([p, o]) => partitions[0] <= p && p <= partitions[1] && first <= o && o <= last,
        );
        assert.equal(mayHold(stats(partitions, [first, last]), byPartition), expected);
      },
    ),
  );
});

test("statistics that say nothing, or are none, rule nothing out", () => {
  const chosen = new Map([[0, [5n]]]);
  for (const nothing of [undefined, "", "{}", "no JSON", '{"minValues":{"id":1}}', '{"minValues":null}'])
    assert.equal(mayHold(nothing, chosen), true, nothing);
  assert.equal(mayHold(undefined, new Map()), false);
});

test("offsets beyond 2^53 are compared exactly", () => {
  const bounds = stats([0, 0], [9_007_199_254_740_993n, 9_007_199_254_740_995n]);
  assert.equal(mayHold(bounds, new Map([[0, [9_007_199_254_740_992n]]])), false);
  assert.equal(mayHold(bounds, new Map([[0, [9_007_199_254_740_993n]]])), true);
  assert.equal(mayHold(bounds, new Map([[0, [9_007_199_254_740_996n]]])), false);
});
