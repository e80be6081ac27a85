import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { columnChunks } from "./column-chunks.ts";
import { type Engine, openEngine } from "./instance.ts";

const signal = new AbortController().signal;

async function withEngine(work: (engine: Engine) => Promise<void>): Promise<void> {
  const engine = await openEngine({ memoryLimitBytes: 512 << 20, threads: 2, tempDir: null });
  try {
    await work(engine);
  } finally {
    engine.close();
  }
}

/** All values of a statement's first column, fetched `step` rows at a time. */
async function blobs(engine: Engine, sql: string, step: number): Promise<(Buffer | null)[]> {
  const found: (Buffer | null)[] = [];
  for await (const chunk of columnChunks(engine, sql, signal)) {
    for (let from = 0; from < chunk.rows; from += step) {
      const to = Math.min(chunk.rows, from + step);
      const { bytes, starts, ends } = chunk.bytes(0, from, to);
      for (let n = 0; n < to - from; n++) {
        found.push(starts[n]! < 0 ? null : bytes.subarray(starts[n], ends[n]));
        assert.equal(chunk.lengths(0)[from + n], found.at(-1)?.length ?? 0);
      }
    }
  }
  return found;
}

test("bytes come as they are: empty, null, short and long ones, however they lie in memory and however many are fetched at a time", async () => {
  await withEngine(async (engine) => {
    const length = fc.oneof(fc.integer({ min: -1, max: 14 }), fc.integer({ min: 0, max: 3_000 }));
    // Sorted values lie side by side, those of a table with many equal ones do not.
    const order = fc.constantFrom("ORDER BY n", "ORDER BY l, n", "");
    await fc.assert(
      fc.asyncProperty(
        fc.array(length, { maxLength: 60 }),
        fc.integer({ min: 1, max: 5_000 }),
        fc.integer({ min: 1, max: 3_000 }),
        order,
        async (lengths, rows, step, order) => {
          await engine.run(
            `CREATE OR REPLACE TEMP TABLE lengths AS SELECT n::BIGINT AS n, [${[-1, ...lengths].join(", ")}][n % ${lengths.length + 1} + 1] AS l FROM range(${rows}) AS r(n)`,
          );
          const value = "CASE WHEN l >= 0 THEN left(repeat(format('{:05d}', n), 600), l)::BLOB END";
          const select = `FROM lengths ${order}`;
          const wanted = await engine.rows(`SELECT n, l ${select}`);
          const found = await blobs(engine, `SELECT ${value} AS v ${select}`, step);
          assert.equal(found.length, rows);
          // Without an order rows may come in any: then they are compared as a set.
          const text = (bytes: Buffer | null) => (bytes === null ? "null" : bytes.toString());
          const told = wanted.map(({ n, l }) =>
            Number(l) < 0 ? "null" : String(n).padStart(5, "0").repeat(600).slice(0, Number(l)),
          );
          const [a, b] = [found.map(text), told];
          assert.deepEqual(order === "" ? a.sort() : a, order === "" ? b.sort() : b);
        },
      ),
      { numRuns: 30 },
    );
  });
});

test("numbers come as they lie in memory, and a column of another type is refused", async () => {
  await withEngine(async (engine) => {
    const sql = "SELECT 7::INTEGER AS i, -9007199254740993 AS l, 0.5::DOUBLE AS d, 'x'::BLOB AS b";
    for await (const chunk of columnChunks(engine, sql, signal)) {
      assert.deepEqual([...chunk.ints(0)], [7]);
      assert.deepEqual([...chunk.longs(1)], [-9007199254740993n]);
      assert.deepEqual([...chunk.doubles(2)], [0.5]);
      for (const wrong of [
        () => chunk.ints(1),
        () => chunk.longs(0),
        () => chunk.doubles(3),
        () => chunk.bytes(0, 0, 1),
      ])
        assert.throws(wrong, (error) => isLabError(error, "INTERNAL"));
    }
  });
});

test("a statement that fails in the middle says why", async () => {
  await withEngine(async (engine) => {
    const sql =
      "SELECT CASE WHEN n = 50000 THEN error('here it ends') ELSE n END AS n FROM range(100000) AS r(n)";
    await assert.rejects(async () => {
      for await (const chunk of columnChunks(engine, sql, signal)) assert.ok(chunk.rows > 0);
    }, /here it ends/);
  });
});
