/** Tables of changes and other engines: what they read, and tables of theirs that changes are merged into. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { LIVE, message, source, start, topicOf } from "./support/cdc-stream.ts";
import { mergedVersions, TOTALS } from "./support/merged-versions.ts";
import { python, refereeCommand, runReferee } from "./support/python.ts";

const requirements = fileURLToPath(new URL("../bench/duckdb-delta.txt", import.meta.url));

/** READ TABLE SQL VERSION...: one line for each version, a list of rows. */
const READ = `
import json, sys
from deltalake import DeltaTable, QueryBuilder
for version in sys.argv[3:]:
    table = DeltaTable(sys.argv[1], version=int(version))
    found = QueryBuilder().register("t", table).execute(sys.argv[2]).read_all()
    print(json.dumps([list(row) for row in zip(*[found.column(i).to_pylist() for i in range(found.num_columns)])]))
`;

const KINDS = [
  ["with deletion vectors", {}],
  ["whose files are written again", { configuration: { "delta.enableDeletionVectors": "false" } }],
  ["in partitions that rows move between", { partitionColumns: ["p"] }],
] as const;

for (const [kind, options] of KINDS)
  test(`delta-rs reads each version of a merged table ${kind}, and DuckDB's own extension the newest: kept deletes are by their flag`, async (t) => {
    const { one, totals } = await mergedVersions(t, options);
    const byDeltaRs = TOTALS.replace("{deleted}", "_cdc['deleted']");
    const told = await python(READ, [one.tablePath, byDeltaRs, ...[...totals.keys()].map(String)]);
    const versions = told
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as unknown[][])[0]);
    assert.deepEqual(versions, [...totals.values()]);
    const { command, script } = await refereeCommand("delta_scan.py", requirements);
    const sql = TOTALS.replace("{deleted}", "_cdc.deleted");
    const [newest] = (await runReferee(command, [script, one.tablePath, sql])).trim().split("\n");
    assert.deepEqual(
      (JSON.parse(newest!) as unknown[][]).map((row) => row.map(Number)),
      [[...totals.values()].at(-1)],
    );
  });

test("delta-rs sees no deleted row where these are kept aside, and needs no flag for it", async (t) => {
  const { one, totals } = await mergedVersions(t, { configuration: { "lab.cdc.deletes": "aside" } });
  const all = TOTALS.replace(/WHERE.*/, "");
  const told = await python(READ, [one.tablePath, all, ...[...totals.keys()].map(String)]);
  const versions = told
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as unknown[][])[0]);
  assert.deepEqual(versions, [...totals.values()]);
});

/** MAKE TABLE: column `name` must not be null, and `n` is above zero. */
const MAKE = `
import sys
import pyarrow as pa
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType
fields = [Field("id", PrimitiveType("long"), nullable=False), Field("name", PrimitiveType("string"), nullable=False), Field("n", PrimitiveType("long"))]
table = DeltaTable.create(sys.argv[1], schema=Schema(fields))
schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string(), nullable=False), pa.field("n", pa.int64())])
write_deltalake(table, pa.table({"id": [1, 2, 3], "name": ["one", "two", "three"], "n": [1, 2, 3]}, schema=schema), mode="append")
DeltaTable(sys.argv[1]).alter.add_constraint({"some": "n > 0"})
`;

test("rows go from a table that delta-rs made with NOT NULL and a condition, and delta-rs reads what is left", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-demands-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const table = join(folder, "t");
  await python(MAKE, [table]);
  const fixture = await topicOf(t);
  const run = () =>
    start(fixture, { cdc: { keyColumns: ["id"] }, options: { tableUri: `file://${table}` } }).ended;
  fixture.kafka.append("t", 0, [
    message("d", 2, null, source(5)),
    message("u", 1, { name: "eins", n: 10 }, source(6)),
    message("c", 4, { name: "four", n: 4 }, source(7)),
    message("c", 5, { name: null, n: 5 }, source(8)),
    message("u", 3, { name: "drei", n: -3 }, source(9)),
  ]);
  await run();
  fixture.kafka.append("t", 0, [
    message("c", 2, { name: "old", n: 2 }, source(4)),
    message("d", 4, null, source(10)),
  ]);
  await run();
  const expected = [
    [1, "eins", 10],
    [3, "three", 3],
  ];
  const sql = `SELECT id, name, n FROM t WHERE ${LIVE} ORDER BY id`;
  const seen = await fixture.rowsOf(`file://${table}`, sql);
  assert.deepEqual(
    seen.map(({ id, name, n }) => [Number(id), name, Number(n)]),
    expected,
  );
  const newest = `
import sys
from deltalake import DeltaTable
print(DeltaTable(sys.argv[1]).version())
`;
  const version = (await python(newest, [table])).trim();
  const byDeltaRs = sql.replace("_cdc.deleted", "_cdc['deleted']");
  assert.deepEqual(JSON.parse(await python(READ, [table, byDeltaRs, version])), expected);
  assert.deepEqual(
    await fixture.rowsOf(
      `file://${table}__dead_letters`,
      'SELECT error_code AS code FROM t ORDER BY "offset"',
    ),
    [{ code: "NULL_NOT_ALLOWED" }, { code: "CONSTRAINT_VIOLATED" }],
  );
});
