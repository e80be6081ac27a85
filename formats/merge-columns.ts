/** The columns that several writers' schemas promise together. */

import { decimalOf, isStruct } from "../delta/schema.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";

const WIDTH: Readonly<Record<string, number>> = { integer: 1, long: 2, float: 1, double: 2 };
const WHOLE = ["integer", "long"];
const REAL = ["float", "double"];

/**
 * The columns of `older` and then what `newer` adds, at any depth; names are the same if they differ by case only. Of two numbers of one
 * kind the wider, of other types that differ the newer.
 */
export function mergeColumns(older: StructType, newer: StructType): StructType {
  const fields = new Map(older.fields.map((field) => [field.name.toLowerCase(), field]));
  for (const field of newer.fields) {
    const key = field.name.toLowerCase();
    const known: StructField = fields.get(key) ?? field;
    fields.set(key, { ...known, type: mergeTypes(known.type, field.type) });
  }
  return { type: "struct", fields: [...fields.values()] };
}

function mergeTypes(older: DataType, newer: DataType): DataType {
  if (older === newer) return newer;
  if (isStruct(older) && isStruct(newer)) return mergeColumns(older, newer);
  if (typeof older === "object" && typeof newer === "object") {
    if (older.type === "array" && newer.type === "array")
      return { ...newer, elementType: mergeTypes(older.elementType, newer.elementType) };
    if (older.type === "map" && newer.type === "map")
      return { ...newer, valueType: mergeTypes(older.valueType, newer.valueType) };
    return newer;
  }
  if (typeof older === "string" && typeof newer === "string") return wider(older, newer) ?? newer;
  return newer;
}

function wider(older: string, newer: string): DataType | undefined {
  for (const kind of [WHOLE, REAL])
    if (kind.includes(older) && kind.includes(newer))
      return (WIDTH[older]! > WIDTH[newer]! ? older : newer) as DataType;
  const [a, b] = [decimalOf(older as DataType), decimalOf(newer as DataType)];
  if (!a || !b) return undefined;
  const scale = Math.max(a.scale, b.scale);
  const precision = Math.max(a.precision - a.scale, b.precision - b.scale) + scale;
  return precision <= 38 ? `decimal(${precision},${scale})` : undefined;
}
