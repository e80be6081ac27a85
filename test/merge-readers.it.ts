import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { mergeTable, remove, upsert } from "./support/merge-table.ts";
import { python, refereeCommand, runReferee } from "./support/python.ts";

const requirements = fileURLToPath(new URL("../bench/duckdb-delta.txt", import.meta.url));

const READ = `
import json, sys
from deltalake import DeltaTable, QueryBuilder
found = QueryBuilder().register("t", DeltaTable(sys.argv[1])).execute(sys.argv[2]).read_all()
print(json.dumps([list(row) for row in zip(*[found.column(i).to_pylist() for i in range(found.num_columns)])]))
`;

test("delta-rs and DuckDB's own extension read a merged table as it is: marked rows are not there, kept deletes are by their flag", async (t) => {
  const one = await mergeTable(t, { id: "long", name: "string" });
  const put = (id: number, at: number) => upsert({ id, name: `n${at}` }, { at });
  await one.merge(Array.from({ length: 500 }, (_, id) => put(id, id + 1)));
  await one.merge(Array.from({ length: 100 }, (_, i) => put(3 * i, 1000 + i)));
  await one.merge([
    ...Array.from({ length: 20 }, (_, i) => remove({ id: 5 * i }, { at: 2000 + i })),
    put(900, 3000),
  ]);
  const live = await one.live();
  assert.equal(live.length, 481);
  const sums = "SELECT count(*), sum(id) FROM t WHERE NOT coalesce(_cdc.deleted, false)";
  const expected = [[481, live.reduce((sum, { id }) => sum + Number(id), 0)]];
  const byDeltaRs = sums.replace("_cdc.deleted", "_cdc['deleted']");
  assert.deepEqual(JSON.parse(await python(READ, [one.tablePath, byDeltaRs])), expected);
  const { command, script } = await refereeCommand("delta_scan.py", requirements);
  const lines = (await runReferee(command, [script, one.tablePath, sums])).trim().split("\n");
  assert.deepEqual(
    JSON.parse(lines[0]!).map((row: unknown[]) => row.map(Number)),
    expected,
  );
});
