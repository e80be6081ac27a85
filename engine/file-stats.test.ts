import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "lossless-json";
import type { DataType } from "../delta/types.ts";
import {
  arrayOf,
  batchOf,
  nullable,
  openWorkbench,
  planFor,
  struct,
  withKafka,
} from "../test/support/encoder-fixture.ts";
import { statsJson } from "./file-stats.ts";

function statsOf(type: DataType, leaf: Record<string, string>, rows = 10) {
  const columns = new Map([['"x"', new Map(Object.entries(leaf))]]);
  const json = statsJson({
    rows,
    columns,
    schema: struct({ x: type }),
    partitionColumns: [],
    indexedColumns: 32,
  });
  return { json, ...(JSON.parse(json) as { minValues: { x?: unknown }; maxValues: { x?: unknown } }) };
}

test("text is cut to 32 UTF-16 units, the upper bound stays above all that begins so", () => {
  const cases: readonly (readonly [text: string, min: string, max: string | undefined])[] = [
    ["short", "short", "short"],
    ["a".repeat(32), "a".repeat(32), "a".repeat(32)],
    ["a".repeat(33), "a".repeat(32), `${"a".repeat(32)}\u007f`],
    [`${"a".repeat(32)}é`, "a".repeat(32), `${"a".repeat(32)}\u{10ffff}`],
    [`${"a".repeat(31)}😀b`, `${"a".repeat(31)}😀`, `${"a".repeat(31)}😀\u007f`],
    [`${"a".repeat(32)}\u007f`, "a".repeat(32), `${"a".repeat(32)}\u{10ffff}`],
    [`${"a".repeat(32)}\u{10ffff}`, "a".repeat(32), undefined],
  ];
  for (const [text, min, max] of cases) {
    const { minValues, maxValues } = statsOf("string", { min: text, max: text, null_count: "0" });
    assert.equal(minValues.x, min);
    assert.equal(maxValues.x, max);
    assert.ok(Buffer.compare(Buffer.from(min), Buffer.from(text)) <= 0);
    if (max !== undefined) assert.ok(Buffer.compare(Buffer.from(max), Buffer.from(text)) >= 0, text);
  }
});

test("times are cut down to ms, before 1970 too; infinite ones are left out", () => {
  const { json } = statsOf("timestamp", {
    min: "1969-12-31 23:59:59.999999+00",
    max: "2024-02-29 12:00:00+00",
    null_count: "0",
  });
  assert.match(
    json,
    /"minValues":\{"x":"1969-12-31T23:59:59.999Z"\},"maxValues":\{"x":"2024-02-29T12:00:00.000Z"\}/,
  );
  assert.deepEqual(statsOf("timestamp_ntz", { min: "2024-01-01 00:00:00.5", null_count: "0" }).minValues, {
    x: "2024-01-01T00:00:00.500",
  });
  assert.deepEqual(
    statsOf("timestamp", { min: "-infinity", max: "infinity", null_count: "0" }).minValues,
    {},
  );
  assert.deepEqual(statsOf("date", { max: "0044-03-15 (BC)", null_count: "0" }).maxValues, {});
});

test("numbers keep their digits; NaN, infinity and all-null columns have no bounds", () => {
  const decimal = statsOf("decimal(38,2)", {
    min: "-0.01",
    max: "123456789012345678901234567890.12",
    null_count: "0",
  });
  assert.match(decimal.json, /"x":-0.01\}.*"x":123456789012345678901234567890.12\}/);
  assert.match(
    statsOf("long", { min: "1", max: "9223372036854775807", null_count: "0" }).json,
    /9223372036854775807/,
  );
  assert.deepEqual(
    statsOf("double", { min: "1.0", max: "inf", null_count: "0", has_nan: "false" }).maxValues,
    {},
  );
  assert.deepEqual(
    statsOf("double", { min: "1.0", max: "2.0", null_count: "0", has_nan: "true" }).minValues,
    {},
  );
  assert.match(statsOf("double", { min: "0.0", max: "-0.0", null_count: "0" }).json, /"x":-0.0\}.*"x":0.0\}/);
  assert.deepEqual(statsOf("long", { null_count: "10" }).minValues, {});
  assert.deepEqual(statsOf("boolean", { min: "0", max: "1", null_count: "0" }).minValues, {});
  assert.deepEqual(statsOf("binary", { min: "00", max: "ff", null_count: "0" }).minValues, {});
});

test("the first columns have statistics, position and time of _kafka always", () => {
  const schema = withKafka(
    struct(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`c${i}`, "long"]))),
  );
  const leaf = new Map(Object.entries({ min: "1", max: "2", null_count: "0" }));
  const kafka = ["topic", "partition", "offset", "generation"].map(
    (name) => [`"_kafka"."${name}"`, leaf] as const,
  );
  const columns = new Map([...schema.fields.map(({ name }) => [`"${name}"`, leaf] as const), ...kafka]);
  const stats = JSON.parse(
    statsJson({ rows: 2, columns, schema, partitionColumns: ["c0"], indexedColumns: 32 }),
  );
  assert.deepEqual(Object.keys(stats.minValues), [
    ...Array.from({ length: 32 }, (_, i) => `c${i + 1}`),
    "_kafka",
  ]);
  assert.deepEqual(stats.minValues._kafka, { partition: 1, offset: 1 });
  assert.equal(stats.numRecords, 2);
});

test("a plan says how many columns have statistics", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`c${i}`, "long"])));
  const batch = batchOf([JSON.stringify(Object.fromEntries(schema.fields.map(({ name }) => [name, 1])))]);
  const columns = async (changes: { indexedColumns?: number }) => {
    const { encoded } = await bench.encode(batch, planFor(schema, changes));
    return Object.keys(JSON.parse(encoded.files[0]!.stats).minValues).length;
  };
  // And _kafka.
  assert.deepEqual(
    [await columns({}), await columns({ indexedColumns: 3 }), await columns({ indexedColumns: -1 })],
    [33, 4, 41],
  );
});

test("a field may be named __proto__ or hold dots and quotes", () => {
  const schema = {
    type: "struct",
    fields: ["__proto__", "a.b", 'q"q'].map((name) => nullable(name, "long")),
  } as const;
  const leaf = new Map(Object.entries({ min: "1", max: "2", null_count: "0" }));
  const columns = new Map(['"__proto__"', '"a.b"', '"q""q"'].map((key) => [key, leaf]));
  const json = statsJson({ rows: 2, columns, schema, partitionColumns: [], indexedColumns: 32 });
  assert.match(json, /"minValues":\{"__proto__":1,"a\.b":1,"q\\"q":1\}/);
});

test("what is written of a file holds for every one of its rows", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({
    n: "long",
    d: "double",
    s: "string",
    at: "timestamp",
    in: struct({ x: "integer" }),
    l: arrayOf("long"),
  });
  const time = fc
    .date({
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9999-12-31T00:00:00Z"),
      noInvalidDate: true,
    })
    .map((date) => date.toISOString().replace("Z", "456Z"));
  const row = fc.record(
    {
      n: fc.option(fc.integer()),
      d: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
      s: fc.option(
        fc.string({ unit: "binary", maxLength: 50 }).filter((text) => !/\p{Surrogate}/u.test(text)),
      ),
      at: fc.option(time),
      in: fc.option(fc.record({ x: fc.option(fc.integer()) })),
      l: fc.option(fc.array(fc.integer(), { maxLength: 2 })),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), async (rows) => {
      const { encoded } = await bench.encode(
        batchOf(rows.map((each) => JSON.stringify(each))),
        planFor(schema),
      );
      const stats = JSON.parse(encoded.files[0]!.stats);
      assert.equal(stats.numRecords, rows.length);
      assert.equal(
        String(
          (parse(encoded.files[0]!.stats) as { maxValues: { _kafka: { offset: unknown } } }).maxValues._kafka
            .offset,
        ),
        String(rows.length - 1),
      );
      const check = <T>(
        pick: (r: (typeof rows)[number]) => T | null | undefined,
        bounds: [T | undefined, T | undefined, number],
        compare: (a: T, b: T) => number,
      ) => {
        const values = rows.map(pick).filter((value) => value !== null && value !== undefined);
        const [min, max, nulls] = bounds;
        assert.equal(nulls, rows.length - values.length);
        for (const value of values) {
          if (min !== undefined) assert.ok(compare(min, value) <= 0);
          if (max !== undefined) assert.ok(compare(max, value) >= 0);
        }
        if (values.length === 0) assert.ok(min === undefined && max === undefined);
      };
      const { minValues, maxValues, nullCount } = stats;
      const byNumber = (a: number, b: number) => a - b;
      check((r) => r.n, [minValues.n, maxValues.n, nullCount.n], byNumber);
      check((r) => r.d, [minValues.d, maxValues.d, nullCount.d], byNumber);
      check((r) => r.in?.x, [minValues.in?.x, maxValues.in?.x, nullCount.in.x], byNumber);
      check(
        (r) => r.s,
        [minValues.s, maxValues.s, nullCount.s],
        (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
      );
      check(
        (r) => r.at?.replace("456Z", "Z"),
        [minValues.at, maxValues.at, nullCount.at],
        (a, b) => (a < b ? -1 : a > b ? 1 : 0),
      );
      assert.equal(nullCount.l, undefined);
    }),
    { numRuns: 40 },
  );
});
