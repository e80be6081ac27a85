/** Values as the lab's JSON writes them, everywhere (contracts.md, "JSON"). */

import type { Value, ValueType } from "../engine/result.ts";
import { dateText, timestampText } from "./dates.ts";

export type Cell = null | boolean | number | string | Cell[] | { [name: string]: Cell };

/**
 * The JSON form of a type's values: integers beyond 32 bits and decimals as text, moments ISO UTC with micros and `Z` (without
 * for timestamp_ntz), binary base64, NaN and infinities by name; maps are objects where keys are text, else [key, value] pairs.
 */
export function toCell(type: ValueType): (value: Value) => Cell {
  const some = ofType(type);
  return (value) => (value === null ? null : some(value));
}

function ofType(type: ValueType): (value: NonNullable<Value>) => Cell {
  switch (type.kind) {
    case "int":
      return type.bits > 32 ? String : (value) => value as number;
    case "float":
      return (value) => (Number.isFinite(value) ? (value as number) : String(value));
    case "decimal":
      return (value) => decimalText(value as bigint, type.scale);
    case "binary":
      return (value) => Buffer.from(value as Uint8Array).toString("base64");
    case "date":
      return (value) => dateText(value as number);
    case "timestamp":
      return (value) => timestampText(value as bigint) + (type.zoned ? "Z" : "");
    case "list": {
      const item = toCell(type.item);
      return (value) => (value as Value[]).map(item);
    }
    case "struct": {
      const fields = type.fields.map((field) => ({ name: field.name, cell: toCell(field.type) }));
      return (value) =>
        Object.fromEntries(
          fields.map(({ name, cell }, index) => [name, cell((value as Value[])[index] ?? null)]),
        );
    }
    case "map": {
      const [key, inner] = [toCell(type.key), toCell(type.value)];
      const isText = type.key.kind === "text";
      return (value) => {
        const pairs = (value as [Value, Value][]).map(([k, v]) => [key(k), inner(v)] as const);
        return isText ? Object.fromEntries(pairs) : pairs.map(([k, v]) => [k, v]);
      };
    }
    case "null":
      return () => null;
    default:
      return (value) => value as boolean | string;
  }
}

/** An unscaled value with exactly `scale` digits after the point. */
export function decimalText(unscaled: bigint, scale: number): string {
  if (scale === 0) return unscaled.toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, "0");
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
