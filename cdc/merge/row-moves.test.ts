/** Where rows are once their files have been joined. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { movesOf } from "./row-moves.ts";

const numbers = (of: Iterable<number>) => Float64Array.from([...of].sort((a, b) => a - b));

test("every row that was left is found in the joined file, and what was deleted since is deleted there", () => {
  const source = fc.integer({ min: 0, max: 12 }).chain((rows) =>
    fc.record({
      rows: fc.constant(rows),
      before: fc.subarray([...Array(rows).keys()]),
      since: fc.subarray([...Array(rows).keys()]),
    }),
  );
  fc.assert(
    fc.property(fc.array(source, { maxLength: 4 }), (sources) => {
      const moves = movesOf(
        sources.map(({ rows, before }) => ({
          rows,
          deleted: before.length > 0 ? numbers(before) : undefined,
        })),
      );
      const joined = sources.flatMap(({ rows, before }, place) =>
        [...Array(rows).keys()].filter((row) => !before.includes(row)).map((row) => ({ place, row })),
      );
      assert.equal(moves.rows, joined.length);
      for (const [at, { place, row }] of joined.entries()) assert.equal(moves.rowOf(place, row), at);
      const now = sources.map(({ before, since }) => numbers(new Set([...before, ...since])));
      const gone = joined.flatMap(({ place, row }, at) => (sources[place]!.since.includes(row) ? [at] : []));
      assert.deepEqual([...moves.deleted(now)!], gone);
    }),
    { numRuns: 1000 },
  );
});

test("a row that came back cannot be told by what was deleted", () => {
  const moves = movesOf([{ rows: 3, deleted: numbers([0, 2]) }]);
  assert.equal(moves.deleted([numbers([2])]), null);
  assert.equal(moves.deleted([undefined]), null);
  assert.deepEqual([...moves.deleted([numbers([0, 1, 2])])!], [0]);
});
