import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "lossless-json";
import { isLabError } from "../core/errors.ts";
import type { DataType } from "../delta/types.ts";
import { openEngine } from "../engine/instance.ts";
import { stream } from "../engine/result.ts";
import { batchOf, openWorkbench, planFor, struct } from "../test/support/encoder-fixture.ts";
import { jsonWriter } from "./json-row.ts";

const signal = new AbortController().signal;

/** A row of each as JSON, by the types that the engine gives it. */
async function written(select: string): Promise<string[]> {
  const engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
  try {
    await engine.run("SET TimeZone = 'UTC'");
    const { columns, chunks } = await stream(engine, `SELECT ${select}`, signal);
    const write = jsonWriter(columns);
    const texts: string[] = [];
    for await (const rows of chunks) texts.push(...rows.map(write));
    return texts;
  } finally {
    engine.close();
  }
}

test("rows are told digit for digit, NULL fields left out", async () => {
  assert.deepEqual(
    await written(`9223372036854775807 AS l, 1.10::DECIMAL(10,2) AS d, -0.05::DECIMAL(4,2) AS m, 12::DECIMAL(3,0) AS w,
      NULL::INTEGER AS gone, '-0.0'::DOUBLE AS z, 'Infinity'::DOUBLE AS i, 'a"\u2028' AS s, 'ab'::BLOB AS b, true AS t`),
    [
      '{"l":9223372036854775807,"d":1.10,"m":-0.05,"w":12,"z":-0.0,"i":"Infinity","s":"a\\"\u2028","b":"YWI=","t":true}',
    ],
  );
  assert.deepEqual(
    await written(
      `'2024-02-29'::DATE AS d, '0001-01-01'::DATE AS first, TIMESTAMPTZ '2024-02-29 01:02:03.000004+00' AS z, TIMESTAMP '1969-12-31 23:59:59.999999' AS n`,
    ),
    [
      '{"d":"2024-02-29","first":"0001-01-01","z":"2024-02-29T01:02:03.000004Z","n":"1969-12-31T23:59:59.999999"}',
    ],
  );
  assert.deepEqual(
    await written(
      `{'a': [1, NULL], 'b': NULL::INTEGER} AS s, MAP {'k': {'x': 1}} AS m, MAP {1: 'v'} AS n, [] AS e`,
    ),
    ['{"s":{"a":[1,null]},"m":{"k":{"x":1}},"n":[[1,"v"]],"e":[]}'],
  );
  await assert.rejects(written("'20000-01-01'::DATE AS d"), (error) => isLabError(error, "SCHEMA_MISMATCH"));
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
  const row = `-9007199254740993 AS l, 123456789012345.67890::DECIMAL(20,5) AS d, 0.1::FLOAT AS f, 1e-300::DOUBLE AS x, E'tab\\t "ü"' AS s,
    '\\x00\\xFF'::BLOB AS b, '1600-01-01'::DATE AS day, TIMESTAMPTZ '1969-07-20 20:17:40.000001+00' AS at, [1, NULL, 3]::INTEGER[] AS list,
    {'a': '', 'b': {'c': false}} AS deep, MAP {'': 1.5::DOUBLE, 'n': NULL} AS map`;
  const [text] = await written(row);
  const { encoded, rows } = await bench.encode(batchOf([text!]), planFor(struct(fields)));
  assert.deepEqual(encoded.bad, []);
  const { _kafka, ...first } = rows.get(0)!;
  const engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
  t.after(() => engine.close());
  const [wanted] = await engine.rows(`SELECT to_json(r)::VARCHAR AS text FROM (SELECT ${row}) AS r`);
  assert.deepEqual(first, parse(String(wanted!.text)));
});
