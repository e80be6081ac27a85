/** The typed copies of statistics and partition values that checkpoints hold on request (`delta.checkpoint.writeStatsAsStruct`). */

import type { Data } from "apache-arrow";
import { parse } from "lossless-json";
import type { Add } from "./actions.ts";
import { bool, int64, struct } from "./arrow-columns.ts";
import { indexedColumns, type LeafColumn, type StatsTable } from "./stats-columns.ts";
import { typedColumn } from "./typed-column.ts";

/** Null counts are all that is known of these. */
const WITHOUT_ORDER = new Set<unknown>(["boolean", "binary", "variant", "void"]);

/** `stats_parsed` and, for a partitioned table, `partitionValues_parsed`, for the files of one window. */
export function typedColumns(adds: readonly (Add | undefined)[], table: StatsTable): Record<string, Data> {
  const stats = adds.map((add) => (add?.stats ? parseTexts(add.stats) : undefined));
  const leaves = indexedColumns(table);
  const ordered = leaves.filter(({ type }) => typeof type === "string" && !WITHOUT_ORDER.has(type));
  const bounds = (key: string) =>
    nested(ordered, ({ path, type }) =>
      typedColumn(
        type,
        stats.map((file) => at(file?.[key], path)),
      ),
    );
  const counts = nested(leaves, ({ path }) => int64(stats.map((file) => whole(at(file?.nullCount, path)))));
  const partitions = table.partitionColumns.flatMap((name): [string, Data][] => {
    const type = table.schema.fields.find((field) => field.name === name)?.type;
    const column =
      type &&
      typedColumn(
        type,
        adds.map((add) => add?.partitionValues[name]),
      );
    return column ? [[name, column]] : [];
  });
  return {
    ...(partitions.length > 0
      ? { partitionValues_parsed: struct(adds, Object.fromEntries(partitions)) }
      : {}),
    stats_parsed: struct(stats, {
      numRecords: int64(stats.map((file) => whole(file?.numRecords))),
      ...group("minValues", bounds("minValues"), stats),
      ...group("maxValues", bounds("maxValues"), stats),
      ...group("nullCount", counts, stats),
      tightBounds: bool(stats.map((file) => file?.tightBounds as boolean | undefined)),
    }),
  };
}

type Texts = Record<string, unknown>;

/** As many digits as a double may not hold all of. */
const LONG_NUMBER = /\d[\d.]{15}/;

/** Numbers are left as the text they are where a double might lose digits. */
function parseTexts(stats: string): Texts | undefined {
  try {
    const found = LONG_NUMBER.test(stats)
      ? parse(stats, undefined, { parseNumber: (digits) => digits })
      : JSON.parse(stats);
    return typeof found === "object" && found !== null ? (found as Texts) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function at(tree: unknown, path: readonly string[]): string | undefined {
  let found = tree;
  for (const name of path) found = (found as Texts | null | undefined)?.[name];
  return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
}

function whole(value: unknown): bigint | undefined {
  const text = String(value);
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}

/** Columns of leaves as structs that mirror the table's; what has no column is left out, and so are structs without any. */
type Columns = { [name: string]: Data | Columns };

function nested(leaves: readonly LeafColumn[], columnOf: (leaf: LeafColumn) => Data | undefined): Columns {
  const tree: Columns = Object.create(null);
  for (const leaf of leaves) {
    const column = columnOf(leaf);
    if (!column) continue;
    let node = tree;
    for (const name of leaf.path.slice(0, -1)) {
      node[name] ??= Object.create(null) as Columns;
      node = node[name] as Columns;
    }
    node[leaf.path.at(-1)!] = column;
  }
  return tree;
}

function group(name: string, columns: Columns, present: readonly unknown[]): Record<string, Data> {
  const children = Object.entries(columns).map(([child, column]) =>
    isData(column) ? { [child]: column } : group(child, column, present),
  );
  if (children.length === 0) return {};
  return { [name]: struct(present, Object.assign(Object.create(null), ...children)) };
}

function isData(column: Data | Columns): column is Data {
  return "nullBitmap" in column && ArrayBuffer.isView((column as Data).nullBitmap);
}
