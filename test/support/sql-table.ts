/** Delta tables for tests whose files DuckDB writes from SQL: one commit a version. */

import { rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Add } from "../../delta/actions.ts";
import { createTable } from "../../delta/create.ts";
import { encodePath } from "../../delta/path.ts";
import { localStore } from "../../delta/store/local.ts";
import type { Store } from "../../delta/store/store.ts";
import type { Table } from "../../delta/table.ts";
import type { DataType, StructType } from "../../delta/types.ts";
import { openEngine } from "../../engine/instance.ts";

export type SqlTableVersion = {
  /** Rows that the version adds, in the types that the file shall have. */
  select?: string;
  partitionValues?: Record<string, string | null>;
  /** Beside the number of rows. */
  stats?: Record<string, unknown>;
  /** Paths of earlier versions that go. */
  removes?: readonly Add[];
  /** Replaces the schema. */
  columns?: Record<string, DataType>;
  info?: Record<string, unknown>;
  operation?: string;
};

export function structOf(columns: Record<string, DataType>): StructType {
  return {
    type: "struct",
    fields: Object.entries(columns).map(([name, type]) => ({ name, type, nullable: true, metadata: {} })),
  };
}

const signal = new AbortController().signal;
let files = 0;

/** A table in `folder` (or `store`) with version 0 empty; each `append` commits one version and gives its add. */
export async function sqlTable(
  place: string | Store,
  columns: Record<string, DataType>,
  options: { partitionColumns?: readonly string[]; configuration?: Record<string, string> } = {},
): Promise<{ table: Table; append(version: SqlTableVersion): Promise<Add | undefined> }> {
  const store = typeof place === "string" ? localStore(place) : place;
  const table = await createTable(store, { schema: structOf(columns), ...options }, signal);
  return {
    table,
    async append(version) {
      const add = version.select === undefined ? undefined : await writeFile(store, version);
      const readSnapshot = await table.latest(signal);
      const metadata = version.columns && {
        ...readSnapshot.metadata,
        schemaString: JSON.stringify(structOf(version.columns)),
      };
      const removes = (version.removes ?? []).map(({ path, partitionValues, size }) => ({
        path,
        dataChange: true,
        deletionTimestamp: Date.now(),
        extendedFileMetadata: true,
        partitionValues,
        size,
      }));
      const result = await table.commit(
        {
          readSnapshot,
          operation: version.operation ?? "WRITE",
          adds: add ? [add] : [],
          removes,
          ...(metadata ? { metadata } : {}),
          ...(version.info ? { info: version.info } : {}),
        },
        signal,
      );
      if (result.kind !== "committed") throw new Error(`not committed: ${result.message}`);
      return add;
    },
  };
}

async function writeFile(store: Store, version: SqlTableVersion): Promise<Add> {
  const engine = await openEngine({
    memoryLimitBytes: 500_000_000,
    threads: 1,
    tempDir: null,
    preserveOrder: true,
  });
  const file = join(tmpdir(), `sql-table-${process.pid}-${++files}.parquet`);
  try {
    await engine.run(`COPY (${version.select}) TO '${file}' (FORMAT parquet)`);
    const [row] = await engine.rows(`SELECT count(*) AS n FROM read_parquet('${file}')`);
    const { size } = await stat(file);
    const path = `part-${files}.parquet`;
    await store.put(path, { file }, signal);
    return {
      path: encodePath(path),
      partitionValues: version.partitionValues ?? {},
      size,
      modificationTime: Date.now(),
      dataChange: true,
      stats: JSON.stringify({ numRecords: Number(row!.n), ...version.stats }),
    };
  } finally {
    engine.close();
    await rm(file, { force: true });
  }
}
