/** Files of our writer, read by engines that are not ours: Arrow in C++, and Arrow in Rust below delta-rs. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { python } from "../test/support/python.ts";
import { twinTables } from "./parquet-tables.fixture.ts";
import { EXAMPLE, exampleRow } from "./parquet-values.fixture.ts";

const COMPARE = `
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
file, twin_file, table, twin_table = sys.argv[1:]

def unlike(left, right):
    assert left.num_rows == right.num_rows and left.schema.names == right.schema.names
    return [n for n in left.schema.names if left[n].to_pylist() != right[n].to_pylist()]

def by_rust(path):
    found = QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t ORDER BY id")
    return pa.table(found.read_all() if hasattr(found, "read_all") else found)

read = pq.ParquetFile(file)
groups = [read.metadata.row_group(g) for g in range(read.metadata.num_row_groups)]
columns = {c.path_in_schema: c for c in (groups[0].column(i) for i in range(groups[0].num_columns))}
rust = by_rust(table)
print(json.dumps({
    "cpp": unlike(read.read(), pq.read_table(twin_file)),
    "rust": unlike(rust, by_rust(twin_table)),
    "types": {f.name: str(f.type) for f in read.schema_arrow},
    "twin_types": {f.name: str(f.type) for f in pq.read_schema(twin_file)},
    "required": [f.name for f in read.schema_arrow if not f.nullable],
    "rows": [g.num_rows for g in groups],
    "rust_rows": rust.num_rows,
    "created_by": read.metadata.created_by,
    "stats": {n: [str(c.statistics.min), str(c.statistics.max), c.statistics.null_count] for n, c in columns.items() if c.statistics.has_min_max},
    "filtered": pq.read_table(file, filters=[("near", ">=", 40000000)]).num_rows,
}))
`;

test("pyarrow and delta-rs read the same from our file as from DuckDB's, and the types, bounds and row groups that are meant", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parquet-writer-it-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const rows = Array.from({ length: 2500 }, (_, i) => exampleRow(i));
  const { ours, duckDb } = await twinTables(folder, EXAMPLE, rows, { groupRows: 1100, pageRows: 300 });
  const said = JSON.parse(await python(COMPARE, [ours.file, duckDb.file, ours.path, duckDb.path]));
  assert.deepEqual(said.cpp, []);
  assert.deepEqual(said.rust, []);
  assert.deepEqual(said.rows, [1100, 1100, 300]);
  assert.equal(said.rust_rows, 2500);
  assert.match(said.types.structs, /struct<k: string not null, n:/);
  const nullable = Object.entries(said.types as Record<string, string>).map(([name, type]) => [
    name,
    type.replaceAll(" not null", ""),
  ]);
  assert.deepEqual(Object.fromEntries(nullable), said.twin_types, "types but for what is never null");
  assert.deepEqual(said.required, ["id"]);
  assert.match(said.created_by, /^delta-stream-lab version \d/);
  assert.deepEqual(said.stats.b, ["-128", "127", 157]);
  assert.deepEqual(said.stats.id, ["0", "1099", 0]);
  assert.equal(said.stats["in.a"][1], "8");
  assert.equal(said.stats.bin, undefined);
  assert.equal(
    said.filtered,
    rows.filter(({ near }) => ((near as bigint | undefined) ?? 0n) >= 40_000_000n).length,
  );
});
