/** Rows that stand in a table already, though no position covers them yet: they are taken out before files are written. */

import { BIGINT, DOUBLE, DuckDBDataChunk, type DuckDBValue, INTEGER } from "@duckdb/node-api";
import type { StructType } from "../delta/types.ts";
import type { Engine } from "./instance.ts";
import { quoteName } from "./instance.ts";
import { KAFKA_FIELD } from "./kafka-column.ts";
import { INDEX_FIELD } from "./row-index.ts";

/**
 * A row by where it comes from. `index` is its number among the rows of its message; null where it is the only one: then it stands for the message,
 * also where that becomes several rows now.
 */
export type WrittenRow = { partition: number; offset: bigint; timestampMs: number; index: number | null };

const CHUNK_ROWS = 2048;

/** Takes them out of table `rows`, of `schema` with `_kafka`, and says how many there were. */
export async function dropWritten(
  engine: Engine,
  written: readonly WrittenRow[],
  schema: StructType,
  signal: AbortSignal,
): Promise<number> {
  if (written.length === 0) return 0;
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE written ("partition" INTEGER, "offset" BIGINT, ms DOUBLE, n INTEGER)`,
    { signal },
  );
  const appender = await engine.connection.createAppender("written");
  try {
    for (let start = 0; start < written.length; start += CHUNK_ROWS) {
      const some = written.slice(start, start + CHUNK_ROWS);
      const chunk = DuckDBDataChunk.create([INTEGER, BIGINT, DOUBLE, INTEGER], some.length);
      const columns: DuckDBValue[][] = [
        some.map((row) => row.partition),
        some.map((row) => row.offset),
        some.map((row) => row.timestampMs),
        some.map((row) => row.index),
      ];
      chunk.setColumns(columns);
      appender.appendDataChunk(chunk);
    }
  } finally {
    appender.closeSync();
  }
  const kafka = quoteName(KAFKA_FIELD.name);
  const hasIndex = schema.fields.some(({ name }) => name === INDEX_FIELD.name);
  const index = hasIndex ? quoteName(INDEX_FIELD.name) : "NULL";
  const [deleted] = await engine.rows(
    `DELETE FROM rows USING written
     WHERE ${kafka}."partition" = written."partition" AND ${kafka}."offset" = written."offset"
       AND epoch_ms(${kafka}."timestamp") = written.ms AND (written.n IS NULL OR ${index} = written.n)`,
    { signal },
  );
  return Number(deleted!.Count);
}
