/** Some rows of a version, the newest first where the table tells: for a page that is scrubbed, so it reads few files. */

import type { Add } from "../delta/actions.ts";
import { rowsOf } from "../delta/file-totals.ts";
import type { Snapshot } from "../delta/table.ts";
import { stream } from "../engine/result.ts";
import type { NamedTable } from "./catalog.ts";
import { type Cell, toCell } from "./cells.ts";
import { openRelations, type Reading } from "./relations.ts";

export type Preview = { columns: { name: string; type: string }[]; rows: Cell[][]; truncated: boolean };

/** What is read at most, whatever the statistics say. */
const MAX_FILES = 20;

/**
 * Up to `limit` rows from the files that were written last, ordered by `_kafka.timestamp` and offset where there is such a column.
 * DATA_FILE_MISSING after a vacuum.
 */
export async function previewRows(
  reading: Reading,
  { table }: NamedTable,
  snapshot: Snapshot,
  options: { limit: number; signal: AbortSignal },
): Promise<Preview> {
  const { limit, signal } = options;
  const adds = newestFiles(snapshot, limit);
  const source = { view: "preview", table: snapshot, store: table.store, adds };
  const relations = await openRelations(reading, [source], { asText: "at once", signal });
  let isDone = false;
  try {
    const order = hasKafka(snapshot)
      ? "ORDER BY _kafka.timestamp DESC, _kafka.partition, _kafka.offset DESC"
      : "";
    const { sql: start, lists } = relations.text ?? { sql: "", lists: {} };
    const sql = `${start}SELECT * FROM preview ${order} LIMIT ${limit}`;
    const result = await stream(relations.engine, sql, signal, { isSmall: true, lists });
    const cells = result.columns.map((column) => toCell(column.type));
    const rows: Cell[][] = [];
    for await (const chunk of result.chunks) {
      rows.push(...chunk.map((row) => row.map((value, index) => cells[index]!(value))));
    }
    isDone = true;
    return {
      columns: result.columns.map(({ name, sql }) => ({ name, type: sql })),
      rows,
      truncated: rows.length === limit || adds.length < snapshot.numFiles,
    };
  } catch (error) {
    signal.throwIfAborted();
    throw await relations.explain(error);
  } finally {
    await relations.close({ isDone });
  }
}

function newestFiles(snapshot: Snapshot, limit: number): Add[] {
  const newest = snapshot.newestFiles(MAX_FILES);
  let rows = 0n;
  const enough = newest.findIndex((add) => {
    rows += rowsOf(add) ?? 0n;
    return rows >= BigInt(limit);
  });
  return enough < 0 ? newest : newest.slice(0, enough + 1);
}

function hasKafka(snapshot: Snapshot): boolean {
  const type = snapshot.schema.fields.find((field) => field.name === "_kafka")?.type;
  if (typeof type !== "object" || type.type !== "struct") return false;
  return ["timestamp", "partition", "offset"].every((name) =>
    type.fields.some((field) => field.name === name),
  );
}
