/** Kinds of Parquet that other writers make, read through `lab batch`: values by value, against what was written. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { referee } from "../test/support/python.ts";
import { runBatch } from "./batch.ts";
import { openQuery } from "./query.ts";

const signal = new AbortController().signal;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "parquet-kinds-"));
  await referee("parquet_kinds.py", [folder]);
});

after(() => rm(folder, { recursive: true, force: true }));

/** Table, what is promised of it, and its rows. */
const cases: [table: string, promise: string, rows: string[]][] = [
  [
    "widened",
    "files from before a type was widened are read as the wider type, at every depth",
    [
      '["1",-3,1.100000023841858,"1.23000","1500-01-01T00:00:00.000000",7,"7.0",{"x":"1","l":[1,2],"d":"1.500"},[["1",1.5]],["1970-01-02T00:00:00.000000"]]',
      '[null,127,"NaN","-9.99000","9999-12-31T00:00:00.000000",8,"-8.0",null,[],null]',
    ],
  ],
  [
    "int96",
    "INT96 is a timestamp, before 1970 too",
    ['["1700-01-01T00:00:00.000000Z"]', '["1969-12-31T23:59:59.999999Z"]', "[null]"],
  ],
  [
    "millis",
    "milliseconds are timestamps from year 1 to 9999, with and without zone",
    ["0001-01-01T00:00:00.000000", "1582-10-04T01:02:03.000000", "9999-12-31T23:59:59.999000"].map(
      (time) => `["${time}Z","${time}"]`,
    ),
  ],
  ...["decimals as integers", "decimals as bytes"].map((table): (typeof cases)[number] => [
    table,
    `${table} keep all digits`,
    [
      '["1234567.89","12345678901234.5678","1234567890123456789012345678.0123456789"]',
      '["-0.01","-0.0001","-0.0000000001"]',
    ],
  ]),
  [
    "floats",
    "infinities, NaN, the largest and the smallest numbers are themselves",
    [
      '["Infinity","NaN"]',
      '["-Infinity",1.7976931348623157e+308]',
      "[0,5e-324]",
      "[3.4028234663852886e+38,0]",
    ],
  ],
  [
    "far times",
    "days and times before year 1, before 1582 and after 9999 are themselves",
    [
      '["-000221-09-04","0000-12-31T23:59:59.999999Z"]',
      '["1582-10-14","+010000-01-01T00:00:00.000000Z"]',
      '["+010000-01-01","+287168-08-24T16:00:00.000000Z"]',
      '["+029349-01-26","-283229-05-10T08:00:00.000000Z"]',
    ],
  ],
  [
    "names",
    "columns may have any name",
    [`[${Array.from({ length: 11 }, (_, index) => `"${index}"`).join(",")},{"in.ner":"5","q\\"x":"y"}]`],
  ],
  [
    "mapped by name",
    "nested fields are found by their physical names, also inside of lists and maps",
    ['[{"b":1,"c":[{"d":5,"new":null}]},null]'],
  ],
  [
    "mapped by id",
    "nested fields are found by their ids, whatever each file calls them",
    Array.from({ length: 3 }, () => '[{"b":1,"c":[{"d":5,"new":null}]},null]'),
  ],
  [
    "texts without a name for it",
    "texts are texts where the file says only that they are bytes",
    ['["ü\\\\x41",{"t":["😀"]}]', "[null,null]"],
  ],
  ...["refilled by name", "refilled by id"].map((table): (typeof cases)[number] => [
    table,
    `a struct of whose fields a file has none is one of nulls there, and NULL where it was: ${table}`,
    [
      '[{"b":null},[{"b":null},null],[["k",{"b":null}],["l",null]]]',
      "[null,null,null]",
      '[{"b":null},[],[]]',
    ],
  ]),
];

/** What `lab batch` answers, with the table called `t` in SQL. */
async function ask(table: string, request: object): Promise<Record<string, unknown>> {
  const path = join(folder, table);
  const query = openQuery({ store: folder, tables: new Map([["t", path]]) });
  try {
    const lines: string[] = [];
    const line = JSON.stringify({ table: path, ...request });
    await runBatch(query, Readable.from([line]), async (answer) => void lines.push(answer), signal);
    return JSON.parse(lines[0]!) as Record<string, unknown>;
  } finally {
    await query.close();
  }
}

for (const [table, promise, rows] of cases) {
  test(promise, async () => {
    assert.deepEqual(await ask(table, { op: "rows" }), { ok: true, rows });
  });
}

test("a condition finds rows of NaN, which the bounds of a Parquet file leave out", async () => {
  for (const condition of ["f > 5", "d > 5", "d = 'nan'", "d <> 1", "s.d >= 'nan'"]) {
    const { rows } = await ask("nan beside numbers", {
      op: "query",
      sql: `SELECT count(*)::INT FROM t WHERE ${condition}`,
    });
    assert.deepEqual(rows, [[1]], condition);
  }
});

test("a file of a codec that is not read here is refused by the name of the codec, not called damaged", async () => {
  const { code, message } = await ask("by lz4", { op: "rows" });
  assert.equal(code, "UNSUPPORTED_FEATURE");
  assert.match(String(message), /Parquet codec LZ4 .*part-/);
});

test("an encoding that is not read here is refused by its name, of rows and of a query", async () => {
  for (const request of [{ op: "rows" }, { op: "query", sql: "SELECT sum(i) FROM t" }]) {
    const { code, message } = await ask("split bytes", request);
    assert.equal(code, "UNSUPPORTED_FEATURE");
    assert.match(String(message), /Parquet encoding BYTE_STREAM_SPLIT/);
  }
});
