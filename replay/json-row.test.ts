import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "lossless-json";
import { isLabError, type LabError } from "../core/errors.ts";
import type { DataType } from "../delta/types.ts";
import { openEngine, quoteName } from "../engine/instance.ts";
import { sqlType } from "../engine/sql-types.ts";
import { batchOf, openWorkbench, planFor, struct } from "../test/support/encoder-fixture.ts";
import { explainFailure } from "./failure.ts";
import { jsonObject } from "./json-row.ts";

/** A row of these columns as JSON. */
async function written(
  columns: Readonly<Record<string, readonly [value: string, type: DataType]>>,
): Promise<string> {
  const engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
  const entries = Object.entries(columns);
  const fields = entries.map(([name, [, type]]) => ({ name, type }));
  // As a table holds them, so that nothing is known of a value before it is read.
  const select = entries.map(
    ([name, [value, type]]) => `CAST(${value} AS ${sqlType(type)}) AS ${quoteName(name)}`,
  );
  try {
    await engine.run(`CREATE TEMP TABLE t AS SELECT ${select.join(", ")}`);
    const [row] = await engine.rows(`SELECT ${jsonObject(fields, quoteName)} AS text FROM t`);
    return String(row!.text);
  } finally {
    engine.close();
  }
}

test("rows are told digit for digit, NULL fields left out", async () => {
  assert.equal(
    await written({
      l: ["9223372036854775807", "long"],
      d: ["1.10", "decimal(10,2)"],
      m: ["-0.05", "decimal(4,2)"],
      w: ["12", "decimal(3,0)"],
      gone: ["NULL", "integer"],
      nothing: ["NULL", "void"],
      z: ["'-0.0'", "double"],
      i: ["'Infinity'", "double"],
      j: ["'-Infinity'", "float"],
      k: ["'NaN'", "double"],
      f: ["0.1", "float"],
      s: ["'a\"\u2028'", "string"],
      p: ["'it''s / plain \u2028 é'", "string"],
      c: ["chr(31) || chr(92)", "string"],
      b: ["'ab'::BLOB", "binary"],
      t: ["true", "boolean"],
    }),
    '{"l":9223372036854775807,"d":1.10,"m":-0.05,"w":12,"z":-0.0,"i":"Infinity","j":"-Infinity","k":"NaN","f":0.10000000149011612,"s":"a\\"\u2028","p":"it\'s / plain \u2028 é","c":"\\u001F\\\\","b":"YWI=","t":true}',
  );
  assert.equal(
    await written({
      d: ["'2024-02-29'", "date"],
      first: ["'0001-01-01'", "date"],
      z: ["'2024-02-29 01:02:03.000004+00'", "timestamp"],
      n: ["'1969-12-31 23:59:59.999999'", "timestamp_ntz"],
      last: ["'9999-12-31 23:59:59.999999'", "timestamp_ntz"],
    }),
    '{"d":"2024-02-29","first":"0001-01-01","z":"2024-02-29T01:02:03.000004Z","n":"1969-12-31T23:59:59.999999","last":"9999-12-31T23:59:59.999999"}',
  );
  const list = (elementType: DataType): DataType => ({ type: "array", elementType, containsNull: true });
  const map = (keyType: DataType, valueType: DataType): DataType => ({
    ...{ type: "map", keyType, valueType },
    valueContainsNull: true,
  });
  assert.equal(
    await written({
      s: ["{'a': [1, NULL], 'b': NULL}", struct({ a: list("integer"), b: "integer" })],
      o: ["{'x y': NULL}", struct({ "x y": "integer" })],
      none: ["NULL", struct({ a: "integer" })],
      m: ["MAP {'k': {'x': 1}}", map("string", struct({ x: "integer" }))],
      q: ["MAP {'\"': NULL}", map("string", "integer")],
      n: ["MAP {1: 'v'}", map("integer", "string")],
      e: ["[]", list("integer")],
      d: ["[[{'a': 1}, NULL], NULL]", list(list(struct({ a: "integer" })))],
      gone: ["NULL", list("integer")],
      lost: ["NULL", map("string", "integer")],
    }),
    '{"s":{"a":[1,null]},"o":{},"m":{"k":{"x":1}},"q":{"\\"":null},"n":[[1,"v"]],"e":[],"d":[[{"a":1},null],null]}',
  );
  assert.equal(await written({ 'a"b': ["1", "integer"], "it's": ["2", "byte"] }), '{"a\\"b":1,"it\'s":2}');
});

test("a decimal without digits before its point has a zero there, as JSON wants it", async () => {
  const columns = {
    f: ["0.05", "decimal(2,2)"],
    m: ["-0.05", "decimal(2,2)"],
    z: ["0", "decimal(2,2)"],
    w: ["'-0.12345678901234567890123456789012345678'", "decimal(38,38)"],
    n: ["NULL", "decimal(2,2)"],
    l: ["[0.5, NULL]", { type: "array", elementType: "decimal(1,1)", containsNull: true }],
  } as const;
  assert.equal(
    await written(columns),
    '{"f":0.05,"m":-0.05,"z":0.00,"w":-0.12345678901234567890123456789012345678,"l":[0.5,null]}',
  );
});

test("a time that JSON has no form for is named, in microseconds", async () => {
  const failing = async (value: string, type: DataType) => {
    const failed: unknown = await written({ d: [value, type] }).catch((error: unknown) => error);
    const data = { files: [], explain: async (error: unknown) => error, close: async () => {} };
    return (await explainFailure(failed, data)) as LabError;
  };
  const found = await failing("'20000-01-01'", "date");
  assert.ok(isLabError(found, "SCHEMA_MISMATCH"), String(found));
  assert.match(found.message, /a time of 568971820800000000 microseconds since 1970/);
  for (const type of ["timestamp", "timestamp_ntz"] as const)
    assert.ok(isLabError(await failing("make_timestamp(-62135596800000001)", type), "SCHEMA_MISMATCH"));
  for (const type of ["date", "timestamp", "timestamp_ntz"] as const) {
    const endless = await failing("'-infinity'", type);
    assert.ok(isLabError(endless, "SCHEMA_MISMATCH"), String(endless));
    assert.match(endless.message, /^-infinity, as a time, has no form in JSON/);
  }
});

test("a JSON stream reads what is written into the same row again", async (t) => {
  const bench = await openWorkbench(t);
  const fields: Record<string, DataType> = {
    l: "long",
    d: "decimal(20,5)",
    f: "float",
    x: "double",
    s: "string",
    b: "binary",
    day: "date",
    at: "timestamp",
    list: { type: "array", elementType: "integer", containsNull: true },
    deep: struct({ a: "string", b: struct({ c: "boolean" }) }),
    map: { type: "map", keyType: "string", valueType: "double", valueContainsNull: true },
  };
  const values: Record<string, string> = {
    l: "-9007199254740993",
    d: "123456789012345.67890::DECIMAL(20,5)",
    f: "0.1::FLOAT",
    x: "1e-300::DOUBLE",
    s: `E'tab\\t "ü"'`,
    b: "'\\x00\\xFF'::BLOB",
    day: "'1600-01-01'::DATE",
    at: "TIMESTAMPTZ '1969-07-20 20:17:40.000001+00'",
    list: "[1, NULL, 3]::INTEGER[]",
    deep: "{'a': '', 'b': {'c': false}}",
    map: "MAP {'': 1.5::DOUBLE, 'n': NULL}",
  };
  const row = Object.entries(values)
    .map(([name, value]) => `${value} AS ${name}`)
    .join(", ");
  const text = await written(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value, fields[name]!]])),
  );
  const { encoded, rows } = await bench.encode(batchOf([text]), planFor(struct(fields)));
  assert.deepEqual(encoded.bad, []);
  const { _kafka, ...first } = rows.get(0)!;
  const engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
  t.after(() => engine.close());
  const [wanted] = await engine.rows(`SELECT to_json(r)::VARCHAR AS text FROM (SELECT ${row}) AS r`);
  assert.deepEqual(first, parse(String(wanted!.text)));
});
