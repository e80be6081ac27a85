/** Rows in Z-order: those that are near each other in several columns stand near each other in files, so that statistics exclude more. */

import { LabError } from "../core/errors.ts";
import { indexedColumns, leafColumns } from "../delta/stats-columns.ts";
import type { Snapshot } from "../delta/table.ts";
import { quoteName } from "../engine/instance.ts";

/** Ranks are cut to so many bits a column at most; the curve has 63 in all. */
const MOST_BITS = 16;
const CURVE_BITS = 63;

/** Names the curve of a file in its tags, so that what is sorted already is left alone. */
export const ZORDER_TAG = "lab.zorder";

/**
 * The columns as paths, as the schema spells them; `a.b` is a member of a struct. SCHEMA_MISMATCH for a column that is not there, partitions
 * the table, or has no statistics, for which an order would gain nothing.
 */
export function zorderPaths(snapshot: Snapshot, columns: readonly string[]): string[][] {
  const { schema, partitionColumns, metadata } = snapshot;
  const table = { schema, partitionColumns, configuration: metadata.configuration };
  const nameOf = (path: readonly string[]) => path.join(".").toLowerCase();
  const indexed = new Set(indexedColumns(table).map(({ path }) => nameOf(path)));
  return columns.map((column) => {
    const leaf = leafColumns(schema, partitionColumns).find(
      ({ path }) => nameOf(path) === column.toLowerCase(),
    );
    const why =
      leaf === undefined
        ? partitionColumns.some((name) => name.toLowerCase() === column.toLowerCase())
          ? "partitions the table already"
          : "is not a column of the table"
        : typeof leaf.type !== "string"
          ? "has no order"
          : !indexed.has(nameOf(leaf.path))
            ? "has no statistics (see delta.dataSkippingNumIndexedCols and delta.dataSkippingStatsColumns)"
            : undefined;
    if (why === undefined) return [...leaf!.path];
    throw new LabError("SCHEMA_MISMATCH", `cannot order by ${column}: it ${why}`, {
      hint: "choose columns that queries filter by",
      details: { column },
    });
  });
}

/**
 * SQL over rows with an added column `"lab z"`: the place of a row on the Z-curve through its ranks in the columns. Ranks, not values, so that
 * every type and every distribution fills the curve evenly.
 */
export function withCurve(rows: string, paths: readonly (readonly string[])[]): string {
  const bits = Math.min(MOST_BITS, Math.floor(CURVE_BITS / paths.length));
  const ranks = paths.map(
    (path, i) =>
      `CAST(floor(percent_rank() OVER (ORDER BY ${path.map(quoteName).join(".")}) * ${2 ** bits - 1}) AS BIGINT) AS "lab rank ${i}"`,
  );
  const woven = paths.flatMap((_, i) =>
    Array.from(
      { length: bits },
      (_, bit) => `((("lab rank ${i}" >> ${bit}) & 1) << ${bit * paths.length + (paths.length - 1 - i)})`,
    ),
  );
  return `(SELECT *, ${woven.join(" | ")} AS "lab z" FROM (SELECT *, ${ranks.join(", ")} FROM ${rows}))`;
}
