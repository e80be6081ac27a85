import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Add, PartitionValues } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import type { DataType, StructField } from "../delta/types.ts";
import { type Engine, openEngine } from "./instance.ts";
import { matchingFiles, matchOfFile, matchOfPartition } from "./prune.ts";
import type { PruneTable } from "./prune-columns.ts";
import { predicateOf } from "./prune-sql.ts";

const signal = new AbortController().signal;
let engine: Engine;

before(async () => {
  engine = await openEngine({ memoryLimitBytes: 200_000_000, threads: 1, tempDir: null });
});
after(() => engine.close());

function field(name: string, type: DataType, metadata: Record<string, unknown> = {}): StructField {
  return { name, type, nullable: true, metadata };
}

function tableOf(
  fields: StructField[],
  partitionColumns: string[] = [],
  configuration: Record<string, string> = {},
): PruneTable {
  const schema = { type: "struct" as const, fields };
  return {
    schema,
    partitionColumns,
    protocol: { minReaderVersion: 2, minWriterVersion: 5 },
    metadata: {
      id: "t",
      format: { provider: "parquet", options: {} },
      schemaString: "",
      partitionColumns,
      configuration,
    },
  };
}

function addOf(stats: unknown, partitionValues: PartitionValues = {}): Add {
  const text = typeof stats === "string" ? stats : JSON.stringify(stats);
  return { path: "f", partitionValues, size: 1, modificationTime: 0, dataChange: true, stats: text };
}

/** Statistics of one column `c` of a file of ten rows. */
const range = (min: unknown, max: unknown, nulls = 0) =>
  addOf({ numRecords: 10, minValues: { c: min }, maxValues: { c: max }, nullCount: { c: nulls } });

async function match(type: DataType, sql: string, add: Add, metadata = {}) {
  const table = tableOf([field("c", type, metadata)]);
  return matchOfFile(await predicateOf(engine, { sql, table }, signal), add);
}

async function expectAll(type: DataType, cases: [sql: string, add: Add, match: string][]) {
  for (const [sql, add, expected] of cases) {
    assert.equal(await match(type, sql, add), expected, `${sql} of ${add.stats}`);
  }
}

test("a timestamp's bounds are a millisecond wider than they say, and toward 1970 too", () =>
  expectAll("timestamp", [
    [
      "c > '2024-01-01 00:00:00.123900'",
      range("2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123Z"),
      "some",
    ],
    [
      "c > '2024-01-01 00:00:00.124001'",
      range("2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123Z"),
      "none",
    ],
    ["c < '2024-01-01 00:00:00.123'", range("2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.124Z"), "none"],
    ["c < '1969-12-31 23:59:59.9995'", range("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"), "some"],
    ["c <= '1969-12-31 23:59:59.998'", range("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"), "some"],
    ["c = '2024-01-01 01:00:00+02'", range("2024-01-01T00:00:00.000Z", "2024-01-02T00:00:00.000Z"), "none"],
  ]));

test("days before 1582 are not told apart: writers count them in two calendars", () =>
  expectAll("date", [
    ["c < '1000-01-01'", range("1000-01-05", "1001-01-01"), "some"],
    ["c > '1500-01-01'", range("1000-01-05", "1001-01-01"), "some"],
    ["c > '1582-10-15'", range("1000-01-05", "1001-01-01"), "none"],
    ["c < '1582-10-16'", range("1582-10-16", "1600-01-01"), "none"],
  ]));

test("a text of 32 units and more may go on, whoever cut it", async () => {
  const cut = "x".repeat(32);
  await expectAll("string", [
    [`c = '${cut}yz'`, range(cut, cut), "some"],
    [`c > '${cut}'`, range("a", cut), "some"],
    [`c > '${cut}'`, range("a", cut.slice(1)), "none"],
    [`c LIKE '${cut}y%'`, range("a", cut), "some"],
    ["c LIKE 'y%'", range("a", cut), "none"],
    // A pair that was cut in half has no bytes to compare.
    ["c > 'z'", addOf(`{"numRecords":1,"minValues":{"c":"a"},"maxValues":{"c":"a\\ud83d"}}`), "some"],
  ]);
});

test("text compares by its UTF-8, not by its UTF-16", () =>
  expectAll("string", [
    ["c > '\uFFFD'", range("a", "\u{1F600}"), "some"],
    ["c < '\u{1F600}'", range("\uFFFD", "\u{1F601}"), "some"],
    ["c < '\uFFFD'", range("\u{1F600}", "\u{1F601}"), "none"],
  ]));

test("NaN is above every number and in no statistics", () =>
  expectAll("double", [
    ["c > 100", range(1, 2), "some"],
    ["c >= 100 AND c < 1e300", range(1, 2), "none"],
    ["c = 100", range(1, 2), "none"],
    ["c < 1", range(1, 2), "none"],
    ["c BETWEEN 100 AND 200", range(1, 2), "none"],
    ["NOT (c <= 100)", range(1, 2), "some"],
    ["c < 1", range("NaN", "NaN"), "some"],
  ]));

test("no digit is lost on the way through JSON", async () => {
  await expectAll("long", [
    [
      "c = 9007199254740993",
      addOf('{"minValues":{"c":9007199254740994},"maxValues":{"c":9007199254740999}}'),
      "none",
    ],
    [
      "c = 9007199254740993",
      addOf('{"minValues":{"c":9007199254740993},"maxValues":{"c":9007199254740993}}'),
      "some",
    ],
  ]);
  await expectAll("decimal(38,10)", [
    [
      "c < 1234567890123456.7890123456",
      addOf('{"minValues":{"c":1234567890123456.7890123456},"maxValues":{"c":1234567890123457}}'),
      "none",
    ],
    [
      "c <= 1234567890123456.7890123456",
      addOf('{"minValues":{"c":1234567890123456.7890123456},"maxValues":{"c":1234567890123457}}'),
      "some",
    ],
  ]);
});

test("a bound of a wide decimal that may have passed through a double keeps what the double lost", async () => {
  const lossy = addOf('{"minValues":{"c":-12345678901234.123},"maxValues":{"c":12345678901234.123}}');
  await expectAll("decimal(20,6)", [
    ["c >= 12345678901234.123456", lossy, "some"],
    ["c <= -12345678901234.123456", lossy, "some"],
    ["c >= 12345678901234.14", lossy, "none"],
    ["c <= -12345678901234.14", lossy, "none"],
    ["c > 0.1", addOf('{"minValues":{"c":0.0},"maxValues":{"c":0.1}}'), "some"],
    ["c > 0.2", addOf('{"minValues":{"c":0.0},"maxValues":{"c":0.1}}'), "none"],
  ]);
  await expectAll("decimal(15,6)", [
    ["c > 123456789.123456", addOf('{"minValues":{"c":0.0},"maxValues":{"c":123456789.123456}}'), "none"],
  ]);
});

test("counts of nulls decide only where they are none or all", () =>
  expectAll("long", [
    ["c IS NULL", range(1, 2, 0), "none"],
    ["c IS NULL", range(1, 2, 3), "some"],
    ["c IS NOT NULL", range(null, null, 10), "none"],
    ["c = 1", range(null, null, 10), "none"],
    ["c IS DISTINCT FROM 1", range(null, null, 10), "some"],
    ["c IS NOT NULL", addOf({ nullCount: { c: 10 } }), "some"],
    ["c IS NOT DISTINCT FROM NULL", range(1, 2, 0), "none"],
  ]));

test("statistics that are missing, broken or the wrong way around keep their file", () =>
  expectAll("long", [
    ["c = 5", addOf("{"), "some"],
    ["c = 5", addOf("null"), "some"],
    ["c = 5", addOf("[]"), "some"],
    ["c = 5", addOf({ minValues: 7 }), "some"],
    ["c = 5", range("six", {}), "some"],
    ["c = 5", range(9, 1), "some"],
    ["c = 5", { ...addOf({}), stats: undefined } as unknown as Add, "some"],
  ]));

test("statistics from before a float was widened to double do not count", async () => {
  const widened = { "delta.typeChanges": [{ fromType: "float", toType: "double" }] };
  assert.equal(await match("double", "c < 0.5", range(0.7, 0.8)), "none");
  assert.equal(await match("double", "c < 0.5", range(0.7, 0.8), widened), "some");
});

test("what is not understood keeps its file, and takes nothing from what stands beside it", () =>
  expectAll("long", [
    ["abs(c) = 5", range(6, 7), "some"],
    ["abs(c) = 5 AND c = 5", range(6, 7), "none"],
    ["abs(c) = 5 OR c = 5", range(6, 7), "some"],
    ["c > (SELECT 9)", range(6, 7), "some"],
    ["c + 1 = 5", range(6, 7), "some"],
    ["c IN (5, random())", range(6, 7), "some"],
    ["c > now()::VARCHAR", range(6, 7), "some"],
    ["nobody = 5", range(6, 7), "some"],
    ["c COLLATE NOCASE = 'x'", range(6, 7), "some"],
    ["c = 'x'", range(6, 7), "some"],
    ["c = CAST('x' AS BIGINT)", range(6, 7), "some"],
  ]));

test("a condition that is none is an error that says so", async () => {
  const table = tableOf([field("c", "long")]);
  for (const sql of ["c =", "1); SELECT (2", ""]) {
    await assert.rejects(
      predicateOf(engine, { sql, table }, signal),
      (error) => isLabError(error, "SQL_ERROR"),
      sql,
    );
  }
});

test("partition values are compared as their type, and decide about all rows", async () => {
  const cases: [DataType, string, string | null, string][] = [
    ["integer", "p = 7", "007", "all"],
    ["integer", "p > 7", "10", "all"],
    ["timestamp", "p = '2024-01-01 00:00:00'", "2024-01-01T00:00:00.000000Z", "all"],
    ["timestamp", "p = '2024-01-01 00:00:00'", "2024-01-01 00:00:00", "all"],
    ["string", "p IS NULL", "", "all"],
    ["string", "p = ''", "", "none"],
    ["string", "p <> 'a'", null, "none"],
    ["string", "p LIKE 'ab%'", "abc", "all"],
    ["string", "p LIKE 'ab_'", "abc", "some"],
    ["string", "p LIKE 'b%'", "abc", "none"],
    ["double", "p > 1", "NaN", "all"],
    ["boolean", "p", "true", "all"],
    ["boolean", "NOT p", "true", "none"],
    ["date", "p BETWEEN '2024-01-01' AND '2024-12-31'", "2024-02-29", "all"],
    ["date", "p = 1", "2024-02-29", "some"],
    ["integer", "p = 7", "seven", "some"],
    ["binary", "p = 'x'::BLOB", "x", "some"],
    ["integer", "p = 7 AND c > 5", "7", "some"],
    ["integer", "p = 7 OR c > 5", "7", "all"],
  ];
  for (const [type, sql, value, expected] of cases) {
    const table = tableOf([field("p", type), field("c", "long")], ["p"]);
    const predicate = await predicateOf(engine, { sql, table }, signal);
    assert.equal(matchOfPartition(predicate, { p: value }), expected, `${sql} of ${value}`);
  }
});

test("statistics never say that all rows match: rows are not deleted unread on their word", async () => {
  assert.equal(await match("long", "c > 0", range(1, 2, 0)), "some");
});

test("under column mapping facts are found by physical names, at every level", async () => {
  const physical = (name: string) => ({ "delta.columnMapping.physicalName": name });
  const table = tableOf(
    [
      field("day", "date", physical("col-1")),
      field(
        "address",
        { type: "struct", fields: [field("city", "string", physical("col-3"))] },
        physical("col-2"),
      ),
    ],
    ["day"],
    { "delta.columnMapping.mode": "name" },
  );
  const stats = {
    minValues: { "col-2": { "col-3": "a" }, address: { city: "x" } },
    maxValues: { "col-2": { "col-3": "c" }, address: { city: "z" } },
  };
  const add = addOf(stats, { "col-1": "2024-01-01", day: "1999-01-01" });
  const matchOf = async (sql: string) =>
    matchOfFile(await predicateOf(engine, { sql, table, name: "t" }, signal), add);
  assert.equal(await matchOf("DAY = '2024-01-01'"), "all");
  assert.equal(await matchOf("Address.City = 'b'"), "some");
  assert.equal(await matchOf("T.address.city = 'y'"), "none");
});

test("partitions are looked at once each, and statistics only of files that they leave", async () => {
  const table = tableOf([field("p", "integer"), field("c", "long")], ["p"]);
  const predicate = await predicateOf(engine, { sql: "p = 1 AND c = 5", table }, signal);
  const read: string[] = [];
  const files = [0, 1, 1, 2].map((p, index) => ({
    ...addOf({}, { p: String(p) }),
    path: `f${index}`,
    get stats() {
      read.push(this.path);
      return JSON.stringify({ minValues: { c: index }, maxValues: { c: index + 3 } });
    },
  }));
  const snapshot: Pick<Snapshot, "filesWhere"> = {
    *filesWhere(matches, mayHold) {
      for (const file of files) {
        if (matches!(file.partitionValues) && mayHold!(file.stats, file.partitionValues)) yield file;
      }
    },
  };
  const found = matchingFiles(snapshot, predicate)[Symbol.iterator]();
  assert.equal(found.next().value?.path, "f2");
  assert.deepEqual(read, ["f1", "f2"]);
  assert.equal(found.next().done, true);
  assert.deepEqual(read, ["f1", "f2"]);
});
