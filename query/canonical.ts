/** Rows as one text each that is the same for every reader: what the conformance suite compares (`lab batch`, op `rows`). */

import type { Value, ValueType } from "../engine/result.ts";
import { decimalText } from "./cells.ts";
import { dateText, timestampText } from "./dates.ts";

/** A row as a JSON array in schema order, without spaces. */
export function canonicalRow(types: readonly ValueType[]): (row: readonly Value[]) => string {
  const texts = types.map(nullable);
  return (row) => `[${texts.map((text, index) => text(row[index] ?? null)).join(",")}]`;
}

type Text = (value: NonNullable<Value>) => string;

function nullable(type: ValueType): (value: Value) => string {
  const text = textOf(type);
  return (value) => (value === null ? "null" : text(value));
}

function textOf(type: ValueType): Text {
  switch (type.kind) {
    case "int":
      return type.bits > 32 ? (value) => `"${value}"` : String;
    case "float":
      // JSON has no -0 and no NaN; a 32-bit value is written as the double it widens to.
      return (value) => (Number.isFinite(value) ? JSON.stringify((value as number) + 0) : `"${value}"`);
    case "decimal":
      return (value) => `"${decimalText(value as bigint, type.scale)}"`;
    case "binary":
      return (value) => `"${Buffer.from(value as Uint8Array).toString("hex")}"`;
    case "date":
      return (value) => `"${dateText(value as number)}"`;
    case "timestamp":
      return (value) => `"${timestampText(value as bigint)}${type.zoned ? "Z" : ""}"`;
    case "list": {
      const item = nullable(type.item);
      return (value) => `[${(value as Value[]).map(item).join(",")}]`;
    }
    case "struct": {
      const fields = type.fields.map((field) => ({
        name: JSON.stringify(field.name),
        text: nullable(field.type),
      }));
      return (value) =>
        `{${fields.map(({ name, text }, index) => `${name}:${text((value as Value[])[index] ?? null)}`).join(",")}}`;
    }
    case "map": {
      const [key, inner] = [nullable(type.key), nullable(type.value)];
      return (value) => {
        const pairs = (value as [Value, Value][]).map(([k, v]) => ({ key: key(k), value: inner(v) }));
        pairs.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
        return `[${pairs.map((pair) => `[${pair.key},${pair.value}]`).join(",")}]`;
      };
    }
    default:
      return (value) => JSON.stringify(value);
  }
}
