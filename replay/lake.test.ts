import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { lakeTable, placesOf, type TestRow } from "../test/support/lake-table.ts";
import { END, type Place, type Progress } from "./place.ts";

/** By the letter: each partition in its order, all by the latest time so far. */
function inOrder(rows: readonly TestRow[]): TestRow[] {
  const latest = new Map<number, number>();
  const marked = [...rows]
    .sort(
      (a, b) =>
        (a.generation ?? 0) - (b.generation ?? 0) || a.offset - b.offset || (a.index ?? 0) - (b.index ?? 0),
    )
    .map((row) => {
      const watermark = Math.max(latest.get(row.partition) ?? 0, row.ms ?? 0);
      latest.set(row.partition, watermark);
      return { row, watermark };
    });
  const at = new Map(marked.map(({ row }, n) => [row, n]));
  return marked
    .sort(
      (a, b) =>
        a.watermark - b.watermark || a.row.partition - b.row.partition || at.get(a.row)! - at.get(b.row)!,
    )
    .map(({ row }) => row);
}

const row = (partition: number, offset: number, ms: number | null, more: Partial<TestRow> = {}): TestRow => ({
  partition,
  offset,
  ms,
  ...more,
});

test("records come in the order of their partitions, merged by time, however files overlap and whatever a window holds", async (t) => {
  const rows = fc.uniqueArray(
    fc.record({
      partition: fc.integer({ min: 0, max: 2 }),
      offset: fc.integer({ min: 0, max: 60 }),
      generation: fc.integer({ min: 0, max: 1 }),
      ms: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: 0, max: 40 }) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      file: fc.integer({ min: 0, max: 4 }),
      isLate: fc.boolean(),
    }),
    {
      minLength: 1,
      maxLength: 60,
      selector: ({ partition, offset, generation }) => `${partition}:${offset}:${generation}`,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.constantFrom(1, 3, 10, 1000),
      fc.boolean(),
      fc.nat(),
      async (all, windowRows, hasStats, cut) => {
        const lake = await lakeTable(t, { windowRows });
        // Mostly as live topics are: later offsets have later times.
        const timed = all.map((one) => ({
          ...one,
          ms: one.ms === null ? null : one.isLate ? one.ms : one.offset + 1,
        }));
        for (let file = 0; file < 5; file++) {
          const its = timed.filter((one) => one.file === file);
          const isOne =
            new Set(its.map(({ partition, generation }) => `${partition}/${generation}`)).size === 1;
          const canSay = hasStats && isOne && its.every(({ ms }) => ms !== null);
          if (its.length > 0) await lake.append(its, canSay ? { stats: "bounds" } : {});
        }
        const wanted = inOrder(timed);
        const records = await lake.read();
        assert.deepEqual(
          records.map(({ partition, generation, offset }) => [partition, generation, Number(offset)]),
          wanted.map(({ partition, generation, offset }) => [partition, generation, offset]),
        );
        // Whoever stopped anywhere goes on with the next one.
        const reached: Progress = new Map<number, Place>(
          records.slice(0, cut % records.length).map((record) => [record.partition, record]),
        );
        const rest = await lake.read(reached);
        assert.deepEqual(placesOf(rest), placesOf(records.slice(cut % records.length)));
      },
    ),
    { numRuns: 25 },
  );
});

test("a record without a time, in a file whose others have one, holds its place at the very beginning", async (t) => {
  const lake = await lakeTable(t, { windowRows: 1 });
  await lake.append([row(0, 0, 1)]);
  await lake.append([row(1, 0, null), row(1, 1, 2)]);
  assert.deepEqual(placesOf(await lake.read()), ["1:0", "0:0", "1:1"]);
});

test("key, headers, time and value are those of the record", async (t) => {
  const lake = await lakeTable(t, { columns: { id: "long", name: "string" }, keepRaw: true });
  const columns = "7::BIGINT AS id, 'a'::VARCHAR AS name";
  await lake.append([
    row(0, 1, 1_700_000_000_123, {
      columns,
      key: "'\\xFFk'::BLOB",
      headers:
        "[{'key': 'b', 'value': '1'::BLOB}, {'key': 'a', 'value': NULL}, {'key': 'b', 'value': ''::BLOB}]",
      raw: `'{"id": 7}'::BLOB`,
    }),
    row(0, 2, null, { columns }),
    row(0, 3, 5, { columns: "NULL::BIGINT AS id, NULL::VARCHAR AS name", key: "''::BLOB" }),
  ]);
  const [first, second, third] = await lake.read();
  assert.deepEqual(first!.key, Buffer.from([255, 107]));
  assert.deepEqual(first!.headers, [
    ["b", Buffer.from("1")],
    ["a", null],
    ["b", Buffer.from("")],
  ]);
  assert.equal(first!.timestampMs, 1_700_000_000_123);
  assert.deepEqual([first!.value?.toString(), first!.isOriginal], ['{"id": 7}', true]);
  assert.deepEqual([second!.value?.toString(), second!.isOriginal], ['{"id":7,"name":"a"}', false]);
  assert.deepEqual([second!.timestampMs, second!.key, second!.headers], [-1, null, []]);
  assert.deepEqual([third!.value, third!.isOriginal, third!.key], [null, true, Buffer.alloc(0)]);
});

test("columns are told whatever they are called, like what reading has beside them, too", async (t) => {
  const names = ["file", "row", "idx", "n", "part", "off", "w", "c", "h", "x0", "x1", "key", "told"];
  const text = Object.fromEntries(names.map((name) => [name, "string" as const]));
  const numbers = { type: "map", keyType: "string", valueType: "long", valueContainsNull: true } as const;
  const map = { type: "map", keyType: "string", valueType: numbers, valueContainsNull: true } as const;
  const lake = await lakeTable(t, { columns: { ...text, map } });
  const columns = `${names.map((name) => `'${name}!' AS "${name}"`).join(", ")}, MAP {'a': MAP {'b': 1::BIGINT}} AS map`;
  await lake.append([row(0, 1, 1, { columns, headers: "[{'key': 'b', 'value': '1'::BLOB}]" })]);
  const [record] = await lake.read();
  const told = Object.fromEntries(names.map((name) => [name, `${name}!`]));
  assert.deepEqual(JSON.parse(String(record!.value)), { ...told, map: { a: { b: 1 } } });
  assert.deepEqual(record!.headers, [["b", Buffer.from("1")]]);
});

test("a table of keys and values gives its values, and a table made of messages that became several rows gives a record a row, or a message its own", async (t) => {
  const text = await lakeTable(t, { columns: { key: "string", value: "string" } });
  await text.append([
    row(0, 0, 1, { columns: "'k' AS key, 'grün' AS value" }),
    row(0, 1, 2, { columns: "NULL::VARCHAR AS key, NULL::VARCHAR AS value" }),
  ]);
  assert.deepEqual(
    (await text.read()).map(({ value }) => value?.toString() ?? null),
    ["grün", null],
  );
  const as = await text.read(new Map(), { value: "json" });
  assert.equal(as[0]!.value?.toString(), '{"key":"k","value":"grün"}');

  const columns = (n: number) => `${n}::INTEGER AS _kafka_index, 'x${n}' AS v`;
  const rows = [2, 0, 1].map((n) => row(0, 5, 1, { columns: columns(n) }));
  const several = await lakeTable(t, { columns: { _kafka_index: "integer", v: "string" } });
  await several.append(rows);
  assert.deepEqual(
    (await several.read()).map(({ value }) => value?.toString()),
    ['{"v":"x0"}', '{"v":"x1"}', '{"v":"x2"}'],
  );
  const kept = await lakeTable(t, { columns: { _kafka_index: "integer", v: "string" }, keepRaw: true });
  await kept.append(rows.map((one) => ({ ...one, raw: "'whole'::BLOB" })));
  await kept.append([row(0, 6, 1, { columns: columns(0), raw: "'next'::BLOB" })]);
  const records = await kept.read();
  assert.deepEqual(
    records.map(({ value }) => value?.toString()),
    ["whole", "next"],
  );
  assert.deepEqual(placesOf(await kept.read(new Map([[0, records[0]!]]))), ["0:6"]);
});

test("rows of several topics are told apart, and rows of none are counted and left", async (t) => {
  const lake = await lakeTable(t);
  await lake.append([row(0, 1, 1), row(0, 2, 2, { topic: "u" })]);
  await assert.rejects(lake.read(), (error) => isLabError(error, "USAGE") && /t, u/.test(error.message));
  assert.deepEqual(placesOf(await lake.read(new Map(), { topic: "u" })), ["0:2"]);
  assert.deepEqual(await lake.read(new Map(), { topic: "w" }), []);
  assert.deepEqual(await lake.read(new Map([[0, END]]), { topic: "t" }), []);
});

test("a place that two rows claim is there once", async (t) => {
  const lake = await lakeTable(t);
  await lake.append([row(0, 1, 1), row(0, 2, 2)]);
  await lake.append([row(0, 2, 2), row(0, 3, 3)]);
  assert.deepEqual(placesOf(await lake.read()), ["0:1", "0:2", "0:3"]);
});

test("memory that is too small is said so, with the way out", async (t) => {
  const lake = await lakeTable(t, { columns: { v: "string" } });
  await lake.append(
    Array.from({ length: 40 }, (_, n) => row(0, n, n, { columns: `repeat('${n}', 400000) AS v` })),
  );
  const work = { ...lake.work, memoryLimitBytes: 12 << 20 };
  await assert.rejects(lake.read(new Map(), { work }), (error) => isLabError(error, "QUERY_LIMIT"));
});
