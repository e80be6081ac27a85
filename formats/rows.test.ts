/** From the bytes of each format to rows in a file: that the columns a format promises hold what its decoder gives. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StructType } from "../delta/types.ts";
import { batchOf, openWorkbench, planFor, struct, type Workbench } from "../test/support/encoder-fixture.ts";
import { fixedRegistry, framed } from "../test/support/fixed-registry.ts";
import { ORDER, SHOP_PROTO } from "../test/support/protobuf-fixture.ts";
import { createCsvDecoder } from "./csv.ts";
import { decodeBatch } from "./decode-batch.ts";
import type { Decoder } from "./decoder.ts";
import { createJsonLinesDecoder } from "./json-lines.ts";
import { createRegistryJsonSchemaDecoder } from "./json-schema.ts";
import { createProtobufDecoder } from "./protobuf.ts";

const signal = new AbortController().signal;

/** Rows as JSON with numbers as digits, and codes of letters; by place among the objects. */
async function rowsOf(
  bench: Workbench,
  decoder: Decoder,
  values: readonly Uint8Array[],
  schema: StructType | null = decoder.schema(),
) {
  await decoder.prepare(values, signal);
  const batch = { length: values.length, value: (i: number) => values[i]! };
  const decoded = decodeBatch(batch, decoder, { gzip: true });
  assert.ok(decoded !== "unchanged");
  assert.deepEqual(decoded.bad, []);
  const plan = planFor(schema ?? decoder.schema()!, { onUnknownField: "deadletter" });
  const { encoded, rows } = await bench.encode(batchOf(decoded.parts.map(({ json }) => json)), plan);
  const read = [...rows.values()].map(({ _kafka, ...row }) => row);
  return { rows: JSON.parse(JSON.stringify(read, digits)), codes: encoded.bad.map(({ code }) => code) };
}

/** `lossless-json` keeps numbers as objects that say their digits. */
function digits(_key: string, value: unknown): unknown {
  return typeof value === "object" && value !== null && "isLosslessNumber" in value ? String(value) : value;
}

test("Protobuf: each field's column holds what it says", async (t) => {
  const bench = await openWorkbench(t);
  const decoder = createProtobufDecoder({ file: { text: SHOP_PROTO, references: [] }, message: "Order" });
  const { rows, codes } = await rowsOf(bench, decoder, [ORDER, new Uint8Array()]);
  assert.deepEqual(codes, []);
  const [order, empty] = rows;
  assert.deepEqual(
    {
      id: order.id,
      big: order.big,
      weight: order.weight,
      payload: order.payload,
      placed_at: order.placed_at,
      took: order.took,
      total: order.total,
      by_name: order.by_name,
      colours: order.colours,
      gift: order.gift,
      any: order.any,
      extra: order.extra,
      tree: order.tree,
    },
    {
      id: "-9223372036854775808",
      big: "18446744073709551615",
      weight: String(Math.fround(0.1)),
      payload: "\\x00\\xFF\\x10",
      placed_at: "2024-03-01 00:00:00.123456+00",
      took: "-1.500000000",
      total: "18446744073709551615",
      by_name: { 'k"1': { sku: "v", count: "0" }, "": { sku: "", count: "0" } },
      colours: { "-5": "RED", "7": "9" },
      gift: null,
      any: { type_url: "type.googleapis.com/shop.Item", value: "\\x0A\\x01q" },
      extra: '{"a":1.5,"b":[true,null,"x",{"c":{}}]}',
      tree: { name: "r", children: ['{"name":"c","children":[{"name":"g","children":[]}]}'] },
    },
  );
  assert.deepEqual(
    [empty.id, empty.note, empty.maybe, empty.placed_at, empty.tags],
    ["0", "", null, null, []],
  );
});

test("Protobuf: times finer than a timestamp are letters, and rows where the column is text", async (t) => {
  const bench = await openWorkbench(t);
  const text = `syntax = "proto3"; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp t = 1; }`;
  const decoder = createProtobufDecoder({ file: { text, references: [] } });
  const nanos = Buffer.from([10, 2, 16, 1]);
  assert.deepEqual(await rowsOf(bench, decoder, [nanos]), { rows: [], codes: ["BAD_TIME"] });
  const { rows } = await rowsOf(bench, decoder, [nanos], struct({ t: "string" }));
  assert.deepEqual(rows, [{ t: "1970-01-01T00:00:00.000000001Z" }]);
});

test("CSV: texts become what the columns are, or letters that the encoder names", async (t) => {
  const bench = await openWorkbench(t);
  const columns = struct({ n: "decimal(20,2)", b: "boolean", t: "timestamp", s: "string", y: "binary" });
  const lines = [
    '12345678901234567.10,TRUE,2024-01-01T00:00:00Z,"a,b",AP8=',
    ',,,"",""',
    "x,,,,",
    ",1,,,",
    ",,today,,",
  ];
  const { rows, codes } = await rowsOf(
    bench,
    createCsvDecoder({ columns }),
    [...lines, ",,,,no base64"].map((line) => Buffer.from(line)),
  );
  assert.deepEqual(rows, [
    { n: "12345678901234567.10", b: true, t: "2024-01-01 00:00:00+00", s: "a,b", y: "\\x00\\xFF" },
    { n: null, b: null, t: null, s: "", y: "" },
  ]);
  assert.deepEqual(codes, ["WRONG_TYPE", "WRONG_TYPE", "BAD_TIME", "BAD_BASE64"]);
});

test("several JSON objects: each is a row that has its place", async (t) => {
  const bench = await openWorkbench(t);
  const columns = struct({ _kafka_index: "integer", a: "long" });
  assert.deepEqual(columns.fields.slice(0, 1), createJsonLinesDecoder().schema()?.fields);
  const { rows } = await rowsOf(
    bench,
    createJsonLinesDecoder(),
    [Buffer.from('{"a":1}\n{}\n{"a":3}')],
    columns,
  );
  assert.deepEqual(rows, [
    { _kafka_index: "0", a: "1" },
    { _kafka_index: "1", a: null },
    { _kafka_index: "2", a: "3" },
  ]);
});

test("JSON by a schema: the columns it promises take what fits it", async (t) => {
  const bench = await openWorkbench(t);
  const schema = {
    properties: {
      id: { type: "integer" },
      at: { type: "string", format: "date-time" },
      m: { additionalProperties: { type: "number" }, type: "object" },
    },
  };
  const decoder = createRegistryJsonSchemaDecoder(
    fixedRegistry([{ type: "JSON", text: JSON.stringify(schema) }]),
  );
  const values = [
    '{"id":9007199254740993,"at":"2024-01-01T00:00:00+02:00","m":{"x":0.1}}',
    '{"id":1e30}',
    '{"at":"2024-01-01T00:00:00.0000001Z"}',
  ].map((json) => framed(1, Buffer.from(json)));
  await decoder.prepare(values, signal);
  const { rows, codes } = await rowsOf(bench, decoder, values);
  assert.deepEqual(rows, [{ id: "9007199254740993", at: "2023-12-31 22:00:00+00", m: { x: "0.1" } }]);
  assert.deepEqual(codes, ["OUT_OF_RANGE", "BAD_TIME"]);
});
