/** What tests of changes share: a table in a folder of its own, rows in and out. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Cdc } from "../../delta/actions.ts";
import { createTable, type NewTable } from "../../delta/create.ts";
import { decodePath } from "../../delta/path.ts";
import { localStore } from "../../delta/store/local.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import type { DataType } from "../../delta/types.ts";
import { openWorkbench, type Workbench } from "../../upkeep/workbench.ts";
import { structOf } from "./sql-table.ts";

export const signal = new AbortController().signal;

export type TestTable = {
  table: Table;
  folder: string;
  scratchDir: string;
  /** One commit with the rows of a query, in one file for each partition. */
  append(select: string): Promise<number>;
  /** The rows of the newest version, or of another one, as text, sorted. */
  rows(version?: number): Promise<string[]>;
  tablePath: string;
  /** The rows of a query over the newest version, called `t`. Longs must be small. */
  query(sql: string): Promise<unknown[][]>;
  /** The rows that a version's files of the change data feed tell of, as text, sorted. */
  changes(version: number): Promise<string[]>;
  snapshot(): Promise<Snapshot>;
};

/** A new table, removed with the test. */
export async function testTable(
  t: TestContext,
  columns: Record<string, DataType>,
  options: Omit<NewTable, "schema"> = {},
): Promise<TestTable> {
  const folder = await mkdtemp(join(tmpdir(), "upkeep-"));
  const scratchDir = join(folder, "scratch");
  const store = localStore(join(folder, "table"));
  const table = await createTable(store, { schema: structOf(columns), ...options }, signal);
  const bench = await openWorkbench(table, { scratchDir });
  t.after(async () => {
    await bench.close();
    await rm(folder, { recursive: true });
  });
  return {
    table,
    folder,
    scratchDir,
    snapshot: () => table.latest(signal),
    async append(select) {
      const readSnapshot = await table.latest(signal);
      const adds = await bench.write(readSnapshot, `(${select})`, { dataChange: true, signal });
      bench.settle();
      const result = await table.commit({ readSnapshot, operation: "WRITE", adds }, signal);
      assert.equal(result.kind, "committed");
      return result.version;
    },
    async rows(version) {
      const snapshot =
        version === undefined ? await table.latest(signal) : await table.at({ version }, signal);
      return rowsOf(bench, snapshot);
    },
    tablePath: join(folder, "table"),
    async query(sql) {
      const snapshot = await table.latest(signal);
      await bench.view("t", snapshot, [...snapshot.files()], signal);
      const rows = await bench.engine.rows(sql);
      return rows.map((row) =>
        Object.values(row).map((value) => (typeof value === "bigint" ? Number(value) : value)),
      );
    },
    async changes(version) {
      const actions = await table.commitActions(version, signal);
      const paths = actions.flatMap((action) => ("cdc" in action ? [(action.cdc as Cdc).path] : []));
      if (paths.length === 0) return [];
      const files = paths.map((path) => `'${join(folder, "table", decodePath(path))}'`);
      return texts(bench, `SELECT * FROM read_parquet([${files}], hive_partitioning = false) AS r`);
    },
  };
}

async function rowsOf(bench: Workbench, snapshot: Snapshot): Promise<string[]> {
  await bench.view("read back", snapshot, [...snapshot.files()], signal);
  const names = snapshot.schema.fields.map(({ name }) => `"${name}"`).join(", ");
  return texts(bench, `SELECT ${names} FROM "read back" AS r`);
}

async function texts(bench: Workbench, query: string): Promise<string[]> {
  const rows = await bench.engine.rows(`SELECT row_to_json(r)::VARCHAR AS text FROM (${query}) AS r`);
  return rows.map(({ text }) => String(text)).sort();
}
