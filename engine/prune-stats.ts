/** What a file's statistics say of a column: outer bounds that hold however their writer cut or rounded them. */

import { parse as parseLossless } from "lossless-json";
import { parseJson } from "../delta/json.ts";
import { decimalOf } from "../delta/schema.ts";
import type { Facts, PruneColumn } from "./prune-predicate.ts";
import { type Comparable, comparableOf } from "./prune-values.ts";

/** Statistics of one file, parsed as far as its predicate needs. */
export type ParsedStats = { numRecords: bigint | undefined; tree: object };

/** Microseconds that a bound in ms may be off. */
const MILLISECOND = 1000n;
/** 1582-10-15: writers differ in the calendar that they count earlier days in. */
const GREGORIAN = -12_219_292_800_000_000n;
/** UTF-16 units from which on a text may be the beginning of a longer one. */
const MAY_BE_CUT = 32;
/** Digits that survive being a double. */
const EXACT_DIGITS = 15;
/** No UTF-8 has this byte, so a text that ends in it is above all that start the same. */
const ABOVE_ALL = Buffer.from([0xff]);

/** Reads `add.stats` for facts about `columns`. Undefined where there are none, or they are broken. */
export function statsReader(
  columns: readonly PruneColumn[],
): (text: string | undefined) => ParsedStats | undefined {
  const needsDigits = columns.some((column) => (decimalOf(column.type)?.precision ?? 0) > EXACT_DIGITS);
  const hasLongs = columns.some(({ type }) => type === "long" || decimalOf(type) !== undefined);
  const read = needsDigits
    ? (text: string): unknown => parseLossless(text, undefined, { parseNumber: (digits) => digits })
    : hasLongs
      ? parseJson
      : JSON.parse;
  return (text) => {
    if (text === undefined) return undefined;
    try {
      const tree = read(text);
      return isObject(tree) ? { tree, numRecords: count(own(tree, "numRecords")) } : undefined;
    } catch {
      return undefined;
    }
  };
}

/**
 * Nulls are told from a count only where it is 0 or all rows, which holds with deletion vectors too. A bound that cannot be trusted is
 * none. NaN is in no statistics: what is said of a float is said of its numbers.
 */
export function statsFacts({ numRecords, tree }: ParsedStats, column: PruneColumn): Facts {
  const nulls = count(at(tree, "nullCount", column.path));
  const isAllNull = nulls !== undefined && nulls === numRecords;
  return {
    mayBeNull: nulls !== 0n,
    mayBeValue: !isAllNull,
    min: lowest(column, at(tree, "minValues", column.path)),
    max: highest(column, at(tree, "maxValues", column.path)),
  };
}

function lowest(column: PruneColumn, raw: unknown): Comparable | undefined {
  const value = bound(column, raw);
  if (typeof value !== "bigint" || !isTime(column)) return value;
  if (value < GREGORIAN) return undefined;
  // A writer that cuts toward 1970 has cut earlier times upwards.
  return column.type !== "date" && value < 0n ? value - MILLISECOND : value;
}

function highest(column: PruneColumn, raw: unknown): Comparable | undefined {
  const value = bound(column, raw);
  if (value instanceof Uint8Array) {
    return (raw as string).length >= MAY_BE_CUT ? Buffer.concat([value, ABOVE_ALL]) : value;
  }
  if (typeof value !== "bigint" || !isTime(column)) return value;
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
