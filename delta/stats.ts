/** Statistics of a data file in the protocol's JSON (PROTOCOL.md, "Per-file Statistics"). */

import { decimalText } from "./decimal.ts";
import type { TypedValue } from "./partition-value.ts";
import { decimalOf } from "./schema.ts";
import { indexedColumns, type StatsTable } from "./stats-columns.ts";
import { largestText, smallestText } from "./stats-text.ts";
import { dateText, timestampText } from "./time-text.ts";
import type { DataType } from "./types.ts";

/** What is known of a leaf column of one file. Values are typed as in `TypedValue`; absent where not known. */
export type ColumnStats = {
  path: readonly string[];
  min?: TypedValue | undefined;
  max?: TypedValue | undefined;
  nullCount?: bigint | number | undefined;
  /** There is a NaN among the values: it sorts above all, so there is no max. */
  hasNaN?: boolean | undefined;
};

/** Years are written with four digits, 0000 to 9999. In days since 1970. */
const FIRST_DAY = -719_528;
const END_DAY = 2_932_897;
const DAY_MICROS = 86_400_000_000n;

export type FileStats = { numRecords: bigint | number; columns: readonly ColumnStats[] };

/**
 * The `stats` of an add. Columns that the table does not index are left out, and whatever JSON statistics cannot say: NaN and infinities, min and
 * max of booleans, binaries, arrays and maps and of columns that are all null, years beyond four digits, text without a bound near its start.
 * Timestamps are cut down to milliseconds, text to 32 characters.
 */
export function statsJson(file: FileStats, table: StatsTable): string {
  const given = new Map(file.columns.map((column) => [JSON.stringify(column.path), column]));
  const [mins, maxs, nulls]: Tree[] = [new Map(), new Map(), new Map()];
  for (const { path, type } of indexedColumns(table)) {
    const column = given.get(JSON.stringify(path));
    if (!column) continue;
    const nullCount = column.nullCount === undefined ? undefined : String(column.nullCount);
    plant(nulls!, path, nullCount);
    if (nullCount === String(file.numRecords)) continue;
    plant(mins!, path, bound(type, column.min, "min"));
    if (column.hasNaN !== true) plant(maxs!, path, bound(type, column.max, "max"));
  }
  const parts = [`"numRecords":${file.numRecords}`];
  for (const [name, tree] of [
    ["minValues", mins!],
    ["maxValues", maxs!],
    ["nullCount", nulls!],
  ] as const) {
    parts.push(`"${name}":${render(tree)}`);
  }
  return `{${parts.join(",")}}`;
}

/** Nested objects that mirror the structs; leaves are JSON already. */
type Tree = Map<string, Tree | string>;

function plant(tree: Tree, path: readonly string[], json: string | undefined): void {
  if (json === undefined) return;
  let at = tree;
  for (const name of path.slice(0, -1)) {
    const next = at.get(name) ?? new Map();
    at.set(name, next);
    at = next as Tree;
  }
  at.set(path.at(-1)!, json);
}

function render(tree: Tree): string {
  const parts = [...tree].map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === "string" ? value : render(value)}`,
  );
  return `{${parts.join(",")}}`;
}

/** One bound as JSON; undefined where it cannot be said. */
function bound(type: DataType, value: TypedValue | undefined, side: "min" | "max"): string | undefined {
  if (value === undefined || value === null) return undefined;
  const decimal = decimalOf(type);
  if (decimal) return decimalText(String(value), decimal.scale);
  switch (type) {
    case "byte":
    case "short":
    case "integer":
    case "long":
      return typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : undefined;
    case "float":
    case "double":
      return typeof value === "number" && Number.isFinite(value) ? float(value, side) : undefined;
    case "string":
      return typeof value === "string" ? text(value, side) : undefined;
    case "date":
      return typeof value === "number" ? date(value) : undefined;
    case "timestamp":
      return typeof value === "bigint" ? time(value, "Z") : undefined;
    case "timestamp_ntz":
      return typeof value === "bigint" ? time(value, "") : undefined;
  }
  return undefined;
}

function date(days: number): string | undefined {
  return days >= FIRST_DAY && days < END_DAY ? JSON.stringify(dateText(days)) : undefined;
}

/** Cut down to ms, for the later bound too: readers add one. */
function time(micros: bigint, zone: "Z" | ""): string | undefined {
  if (micros < BigInt(FIRST_DAY) * DAY_MICROS || micros >= BigInt(END_DAY) * DAY_MICROS) return undefined;
  return JSON.stringify(`${timestampText(micros, "T").slice(0, -3)}${zone}`);
}

/** 0.0 and -0.0 are equal, yet readers may order them: the wider one of both is a bound for both. */
function float(value: number, side: "min" | "max"): string {
  if (value === 0) return side === "min" ? "-0.0" : "0.0";
  return String(value);
}

function text(value: string, side: "min" | "max"): string | undefined {
  const cut = side === "min" ? smallestText(value) : largestText(value);
  return cut === undefined ? undefined : JSON.stringify(cut);
}
