/** For tests: the same rows as two tables of one file each, written by our writer and by DuckDB, so that any engine can compare them. */

import { randomUUID } from "node:crypto";
import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { createTable } from "../delta/create.ts";
import { localStore } from "../delta/store/local.ts";
import { commit, committed } from "../delta/table.fixture.ts";
import type { StructType } from "../delta/types.ts";
import { openEngine } from "../engine/instance.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { openColumns } from "./columns.ts";
import { createTableOf } from "./parquet-values.fixture.ts";
import { type Row, vectorsOf } from "./parquet-vectors.fixture.ts";
import { createParquetWriter, type WriterOptions } from "./parquet-writer.ts";
import { loadZstd } from "./parquet-zstd.ts";

const signal = new AbortController().signal;

/** Makes them inside of `folder`, and gives their paths and those of their files. */
export async function twinTables(
  folder: string,
  schema: StructType,
  rows: readonly Row[],
  options: Omit<WriterOptions, "compress">,
) {
  const ours = join(folder, `${randomUUID()}.parquet`);
  const columns = openColumns();
  const { parquet, vectors } = vectorsOf(columns, schema, rows);
  const table = { schema, partitionColumns: [], configuration: {} };
  const writer = createParquetWriter(columns, { compress: loadZstd(1)!, ...options });
  const { stats } = await writer.write(ours, { schema: parquet, vectors, rows: rows.length, table }, signal);

  const engine = await openEngine({
    memoryLimitBytes: 512 << 20,
    threads: 1,
    tempDir: null,
    preserveOrder: true,
  });
  try {
    await createTableOf(engine, "twins", schema, rows);
    const sources = { engine, rows: "twins", keys: "twins", stagingDir: folder, signal };
    const [theirs] = await writeRowFiles({ ...sources, ...table });
    return {
      ours: await tableOf(join(folder, "ours"), schema, ours, stats),
      duckDb: await tableOf(join(folder, "duckdb"), schema, theirs!.file, theirs!.stats),
    };
  } finally {
    engine.close();
  }
}

async function tableOf(path: string, schema: StructType, from: string, stats: string) {
  const table = await createTable(localStore(path), { schema, partitionColumns: [], name: "twin" }, signal);
  const file = join(path, "data.parquet");
  await rename(from, file);
  const { size } = await stat(file);
  const add = {
    path: "data.parquet",
    partitionValues: {},
    size,
    modificationTime: 0,
    dataChange: true,
    stats,
  };
  committed(await commit(table, { adds: [add] }));
  return { path, file };
}
