/** Per-file statistics: what DuckDB returns of a Parquet file it wrote, in the protocol's form ("Per-file Statistics"). */

import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";

/** Statistics of one leaf as `RETURN_STATS` names them: `min`, `max`, `null_count`, `has_nan` and more, all text. */
export type LeafStats = ReadonlyMap<string, string>;

/** Key: the leaf's path in quotes, as DuckDB writes it: `"a"."b"`. */
export type ColumnStats = ReadonlyMap<string, LeafStats>;

export type StatsOptions = {
  rows: number;
  columns: ColumnStats;
  /** The table's schema; partition columns among it are left out. */
  schema: StructType;
  partitionColumns: readonly string[];
  /** How many leaf columns get statistics, counted in schema order; -1: all. */
  indexedColumns: number;
};

type Tree = { [name: string]: Tree | string };

/** These of `_kafka` are always there, whatever the limit: position and time are looked up by them. */
const ALWAYS = new Set(['"_kafka"."partition"', '"_kafka"."offset"', '"_kafka"."timestamp"']);
const PREFIX_UNITS = 32;
/** Infinity and NaN are none. */
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

/**
 * `add.stats` as JSON text. Numbers keep DuckDB's digits. Left out where no true bound is known: NaN, infinity, text that cannot be
 * cut, columns that are all null.
 */
export function statsJson(options: StatsOptions): string {
  const { rows, columns } = options;
  let room = options.indexedColumns < 0 ? Number.POSITIVE_INFINITY : options.indexedColumns;
  const minValues: Tree = {};
  const maxValues: Tree = {};
  const nullCount: Tree = {};

  function visit(field: StructField, parents: readonly string[]): void {
    const path = [...parents, field.name];
    if (typeof field.type === "object" && field.type.type === "struct") {
      for (const child of field.type.fields) visit(child, path);
      return;
    }
    const key = path.map((name) => `"${name.replaceAll('"', '""')}"`).join(".");
    const isWanted = room-- > 0 || ALWAYS.has(key);
    const leaf = columns.get(key);
    if (!isWanted || leaf === undefined) return;
    const nulls = leaf.get("null_count");
    if (nulls !== undefined) put(nullCount, path, nulls);
    if (leaf.get("has_nan") === "true" || nulls === String(rows)) return;
    const [min, max] = [leaf.get("min"), leaf.get("max")];
    const lower = min === undefined ? undefined : bound(min, field.type, "min");
    const upper = max === undefined ? undefined : bound(max, field.type, "max");
    if (lower !== undefined) put(minValues, path, lower);
    if (upper !== undefined) put(maxValues, path, upper);
  }

  for (const field of options.schema.fields)
    if (!options.partitionColumns.includes(field.name)) visit(field, []);
  return `{"numRecords":${rows},"minValues":${render(minValues)},"maxValues":${render(maxValues)},"nullCount":${render(nullCount)}}`;
}

/** DuckDB's text of a bound as JSON; undefined where there is none to give. */
function bound(text: string, type: DataType, side: "min" | "max"): string | undefined {
  if (typeof type !== "string") return undefined;
  if (decimalOf(type)) return text;
  switch (type) {
    case "byte":
    case "short":
    case "integer":
    case "long":
      return text;
    case "float":
    case "double":
      // Zero has two signs and DuckDB tells either: the bound takes the outer one.
      if (Number(text) === 0) return side === "min" ? "-0.0" : "0.0";
      return JSON_NUMBER.test(text) ? text : undefined;
    case "string":
      return side === "min" ? JSON.stringify(prefix(text)) : upperText(text);
    case "date":
      return /^\d{4}-\d\d-\d\d$/.test(text) ? `"${text}"` : undefined;
    case "timestamp":
      return time(text, "Z");
    case "timestamp_ntz":
      return time(text, "");
    default:
      return undefined;
  }
}

/** `2023-06-15 12:30:00.123456+00` cut down to ms, for the later bound too: readers add one. */
function time(text: string, zone: string): string | undefined {
  const found = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/.exec(text);
  if (found === null) return undefined;
  return `"${found[1]}T${found[2]}.${(found[3] ?? "").padEnd(3, "0").slice(0, 3)}${zone}"`;
}

function prefix(text: string): string {
  if (text.length <= PREFIX_UNITS) return text;
  const isSplit = isHighSurrogate(text.charCodeAt(PREFIX_UNITS - 1));
  return text.slice(0, isSplit ? PREFIX_UNITS + 1 : PREFIX_UNITS);
}

/** A text not below `text` in the order of UTF-8 bytes: a prefix and, where something was cut, a character above what followed. */
function upperText(text: string): string | undefined {
  const kept = prefix(text);
  if (kept.length === text.length) return JSON.stringify(text);
  const rest = text.slice(kept.length);
  const next = rest.codePointAt(0)!;
  if (next < 0x7f) return JSON.stringify(`${kept}\u007f`);
  if (next < 0x10ffff) return JSON.stringify(`${kept}\u{10ffff}`);
  return undefined;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function put(tree: Tree, path: readonly string[], json: string): void {
  let node = tree;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(node, name)) define(node, name, {});
    node = node[name] as Tree;
  }
  define(node, path.at(-1)!, json);
}

/** A column may be named `__proto__`. */
function define(tree: Tree, name: string, value: Tree | string): void {
  Object.defineProperty(tree, name, { value, enumerable: true, configurable: true, writable: true });
}

function render(tree: Tree): string {
  const members = Object.entries(tree).map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === "string" ? value : render(value)}`,
  );
  return `{${members.join(",")}}`;
}
