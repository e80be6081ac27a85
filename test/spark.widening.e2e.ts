import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { arrayOf, struct } from "./support/encoder-fixture.ts";
import { startSpark } from "./support/spark.ts";
import { streamFixture } from "./support/stream-fixture.ts";

const COLUMNS = struct({
  id: "integer",
  b: "byte",
  f: "float",
  d: "decimal(5,2)",
  l: arrayOf("short"),
  s: struct({ n: "integer" }),
});
const READ =
  "CAST(id AS STRING) AS id, CAST(b AS STRING) AS b, f > 1e38 AS f, CAST(d AS STRING) AS d, CAST(l[0] AS STRING) AS l, CAST(s.n AS STRING) AS s";

test("Spark reads files from before and after our stream widened their columns, and the stream goes on after Spark did the same", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const send = (value: string) => fixture.kafka.append("t", 0, [{ key: null, value }]);
  const options = { once: true, schema: COLUMNS, tableProperties: { "delta.enableTypeWidening": "true" } };
  const table = join(fixture.folder, "table");
  const expected: object[] = [];

  send('{"id":1,"b":1,"f":1,"d":1.25,"l":[1],"s":{"n":1}}');
  await fixture.start(options).ended;
  expected.push({ id: "1", b: "1", f: false, d: "1.250", l: "1", s: "1" });
  send('{"id":3000000000,"b":-129,"f":1e39,"d":1234.125,"l":[70000],"s":{"n":-3000000000}}');
  await fixture.start(options).ended;
  expected.push({ id: "3000000000", b: "-129", f: true, d: "1234.125", l: "70000", s: "-3000000000" });

  const spark = await startSpark(t, table);
  const lines: unknown[] = [];
  for (const sql of [
    `SELECT ${READ} FROM {t} ORDER BY id`,
    "SELECT count(*) AS c FROM {t} WHERE id = 3000000000 AND b < -128 AND d > 1000",
    "ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT",
    "ALTER TABLE {t} ADD COLUMNS (note STRING)",
    "INSERT INTO {t} (id, b, note) VALUES (7, 9000000000, 'spark')",
  ])
    lines.push(await spark({ sql }));
  assert.deepEqual(lines.slice(0, 2), [expected, [{ c: 1 }]]);
  expected.push({ id: "7", b: "9000000000", f: null, d: null, l: null, s: null });

  send('{"id":8,"b":8000000000,"note":"ours"}');
  await fixture.start({ ...options, onUnknownField: "deadletter" }).ended;
  expected.push({ id: "8", b: "8000000000", f: null, d: null, l: null, s: null });
  const order = "ORDER BY CAST(id AS STRING)";
  expected.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  // The first item of a list is 1 in DuckDB.
  assert.deepEqual(await fixture.rows(`SELECT ${READ.replace("l[0]", "l[1]")} FROM t ${order}`), expected);
  assert.deepEqual(await spark({ sql: `SELECT ${READ} FROM {t} ${order}` }), expected);
});
