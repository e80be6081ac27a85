import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
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
} from "../test/support/encoder-fixture.ts";
import type { EncodePlan } from "./encoder.ts";
import { statsOfFile } from "./file-stats.ts";
import { openEngine } from "./instance.ts";
import { writeRowFiles } from "./row-files.ts";
import { sqlType } from "./sql-types.ts";

const signal = new AbortController().signal;

/** The statistics of a file that DuckDB writes of these values, each in SQL. */
async function openWriter(t: TestContext) {
  const stagingDir = await mkdtemp(join(tmpdir(), "file-stats-test-"));
  const engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
  t.after(async () => {
    engine.close();
    await rm(stagingDir, { recursive: true });
  });
  return async (type: DataType, values: readonly string[]): Promise<string> => {
    const typed = values.map((value) => `(${value})::${sqlType(type)}`);
    const rows = `(SELECT unnest([${typed.join(", ")}]) AS x)`;
    const schema = struct({ x: type });
    const files = await writeRowFiles({
      engine,
      rows,
      keys: rows,
      schema,
      partitionColumns: [],
      configuration: {},
      stagingDir,
      signal,
    });
    return files[0]!.stats;
  };
}

const x = (value: string | undefined) => (value === undefined ? "{}" : `{"x":${value}}`);

test("what DuckDB says of every type becomes the protocol's text, with all digits", async (t) => {
  const write = await openWriter(t);
  const cases: [type: DataType, values: string[], min: string | undefined, max: string | undefined][] = [
    ["byte", ["-128", "127"], "-128", "127"],
    ["short", ["-32768", "32767"], "-32768", "32767"],
    ["integer", ["-5", "5"], "-5", "5"],
    ["long", ["-9223372036854775808", "9223372036854775807"], "-9223372036854775808", "9223372036854775807"],
    ["double", ["5e-324", "1.7976931348623157e308"], "5e-324", "1.7976931348623157e+308"],
    ["double", ["123456789.12345678", "1e21"], "123456789.12345678", "1e+21"],
    ["double", ["'-inf'", "'inf'"], undefined, undefined],
    ["double", ["1", "'inf'"], "1", undefined],
    ["double", ["0.0", "-0.0"], "-0.0", "0.0"],
    ["double", ["-0.0", "0.0"], "-0.0", "0.0"],
    ["double", ["'nan'", "2", "1"], "1", undefined],
    ["double", ["'nan'", "'nan'"], undefined, undefined],
    ["float", ["0.1", "16777216"], "0.1", "16777216"],
    ["float", ["'nan'", "-0.0"], "-0.0", undefined],
    [
      "decimal(38,2)",
      ["-0.01", "'123456789012345678901234567890.12'"],
      "-0.01",
      "123456789012345678901234567890.12",
    ],
    ["decimal(9,3)", ["-2", "1.5"], "-2.000", "1.500"],
    ["string", ["''", "'a\"\\é\n😀'"], '""', '"a\\"\\\\é\\n😀"'],
    ["boolean", ["false", "true"], undefined, undefined],
    ["binary", ["'a'::BLOB", "'b'::BLOB"], undefined, undefined],
    ["date", ["'0001-03-15'", "'9999-12-31'"], '"0001-03-15"', '"9999-12-31"'],
    ["date", ["'0044-03-15 (BC)'", "'10000-01-01'"], undefined, undefined],
    ["date", ["'-infinity'", "'infinity'"], undefined, undefined],
    [
      "timestamp",
      ["'1969-12-31 23:59:59.999999+00'", "'2024-02-29 14:00:00+02'"],
      '"1969-12-31T23:59:59.999Z"',
      '"2024-02-29T12:00:00.000Z"',
    ],
    ["timestamp", ["'0044-03-15 (BC) 01:02:03+00'", "'10000-01-01 00:00:00+00'"], undefined, undefined],
    ["timestamp", ["'-infinity'", "'infinity'"], undefined, undefined],
    [
      "timestamp_ntz",
      ["'1969-12-31 23:59:59.9'", "'2024-02-29 12:00:00.5'"],
      '"1969-12-31T23:59:59.900"',
      '"2024-02-29T12:00:00.500"',
    ],
    ["long", ["NULL", "1"], "1", "1"],
    ["long", ["NULL", "NULL"], undefined, undefined],
    ["double", ["NULL", "'nan'"], undefined, undefined],
  ];
  for (const [type, values, min, max] of cases) {
    const nulls = values.filter((value) => value === "NULL").length;
    assert.equal(
      await write(type, values),
      `{"numRecords":${values.length},"minValues":${x(min)},"maxValues":${x(max)},"nullCount":{"x":${nulls}}}`,
      `${type} of ${values.join(", ")}`,
    );
  }
});

test("the table's properties say which columns have statistics; position and time of _kafka always have", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`c${i}`, "long"])));
  const batch = batchOf([JSON.stringify(Object.fromEntries(schema.fields.map(({ name }) => [name, 1])))]);
  const columns = async (changes: Partial<EncodePlan>) => {
    const { encoded } = await bench.encode(batch, planFor(schema, changes));
    const { minValues } = JSON.parse(encoded.files[0]!.stats);
    const { partition, offset, timestamp } = minValues._kafka;
    assert.deepEqual([partition, offset, typeof timestamp], [0, 0, "string"]);
    return Object.keys(minValues).slice(0, -1);
  };
  const all = schema.fields.map(({ name }) => name);
  const first = (count: string) => ({ configuration: { "delta.dataSkippingNumIndexedCols": count } });
  const named = { configuration: { "delta.dataSkippingStatsColumns": "c39,c1" } };
  assert.deepEqual(await columns({}), all.slice(0, 32));
  assert.deepEqual(await columns(first("3")), all.slice(0, 3));
  assert.deepEqual(await columns(first("0")), []);
  assert.deepEqual(await columns(first("-1")), all);
  assert.deepEqual(await columns(named), ["c1", "c39"]);
});

test("a field may be named __proto__ or hold dots and quotes", () => {
  const schema = {
    type: "struct",
    fields: ["__proto__", "a.b", 'q"q'].map((name) => nullable(name, "long")),
  } as const;
  const leaf = new Map(Object.entries({ min: "1", max: "2", null_count: "0" }));
  const columns = new Map(['"__proto__"', '"a.b"', '"q""q"'].map((key) => [key, leaf]));
  const json = statsOfFile(2, columns, { schema, partitionColumns: [], configuration: {} });
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
