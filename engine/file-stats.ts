/** Per-file statistics: what DuckDB says of a Parquet file it wrote, as typed values. The rules are delta's. */

import { parseValue, type TypedValue } from "../delta/partition-value.ts";
import { statsJson } from "../delta/stats.ts";
import { leafColumns, type StatsTable } from "../delta/stats-columns.ts";
import type { DataType } from "../delta/types.ts";
import { quoteName } from "./instance.ts";

/** Statistics of one leaf as `RETURN_STATS` names them: `min`, `max`, `null_count`, `has_nan` and more, all text. */
export type LeafTexts = ReadonlyMap<string, string>;

/** Key: the leaf's path in quotes, as DuckDB writes it: `"a"."b"`. */
export type ColumnTexts = ReadonlyMap<string, LeafTexts>;

/** `add.stats` as JSON text, of a file with so many rows. Left out is what DuckDB does not tell of a column, as of arrays and maps. */
export function statsOfFile(rows: number, columns: ColumnTexts, table: StatsTable): string {
  const known = leafColumns(table.schema, table.partitionColumns).flatMap(({ path, type }) => {
    const leaf = columns.get(path.map(quoteName).join("."));
    if (leaf === undefined) return [];
    const nulls = leaf.get("null_count");
    return [
      {
        path,
        min: typed(type, leaf.get("min")),
        max: typed(type, leaf.get("max")),
        nullCount: nulls === undefined ? undefined : BigInt(nulls),
        hasNaN: leaf.get("has_nan") === "true",
      },
    ];
  });
  return statsJson({ numRecords: rows, columns: known }, table);
}

/** Undefined where the text is no value as Delta knows it, such as `inf`, `infinity` or a day BC. */
function typed(type: DataType, text: string | undefined): TypedValue | undefined {
  return text === undefined ? undefined : parseValue(type, text);
}
