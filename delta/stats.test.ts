import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ColumnStats, statsJson } from "./stats.ts";
import { indexedColumns, type StatsTable } from "./stats-columns.ts";
import { largestText, smallestText } from "./stats-text.ts";
import { parseDate } from "./time-text.ts";
import type { DataType, StructField, StructType } from "./types.ts";

const field = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} });
const struct = (...fields: StructField[]): StructType => ({ type: "struct", fields });
const table = (
  schema: StructType,
  configuration: Record<string, string> = {},
  partitionColumns: string[] = [],
) => ({
  schema,
  partitionColumns,
  configuration,
});
const one = (type: DataType, column: Omit<ColumnStats, "path">) =>
  statsJson({ numRecords: 3, columns: [{ path: ["c"], ...column }] }, table(struct(field("c", type))));
const names = (given: StatsTable) => indexedColumns(given).map(({ path }) => path.join("."));

test("bounds are written in the protocol's form", () => {
  const cases: [DataType, ColumnStats["min"], string][] = [
    ["long", 9007199254740993n, "9007199254740993"],
    ["integer", -5, "-5"],
    ["decimal(20,2)", "123456789012345678.90", "123456789012345678.90"],
    ["double", 1.5, "1.5"],
    ["date", 19889, '"2024-06-15"'],
    ["timestamp", 1_686_832_200_123_999n, '"2023-06-15T12:30:00.123Z"'],
    ["timestamp", -1n, '"1969-12-31T23:59:59.999Z"'],
    ["timestamp_ntz", 1_686_832_200_123_999n, '"2023-06-15T12:30:00.123"'],
    ["string", 'a"b', '"a\\"b"'],
  ];
  for (const [type, min, text] of cases) {
    assert.equal(
      one(type, { min, max: min, nullCount: 0 }),
      `{"numRecords":3,"minValues":{"c":${text}},"maxValues":{"c":${text}},"nullCount":{"c":0}}`,
    );
  }
});

test("what has no bound in JSON is left out, its null count is not", () => {
  const none = '{"numRecords":3,"minValues":{},"maxValues":{},"nullCount":{"c":3}}';
  assert.equal(one("long", { min: null, max: null, nullCount: 3 }), none);
  assert.equal(one("boolean", { min: false, max: true, nullCount: 3 }), none);
  assert.equal(one("binary", { min: new Uint8Array(1), max: new Uint8Array(1), nullCount: 3n }), none);
  assert.equal(one("double", { min: Number.NEGATIVE_INFINITY, max: Number.NaN, nullCount: 3 }), none);
});

test("with a NaN there is a min and no max; zero bounds take the wider sign", () => {
  assert.equal(
    one("double", { min: 0, max: 7, hasNaN: true, nullCount: 0 }),
    '{"numRecords":3,"minValues":{"c":-0.0},"maxValues":{},"nullCount":{"c":0}}',
  );
  assert.match(one("double", { min: -1, max: -0 }), /"maxValues":\{"c":0.0\}/);
});

test("bounds that are zero, of either sign and type, take the wider sign", () => {
  for (const type of ["float", "double"] as const) {
    for (const zero of [0, -0]) {
      assert.equal(
        one(type, { min: zero, max: zero }),
        '{"numRecords":3,"minValues":{"c":-0.0},"maxValues":{"c":0.0},"nullCount":{}}',
      );
    }
  }
});

test("a column that is all null has no bounds, whatever is given as such", () => {
  const none = '{"numRecords":3,"minValues":{},"maxValues":{},"nullCount":{"c":3}}';
  assert.equal(one("long", { min: 0n, max: 0n, nullCount: 3 }), none);
  assert.equal(one("long", { min: 0n, max: 0n, nullCount: 3n }), none);
  assert.match(one("long", { min: 0n, max: 0n, nullCount: 2 }), /"minValues":\{"c":0\}/);
});

test("days and times are bounds in the years 0 to 9999 only", () => {
  const first = parseDate("0000-01-01")!;
  const last = parseDate("9999-12-31")!;
  const micros = (day: number) => BigInt(day) * 86_400_000_000n;
  const common: [DataType, ColumnStats["min"], ColumnStats["max"], string, string][] = [
    ["date", first, last, "0000-01-01", "9999-12-31"],
    [
      "timestamp",
      micros(first),
      micros(last + 1) - 1n,
      "0000-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.999Z",
    ],
    [
      "timestamp_ntz",
      micros(first),
      micros(last + 1) - 1n,
      "0000-01-01T00:00:00.000",
      "9999-12-31T23:59:59.999",
    ],
  ];
  for (const [type, min, max, lower, upper] of common) {
    assert.equal(
      one(type, { min, max }),
      `{"numRecords":3,"minValues":{"c":"${lower}"},"maxValues":{"c":"${upper}"},"nullCount":{}}`,
    );
  }
  const none = '{"numRecords":3,"minValues":{},"maxValues":{},"nullCount":{}}';
  assert.equal(one("date", { min: first - 1, max: last + 1 }), none);
  assert.equal(one("date", { min: -2_147_483_648, max: 2_147_483_647 }), none);
  for (const type of ["timestamp", "timestamp_ntz"] as const) {
    assert.equal(one(type, { min: micros(first) - 1n, max: micros(last + 1) }), none);
    assert.equal(one(type, { min: -(2n ** 63n), max: 2n ** 63n - 1n }), none);
  }
});

test("a column may be named __proto__ or hold dots and quotes", () => {
  const odd = ["__proto__", "a.b", 'q"q'];
  const schema = struct(
    ...odd.map((name) => field(name, "long")),
    field("s", struct(field("__proto__", "long"))),
  );
  const columns = [...odd.map((name) => [name]), ["s", "__proto__"]].map((path) => ({ path, min: 1n }));
  assert.match(
    statsJson({ numRecords: 1, columns }, table(schema)),
    /"minValues":\{"__proto__":1,"a\.b":1,"q\\"q":1,"s":\{"__proto__":1\}\}/,
  );
});

test("what a table says of its columns decides which are written, a row's origin always is", () => {
  const columns = [
    ["a"],
    ["p"],
    ["s", "x"],
    ["_kafka", "topic"],
    ...["partition", "offset", "timestamp"].map((name) => ["_kafka", name]),
  ];
  const written = (configuration: Record<string, string>) =>
    JSON.parse(
      statsJson(
        { numRecords: 1, columns: columns.map((path) => ({ path, nullCount: 0 })) },
        table(wide, configuration, ["p"]),
      ),
    ).nullCount;
  const origin = { partition: 0, offset: 0, timestamp: 0 };
  assert.deepEqual(written({}), { a: 0, s: { x: 0 }, _kafka: { topic: 0, ...origin } });
  assert.deepEqual(written({ "delta.dataSkippingNumIndexedCols": "1" }), { a: 0, _kafka: origin });
  assert.deepEqual(written({ "delta.dataSkippingStatsColumns": "s" }), { s: { x: 0 }, _kafka: origin });
});

test("nested columns mirror the structs", () => {
  const schema = struct(
    field(
      "s",
      struct(field("a", "long"), field("b", { type: "array", elementType: "long", containsNull: true })),
    ),
  );
  const columns = [
    { path: ["s", "a"], min: 1n, max: 2n, nullCount: 0 },
    { path: ["s", "b"], nullCount: 1 },
  ];
  assert.deepEqual(JSON.parse(statsJson({ numRecords: 2n, columns }, table(schema))), {
    numRecords: 2,
    minValues: { s: { a: 1 } },
    maxValues: { s: { a: 2 } },
    nullCount: { s: { a: 0, b: 1 } },
  });
});

const wide = struct(
  field("p", "string"),
  field("a", "long"),
  field("s", struct(field("x", "long"), field("y.z", "long"))),
  field("m", { type: "map", keyType: "string", valueType: "long", valueContainsNull: true }),
  field(
    "_kafka",
    struct(
      field("topic", "string"),
      field("partition", "integer"),
      field("offset", "long"),
      field("timestamp", "timestamp"),
    ),
  ),
);

test("the first leaves in schema order are indexed, and a row's origin always", () => {
  const origin = ["_kafka.partition", "_kafka.offset", "_kafka.timestamp"];
  assert.deepEqual(names(table(wide, { "delta.dataSkippingNumIndexedCols": "2" }, ["p"])), [
    "a",
    "s.x",
    ...origin,
  ]);
  assert.deepEqual(names(table(wide, { "delta.dataSkippingNumIndexedCols": "0" })), origin);
  assert.equal(names(table(wide, { "delta.dataSkippingNumIndexedCols": "-1" })).length, 9);
});

test("named columns win over the count; a struct stands for its leaves", () => {
  const origin = ["_kafka.partition", "_kafka.offset", "_kafka.timestamp"];
  assert.deepEqual(names(table(wide, { "delta.dataSkippingStatsColumns": "A, s.`y.z`" })), [
    "a",
    "s.y.z",
    ...origin,
  ]);
  assert.deepEqual(names(table(wide, { "delta.dataSkippingStatsColumns": "s" })), [
    "s.x",
    "s.y.z",
    ...origin,
  ]);
});

const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test("columns that a table is clustered by are indexed whatever the count", () => {
  const none = table(wide, { "delta.dataSkippingNumIndexedCols": "0" });
  const given = { ...none, clusteringColumns: [["s", "x"]] };
  assert.deepEqual(
    names(given).filter((name) => !name.startsWith("_kafka")),
    ["s.x"],
  );
});

test("cut text bounds stay bounds in the order of UTF-8", () => {
  const character = fc.oneof(
    fc.constantFrom("a", "~", "\u007f", "\u00e9", "\uffff", "\u{1F600}", "\u{10FFFF}"),
    fc.string({ unit: "grapheme", maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 90 }), (parts) => {
      const text = parts.join("");
      assert.ok(compare(smallestText(text), text) <= 0);
      const upper = largestText(text);
      assert.ok(upper === undefined || compare(upper, text) >= 0);
      assert.ok(smallestText(text).length <= 32 && (upper ?? "").length <= 66);
    }),
  );
});

test("text is cut as the reference cuts it", () => {
  const long = "x".repeat(32);
  assert.equal(largestText(long), long);
  assert.equal(largestText(`${long}a`), `${long}\u007f`);
  assert.equal(largestText(`${long}\u00e9`), `${long}\u{10FFFF}`);
  assert.equal(largestText(`${long}\u007f`), `${long}\u{10FFFF}`);
  assert.equal(largestText(`${"\u{10FFFF}".repeat(40)}`), undefined);
  assert.equal(smallestText(`${"x".repeat(31)}\u{1F600}y`), "x".repeat(31));
});
