import assert from "node:assert/strict";
import { test } from "node:test";
import { tableFromIPC } from "apache-arrow";
import { readParquet } from "parquet-wasm";
import type { Action } from "./actions.ts";
import { rowsOf } from "./checkpoint.fixture.ts";
import { encodeCheckpoint } from "./checkpoint-write.ts";
import { createTable } from "./create.ts";
import { checkpointPath, commitPath } from "./log-names.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import { commit, file, schema, signal } from "./table.fixture.ts";
import type { DataType, StructField, StructType } from "./types.ts";

const field = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} });
const types: Record<string, DataType> = {
  by: "byte",
  sh: "short",
  i: "integer",
  l: "long",
  f: "float",
  d: "double",
  dec: "decimal(38,18)",
  s: "string",
  da: "date",
  ts: "timestamp",
  ntz: "timestamp_ntz",
};
const wide: StructType = {
  type: "struct",
  fields: [
    field("p", "decimal(10,2)"),
    field("q", "string"),
    ...Object.entries(types).map(([name, type]) => field(name, type)),
    field("b", "boolean"),
    field("n", { type: "struct", fields: [field("x", "long"), field("y", "binary")] }),
    field("a", { type: "array", elementType: "long", containsNull: true }),
  ],
};
const bounds =
  `{"by":-128,"sh":-32768,"i":-2147483648,"l":9223372036854775807,"f":1.5,"d":-1.7976931348623157e+308,` +
  `"dec":-12345678901234567890.123456789012345678,"s":"","da":"1582-10-14","ts":"1969-12-31T23:59:59.999Z",` +
  `"ntz":"2024-06-15T12:30:00.001","n":{"x":9007199254740993}}`;
const stats =
  `{"numRecords":9007199254740993,"minValues":${bounds},"maxValues":${bounds},` +
  `"nullCount":{"by":1,"b":2,"n":{"x":3,"y":4},"a":5},"tightBounds":false}`;
const partitionColumns = ["p", "q"];
const adds: Action[] = [
  { add: file("full", { dataChange: false, stats, partitionValues: { p: "12.50", q: "é" } }) },
  { add: file("none", { dataChange: false, partitionValues: { p: null, q: null } }) },
  { add: file("bare", { dataChange: false, stats: "no JSON", partitionValues: { p: "x", q: "y" } }) },
];

async function back(asJson: boolean) {
  const asColumnsOf = { schema: wide, partitionColumns, configuration: {} };
  const { bytes } = await encodeCheckpoint(adds, { asJson, asColumnsOf });
  const rows = await rowsOf(bytes);
  const texts = rows.map((row) => ("add" in row ? row.add.stats : undefined));
  return { bytes, texts };
}

test("statistics that stand in columns alone come back as they were, digit for digit", async () => {
  const { texts } = await back(false);
  // The reader says numbers and text its own way, so both are compared as it says them.
  const plain = (text: string) => text.replaceAll("1.7976931348623157e+308", "1.7976931348623157e308");
  assert.equal(plain(texts[0]!), plain(stats));
  assert.deepEqual(texts.slice(1), [undefined, undefined]);
});

test("beside columns the text stays what it was", async () => {
  assert.deepEqual((await back(true)).texts, [stats, undefined, "no JSON"]);
});

test("partition values stand as typed columns, with null for what is no value of the type", async () => {
  const { bytes } = await back(true);
  const add = tableFromIPC(readParquet(bytes).intoIPCStream()).getChild("add")!;
  const parsed = add.getChild("partitionValues_parsed")!;
  assert.deepEqual(
    [0, 1, 2].map((row) => String(parsed.getChild("q")!.get(row))),
    ["é", "null", "y"],
  );
  const decimals = [0, 1, 2].map((row) => parsed.getChild("p")!.get(row));
  assert.equal(String(decimals[0]), "1250");
  assert.deepEqual(decimals.slice(1), [null, null]);
});

test("a table says which form its checkpoints have, and text goes only where columns are written", async () => {
  const cases: [Record<string, string>, string[]][] = [
    [{}, ["stats"]],
    [{ "delta.checkpoint.writeStatsAsJson": "false" }, ["stats"]],
    [{ "delta.checkpoint.writeStatsAsStruct": "true" }, ["stats", "stats_parsed"]],
    [
      { "delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false" },
      ["stats_parsed"],
    ],
  ];
  for (const [configuration, expected] of cases) {
    const store = memoryStore();
    const table = await createTable(store, { schema, configuration }, signal);
    const text = '{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}';
    await commit(table, { adds: [file("a", { stats: text })] });
    await table.checkpoint(await table.latest(signal), signal);
    const parquet = readParquet(await store.get(checkpointPath(1), signal));
    const columns = tableFromIPC(parquet.intoIPCStream()).getChild("add")!.type.children as {
      name: string;
    }[];
    assert.deepEqual(
      columns.map(({ name }) => name).filter((name) => /^stats/.test(name)),
      expected,
    );
    for (const version of [0, 1]) await store.delete(commitPath(version), signal);
    const [add] = (await (await openTable(store, signal)).latest(signal)).files();
    assert.equal(add?.stats, text);
  }
});
