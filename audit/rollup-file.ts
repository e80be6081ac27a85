/** Rows of a roll-up as data files of the audit table, in the table's own types. */

import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Add } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { encodePath } from "../delta/path.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { openEngine, quoteName, quoteText } from "../engine/instance.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { sqlType } from "../engine/sql-types.ts";

/** Values of the columns that are named so; all others are NULL. Times are text, in ISO 8601. */
export type RollUpRow = Readonly<Record<string, string | number>>;

const MEMORY_BYTES = 256 * 1024 * 1024;
/** Whole numbers below 2^53, and text: what a heartbeat's JSON has. */
const READ_AS = { number: "BIGINT", string: "VARCHAR" } as const;

/** Stores the rows under fresh names, sorted by topic, window and origin. There is at least one, and all have the same columns. */
export async function storeRows(
  store: Store,
  { partitionColumns, metadata }: Snapshot,
  options: {
    rows: readonly RollUpRow[];
    /** Of the table, as it will be. */
    schema: StructType;
    folder: string;
    now: () => number;
    signal: AbortSignal;
  },
): Promise<Add[]> {
  const { rows, schema, folder, now, signal } = options;
  const source = join(folder, `${randomUUID()}.ndjson`);
  await writeFile(source, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const engine = await openEngine({
    ...{ memoryLimitBytes: MEMORY_BYTES, threads: 1, tempDir: null, preserveOrder: true },
  });
  try {
    const given = Object.entries(rows[0]!).map(
      ([name, value]) => `${quoteName(name)}: '${READ_AS[typeof value as "number" | "string"]}'`,
    );
    const columns = schema.fields.map(({ name, type }) => {
      const value = name in rows[0]! ? quoteName(name) : "NULL";
      return `CAST(${value} AS ${sqlType(type)}) AS ${quoteName(name)}`;
    });
    await engine.run(
      `CREATE TEMP TABLE sums AS SELECT ${columns.join(", ")}
       FROM read_json(${quoteText(source)}, format = 'newline_delimited', columns = {${given.join(", ")}})
       ORDER BY "topic", "window_start", "origin"`,
      { signal },
    );
    const staged = await writeRowFiles({
      ...{ engine, rows: "sums", keys: "sums", schema, partitionColumns, stagingDir: folder, signal },
      configuration: metadata.configuration,
    });
    const adds: Add[] = [];
    for (const { file, partitionValues, size, stats } of staged) {
      const path = dataFilePath(partitionColumns, partitionValues);
      await store.put(path, { file }, signal);
      await rm(file, { force: true });
      adds.push({
        ...{ path: encodePath(path), partitionValues, size, stats },
        ...{ modificationTime: now(), dataChange: true },
      });
    }
    return adds;
  } finally {
    engine.close();
    await rm(source, { force: true });
  }
}
