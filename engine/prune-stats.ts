/** What a file's statistics say of a column: outer bounds that hold however their writer cut or rounded them. */

import { parse as parseLossless } from "lossless-json";
import { parseJson } from "../delta/json.ts";
import { decimalOf } from "../delta/schema.ts";
import type { Facts, PruneColumn } from "./prune-predicate.ts";
import { type Comparable, comparableOf } from "./prune-values.ts";

/** What statistics of a file say of a column, as it stands there: numbers may come as their digits. */
export type ColumnStats = { numRecords: unknown; nulls: unknown; min: unknown; max: unknown };

/** Microseconds that a bound in ms may be off. */
const MILLISECOND = 1000n;
/** 1582-10-15: writers differ in the calendar that they count earlier days in. */
const GREGORIAN = -12_219_292_800_000_000n;
/** UTF-16 units from which on a text may be the beginning of a longer one. */
const MAY_BE_CUT = 32;
/** Each goes through the text once: with more columns, parsing is faster. */
const MAX_EXPRESSIONS = 4;
/** Files that are parsed sooner than expressions for them are made. */
const FEW_FILES = 8;
/** Digits that survive being a double. */
const EXACT_DIGITS = 15;
/** Digits that a double may be written with: a number of more was never one. */
const DOUBLE_DIGITS = 17;
/** A decimal that was made a double is off by a part of itself of 2^-53, twice if its point was moved by a division. */
const DOUBLE_BITS = 51n;
/** No UTF-8 has this byte, so a text that ends in it is above all that start the same. */
const ABOVE_ALL = Buffer.from([0xff]);

/** Reads `add.stats` for facts about each of `columns`, in their order; undefined where there are none, or they are broken. */
type StatsReader = (text: string | undefined) => ColumnStats[] | undefined;

/**
 * For many files: texts that look as writers make them are taken apart by an expression a column, which costs a fraction of parsing. The
 * others are parsed.
 */
export function quickStatsReader(columns: readonly PruneColumn[]): StatsReader {
  const parse = statsReader(columns);
  if (columns.length > MAX_EXPRESSIONS) return parse;
  let asked = 0;
  let expressions: RegExp[] | undefined;
  return (text) => {
    if (!text?.endsWith("}") || ++asked <= FEW_FILES) return parse(text);
    expressions ??= columns.map(expressionFor);
    const found: ColumnStats[] = [];
    for (const expression of expressions) {
      const parts = expression.exec(text);
      const [min, max] = [textIn(parts?.[2]), textIn(parts?.[3])];
      if (parts === null || min === undefined || max === undefined) return parse(text);
      found.push({ numRecords: parts[1], nulls: parts[4], min, max });
    }
    return found;
  };
}

/** Reads the outer bounds of one column, as `statsFacts` has them, and nothing else. */
export function boundsReader(
  column: PruneColumn,
): (text: string | undefined) => Pick<Facts, "min" | "max"> | undefined {
  const parse = statsReader([column]);
  let expression: RegExp | undefined;
  return (text) => {
    expression ??= new RegExp(beforeNulls(column));
    const parts = text?.endsWith("}") ? expression.exec(text) : null;
    let [min, max]: unknown[] = [textIn(parts?.[2]), textIn(parts?.[3])];
    if (min === undefined || max === undefined) {
      const [found] = parse(text) ?? [];
      if (found === undefined) return undefined;
      ({ min, max } = found);
    }
    return { min: lowest(column, min), max: highest(column, max) };
  };
}

const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const FLAT_OBJECT = String.raw`\{(?:[^"{}]|${TEXT})*\}`;
const MEMBER = String.raw`${TEXT}:(?:${TEXT}|[^",{}\[\]\s]+|${FLAT_OBJECT})`;
const NUMBER = String.raw`-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`;

/** Its groups: numRecords, the lowest value, the highest one and the count of nulls, all of them there. */
function expressionFor(column: PruneColumn): RegExp {
  const nulls = memberAt(column.path, String.raw`\d+`);
  return new RegExp(String.raw`${beforeNulls(column)},"nullCount":\{${nulls}\}`);
}

function beforeNulls(column: PruneColumn): string {
  const value = column.type === "string" || isTime(column) ? TEXT : NUMBER;
  const bounds = memberAt(column.path, value);
  return String.raw`^\{"numRecords":(\d+),"minValues":\{${bounds}\},"maxValues":\{${bounds}\}`;
}

/** Of an object without its braces: all its members, with the one at `path` as a group. */
function memberAt([name = "", ...inner]: readonly string[], value: string): string {
  const key = JSON.stringify(name).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const own = inner.length === 0 ? `(${value})` : String.raw`\{${memberAt(inner, value)}\}`;
  return `(?:${MEMBER},)*?${key}:${own}(?:,${MEMBER})*`;
}

/** What a text in quotes says, and digits as they are; undefined for what is no text. */
function textIn(token: string | undefined): string | undefined {
  if (token === undefined || !token.startsWith('"')) return token;
  if (!token.includes("\\")) return token.slice(1, -1);
  try {
    return JSON.parse(token) as string;
  } catch {
    return undefined;
  }
}

/** Parses each text. */
export function statsReader(columns: readonly PruneColumn[]): StatsReader {
  const needsDigits = columns.some((column) => (decimalOf(column.type)?.precision ?? 0) > EXACT_DIGITS);
  const hasLongs = columns.some(({ type }) => type === "long" || decimalOf(type) !== undefined);
  const read = needsDigits
    ? (text: string): unknown => parseLossless(text, undefined, { parseNumber: (digits) => digits })
    : hasLongs
      ? parseJson
      : JSON.parse;
  return (text) => {
    if (text === undefined) return undefined;
    let tree: unknown;
    try {
      tree = read(text);
    } catch {
      return undefined;
    }
    if (!isObject(tree)) return undefined;
    const numRecords = own(tree, "numRecords");
    return columns.map(({ path }) => ({
      numRecords,
      nulls: at(tree, "nullCount", path),
      min: at(tree, "minValues", path),
      max: at(tree, "maxValues", path),
    }));
  };
}

/**
 * Nulls are told from a count only where it is 0 or all rows, which holds with deletion vectors too. A bound that cannot be trusted is
 * none. NaN is in no statistics: what is said of a float is said of its numbers.
 */
export function statsFacts(stats: ColumnStats, column: PruneColumn): Facts {
  const nulls = count(stats.nulls);
  const isAllNull = nulls !== undefined && nulls === count(stats.numRecords);
  return {
    mayBeNull: nulls !== 0n,
    mayBeValue: !isAllNull,
    min: lowest(column, stats.min),
    max: highest(column, stats.max),
  };
}

function lowest(column: PruneColumn, raw: unknown): Comparable | undefined {
  const value = bound(column, raw);
  if (typeof value !== "bigint") return value;
  if (!isTime(column)) return value - roundingOf(column, value);
  if (value < GREGORIAN) return undefined;
  // A writer that cuts toward 1970 has cut earlier times upwards.
  return column.type !== "date" && value < 0n ? value - MILLISECOND : value;
}

function highest(column: PruneColumn, raw: unknown): Comparable | undefined {
  const value = bound(column, raw);
  if (value instanceof Uint8Array) {
    return (raw as string).length >= MAY_BE_CUT ? Buffer.concat([value, ABOVE_ALL]) : value;
  }
  if (typeof value !== "bigint") return value;
  if (!isTime(column)) return value + roundingOf(column, value);
  if (value < GREGORIAN) return GREGORIAN;
  return column.type === "date" ? value : value + MILLISECOND;
}

function bound(column: PruneColumn, raw: unknown): Comparable | undefined {
  const { type, isWidened } = column;
  // Not all writers give booleans bounds, and those who do disagree how.
  if (type === "boolean" || isWidened) return undefined;
  const isText = typeof raw === "string";
  if (!isText && typeof raw !== "number" && typeof raw !== "bigint") return undefined;
  if (!isText && (type === "string" || isTime(column))) return undefined;
  const value = comparableOf(type, String(raw));
  return Number.isNaN(value) ? undefined : value;
}

/** How far off a bound may be that its writer (delta-rs does) passed through a double. */
function roundingOf({ type }: PruneColumn, value: bigint): bigint {
  if ((decimalOf(type)?.precision ?? 0) <= EXACT_DIGITS) return 0n;
  const size = value < 0n ? -value : value;
  const digits = String(size).replace(/0+$/, "").length;
  return digits > DOUBLE_DIGITS ? 0n : (size >> DOUBLE_BITS) + 1n;
}

function isTime({ type }: PruneColumn): boolean {
  return type === "date" || type === "timestamp" || type === "timestamp_ntz";
}

function count(raw: unknown): bigint | undefined {
  if (Number.isSafeInteger(raw)) return BigInt(raw as number);
  if (typeof raw === "bigint") return raw;
  return /^\d+$/.test(String(raw)) ? BigInt(raw as string | number) : undefined;
}

function at(tree: object, part: string, path: readonly string[]): unknown {
  let found: unknown = own(tree, part);
  for (const name of path) {
    if (!isObject(found)) return undefined;
    found = own(found, name);
  }
  return found;
}

/** Own properties only: a column may have any name. */
function own(tree: object, name: string): unknown {
  return Object.hasOwn(tree, name) ? (tree as Record<string, unknown>)[name] : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
