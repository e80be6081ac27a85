/** Rebuilds a file's statistics text from the typed copy that some checkpoints hold instead (`stats_parsed`). */

import { DataType, type Vector } from "apache-arrow";
import { unscaledText } from "./decimal.ts";

/** The statistics as JSON text, or undefined where the row has none. */
export function statsFromStruct(column: Vector | null, row: number): string | undefined {
  return column?.isValid(row) ? render(column, row) : undefined;
}

/** JSON of one value; undefined for what JSON statistics leave out (nulls, NaN, infinities, types without an order). */
function render(column: Vector, row: number): string | undefined {
  if (!column.isValid(row)) return undefined;
  const { type } = column;
  if (DataType.isStruct(type)) {
    const parts = type.children.flatMap((field, at) => {
      const child = column.getChildAt(at);
      const text = child ? render(child, row) : undefined;
      return text === undefined ? [] : [`${JSON.stringify(field.name)}:${text}`];
    });
    return `{${parts.join(",")}}`;
  }
  if (DataType.isTimestamp(type)) return instant(column, row);
  const value: unknown = column.get(row);
  if (DataType.isDecimal(type)) return unscaledText(String(value), type.scale);
  if (DataType.isDate(type)) return isoText(Number(value))?.replace(/T.*"$/, '"');
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
  return typeof value === "string" ? JSON.stringify(value) : undefined;
}

/** Cut down to milliseconds, as the protocol's JSON form is; `Z` only where the type has a zone. */
function instant(column: Vector, row: number): string | undefined {
  const type = column.type as { unit: number; timezone?: string | null };
  const data = column.data[0]!;
  const raw = (data.values as BigInt64Array)[data.offset + row]!;
  const perMs = [0n, 1n, 1000n, 1_000_000n][type.unit]!;
  const ms = type.unit === 0 ? raw * 1000n : (raw - (((raw % perMs) + perMs) % perMs)) / perMs;
  const text = isoText(Number(ms));
  return type.timezone ? text : text?.replace('Z"', '"');
}

/** As JSON text; undefined outside of the years 0 to 9999, for which statistics have no form. */
function isoText(ms: number): string | undefined {
  const date = new Date(ms);
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9999 ? JSON.stringify(date) : undefined;
}
