/** The encoder's files, read by pyarrow: types, values and nulls as Delta's readers want them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  arrayOf,
  batchOf,
  mapOf,
  openWorkbench,
  planFor,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";
import { python } from "../test/support/python.ts";

const READ = `
import json, sys, datetime, decimal, base64
import pyarrow.parquet as pq
def plain(v):
    if isinstance(v, datetime.datetime): return v.isoformat()
    if isinstance(v, (datetime.date, decimal.Decimal)): return str(v)
    if isinstance(v, bytes): return base64.b64encode(v).decode()
    if isinstance(v, dict): return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)): return [plain(x) for x in v]
    return v
f = pq.ParquetFile(sys.argv[1])
print(json.dumps({
  "arrow": {n.name: str(n.type) for n in f.schema_arrow},
  "codec": f.metadata.row_group(0).column(0).compression,
  "rows": [plain(r) for r in f.read().to_pylist()],
}))
`;

for (const name of ["encoder", "duckdb"] as const)
  test(`pyarrow reads every type with its value, of files by ${name === "duckdb" ? "DuckDB" : "columns"}`, async (t) => {
    const bench = await openWorkbench(t);
    const schema = struct({
      b: "byte",
      s: "short",
      i: "integer",
      l: "long",
      f: "float",
      d: "double",
      n: "decimal(20,3)",
      t: "boolean",
      text: "string",
      bin: "binary",
      day: "date",
      at: "timestamp",
      local: "timestamp_ntz",
      list: arrayOf("long"),
      map: mapOf(struct({ x: "binary" })),
      in: struct({ a: "long", deep: arrayOf(struct({ z: "string" })) }),
    });
    const full = `{"b":-128,"s":-32768,"i":-2147483648,"l":9223372036854775807,"f":1.5,"d":0.1,"n":12345678901234567.891,"t":true,
    "text":"größe 🦆","bin":"AP8=","day":"2024-02-29","at":"2024-02-29T12:00:00.123456+02:00","local":"2024-02-29T12:00:00.5",
    "list":[1,null],"map":{"k":{"x":"AQ=="},"n":null},"in":{"a":null,"deep":[{"z":"y"},null]}}`;
    const batch = batchOf([full, "{}"], (i) => ({
      key: i === 0 ? Buffer.from("k") : null,
      headers: [["h", Buffer.from([7])]],
    }));
    const encoded = await bench[name].encode(batch, planFor(schema), signal);
    assert.deepEqual(encoded.bad, []);
    const read = JSON.parse(
      (await python(READ, [encoded.files[0]!.file])).replaceAll(
        "9223372036854775807",
        '"9223372036854775807"',
      ),
    );
    // Pages that packing makes no smaller are left as they are.
    assert.equal(read.codec, name === "duckdb" ? "ZSTD" : "UNCOMPRESSED");
    assert.deepEqual(read.arrow, {
      b: "int8",
      s: "int16",
      i: "int32",
      l: "int64",
      f: "float",
      d: "double",
      n: "decimal128(20, 3)",
      t: "bool",
      text: "string",
      bin: "binary",
      day: "date32[day]",
      at: "timestamp[us, tz=UTC]",
      local: "timestamp[us]",
      list: "list<element: int64>",
      map: "map<string, struct<x: binary> ('map')>",
      in: "struct<a: int64, deep: list<element: struct<z: string>>>",
      _kafka:
        "struct<topic: string, partition: int32, offset: int64, timestamp: timestamp[us, tz=UTC], timestamp_type: string, key: binary, headers: list<element: struct<key: string, value: binary>>, generation: int32>",
    });
    const kafka = {
      topic: "orders",
      partition: 0,
      offset: 0,
      timestamp: "2025-11-25T08:00:00+00:00",
      timestamp_type: "create",
      key: "aw==",
      headers: [{ key: "h", value: "Bw==" }],
      generation: 0,
    };
    assert.deepEqual(read.rows[0], {
      b: -128,
      s: -32768,
      i: -2147483648,
      l: "9223372036854775807",
      f: 1.5,
      d: 0.1,
      n: "12345678901234567.891",
      t: true,
      text: "größe 🦆",
      bin: "AP8=",
      day: "2024-02-29",
      at: "2024-02-29T10:00:00.123456+00:00",
      local: "2024-02-29T12:00:00.500000",
      list: [1, null],
      map: [
        ["k", { x: "AQ==" }],
        ["n", null],
      ],
      in: { a: null, deep: [{ z: "y" }, null] },
      _kafka: kafka,
    });
    const empty = Object.fromEntries(schema.fields.map(({ name }) => [name, null]));
    assert.deepEqual(read.rows[1], {
      ...empty,
      _kafka: { ...kafka, partition: 1, offset: 1, key: null, timestamp: "2025-11-25T08:00:00.001000+00:00" },
    });
  });
