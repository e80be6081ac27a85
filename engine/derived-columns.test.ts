import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { partitionDirectory } from "../delta/partition-path.ts";
import type { DataType, StructType } from "../delta/types.ts";
import {
  batchOf,
  openWorkbench,
  planFor,
  START_MS,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";
import type { EncodedFile, EncodePlan } from "./encoder.ts";
import { derivedFields, derivedOf, parsePartitioning } from "./partitioning.ts";

const HOUR = 3_600_000;

/** A plan for a new table of `columns` that is partitioned by `items`. */
function partitionedBy(
  items: readonly string[],
  columns: StructType,
  changes: Partial<EncodePlan> = {},
): EncodePlan {
  const { columns: partitionColumns, derived } = parsePartitioning(items);
  const fields = [...columns.fields, ...derivedFields(columns.fields, derived)];
  const plan = planFor({ type: "struct", fields }, { partitionColumns, ...changes });
  return { ...plan, derived: derivedOf(plan.schema, partitionColumns) };
}

const valuesOf = (files: readonly EncodedFile[]) =>
  files.map(({ partitionValues, rows }) => [...Object.values(partitionValues), rows]).sort();

test("date and hour come from the message's time in UTC; late messages join or make their old partitions", async (t) => {
  const { encoder } = await openWorkbench(t);
  const times = [
    START_MS,
    START_MS + HOUR,
    START_MS - 365 * 24 * HOUR,
    START_MS + 1,
    0,
    -1,
    START_MS - 9 * HOUR,
  ];
  const batch = batchOf(
    times.map((_, id) => `{"id":${id}}`),
    (i) => ({ timestampMs: times[i]! }),
  );
  const { files } = await encoder.encode(
    batch,
    partitionedBy(["date", "hour"], struct({ id: "long" })),
    signal,
  );
  assert.deepEqual(valuesOf(files), [
    ["1969-12-31", "23", 1],
    ["1970-01-01", "00", 1],
    ["2024-11-25", "08", 1],
    ["2025-11-24", "23", 1],
    ["2025-11-25", "08", 2],
    ["2025-11-25", "09", 1],
  ]);
});

test("what a message says itself counts; what it leaves open is derived", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = partitionedBy(["date", "hour", "bucket(4, id)"], struct({ id: "string" }));
  const batch = batchOf([
    '{"id":"a","date":"tomorrow","hour":"noon","id_bucket":99}',
    '{"id":"a"}',
    '{"id":"a","hour":null}',
  ]);
  const { files, evolvedSchema } = await encoder.encode(batch, plan, signal);
  assert.deepEqual(valuesOf(files), [
    ["2025-11-25", "08", "1", 2],
    ["tomorrow", "noon", "99", 1],
  ]);
  assert.equal(evolvedSchema, undefined);
});

test("a transform's columns count, too, and buckets are of what it yields", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = partitionedBy(["hour", "bucket(1000, name)"], struct({ name: "string" }), {
    transform: "SELECT upper(n) AS name, CASE WHEN n = 'b' THEN '24' END AS hour, _kafka FROM messages",
  });
  const { files } = await encoder.encode(batchOf(['{"n":"a"}', '{"n":"b"}']), plan, signal);
  assert.deepEqual(valuesOf(files), [
    ["08", bucket("A", 1000), 1],
    ["24", bucket("B", 1000), 1],
  ]);
});

/** As the documentation says: the first 8 hex digits of the MD5 of the value's text, modulo the number of buckets. */
function bucket(text: string | Uint8Array, count: number): string {
  return String(Number.parseInt(createHash("md5").update(text).digest("hex").slice(0, 8), 16) % count);
}

const BUCKETED: readonly (readonly [type: DataType, json: string, text: string | Uint8Array])[] = [
  ["string", '"customer-1"', "customer-1"],
  ["string", '""', ""],
  ["string", '"日本 😀"', "日本 😀"],
  ["byte", "-5", "-5"],
  ["integer", "5", "5"],
  ["long", "9223372036854775807", "9223372036854775807"],
  ["boolean", "true", "true"],
  ["date", '"2024-02-29"', "2024-02-29"],
  ["binary", '"AAH/"', new Uint8Array([0, 1, 255])],
  ["decimal(38,0)", "100", "100"],
  ["decimal(10,2)", "100", "100"],
  ["decimal(10,2)", "5.50", "5.5"],
  ["decimal(10,2)", "-0.05", "-0.05"],
  ["decimal(10,2)", "0", "0"],
];

test("buckets are the same for ever, and for a value whose column was widened", async (t) => {
  const { encoder } = await openWorkbench(t);
  for (const [type, json, text] of BUCKETED) {
    const plan = partitionedBy(["bucket(65536, v)"], struct({ v: type }));
    const { files } = await encoder.encode(batchOf([`{"v":${json}}`]), plan, signal);
    assert.deepEqual(valuesOf(files), [[bucket(text, 65536), 1]], `${json} as ${type}`);
  }
  // Written down once, lest the formula and its test change together.
  assert.equal(bucket("customer-1", 65536), "62134");
  assert.equal(bucket("5", 16), "15");
});

test("without a value there is no bucket: the row is in the partition of null", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = partitionedBy(["bucket(16, v)"], struct({ v: "string" }));
  const { files } = await encoder.encode(batchOf(["{}", '{"v":null}']), plan, signal);
  assert.deepEqual(valuesOf(files), [[null, 2]]);
});

test("messages of text and of bytes fall into buckets by key", async (t) => {
  const { encoder } = await openWorkbench(t);
  for (const [format, type] of [
    ["text", "string"],
    ["bytes", "binary"],
  ] as const) {
    const plan = partitionedBy(["bucket(16, key)"], struct({ key: type, value: type }), { format });
    const batch = batchOf(["x", "y"], (i) => ({ key: i === 0 ? Buffer.from("k") : null }));
    const { files } = await encoder.encode(batch, plan, signal);
    assert.deepEqual(
      valuesOf(files),
      [
        [bucket("k", 16), 1],
        [null, 1],
      ].sort(),
      format,
    );
  }
});

const ODD = [
  "a b",
  "a/b",
  "a=b",
  "100%",
  "%2F",
  "..",
  ".",
  "日本",
  "😀",
  "e\u0301",
  "a'b\"c",
  "a\\b",
  "a:b*c?d#e",
  "tab\tnew\nline",
  "__HIVE_DEFAULT_PARTITION__",
  "null",
  " ",
  "x".repeat(5000),
  `${"x".repeat(5000)}y`,
];

test("any text partitions a table, and each value is one partition of its own", async (t) => {
  const bench = await openWorkbench(t);
  const plan = partitionedBy(["p"], struct({ id: "long", p: "string" }));
  const batch = batchOf([...ODD, ...ODD].map((p, id) => JSON.stringify({ id, p })));
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual(valuesOf(encoded.files), ODD.map((p) => [p, 2]).sort());
  for (const [id, row] of rows) assert.equal(row.p, ODD[id % ODD.length]);
  for (const { partitionValues } of encoded.files) {
    const folder = partitionDirectory(["p"], partitionValues);
    assert.ok(Buffer.byteLength(folder) <= 255 && !/[/\n]/.test(folder) && folder.startsWith("p="), folder);
  }
});
