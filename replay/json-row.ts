/** Rows as the JSON text that a JSON stream reads into the same row again, made by the engine. */

import { isStruct } from "../delta/schema.ts";
import type { DataType } from "../delta/types.ts";
import { quoteText } from "../engine/instance.ts";

export type JsonField = { name: string; type: DataType };

/** What an error of the engine holds where a time has no form in JSON; behind it stand the microseconds since 1970, or "infinity" or "-infinity". */
export const NO_FORM = "lab: no form in JSON for a time of ";

/**
 * SQL of the object with these columns: longs and decimals digit for digit, times as ISO 8601, bytes as base64, NULL fields left out. A map
 * with keys that are no text is a list of pairs. NaN and infinities, which JSON cannot say, are text. Fails with NO_FORM for times outside the years 1 to 9999.
 */
export function jsonObject(
  fields: readonly JsonField[],
  member: (name: string) => string,
  depth = 0,
): string {
  if (fields.length === 0) return "'{}'";
  const parts = fields.map(({ name, type }) => {
    const label = quoteText(`${JSON.stringify(name)}:`);
    return `${label} || ${jsonOf(member(name), type, depth)}`;
  });
  return `('{' || concat_ws(',', ${parts.join(", ")}) || '}')`;
}

/** SQL of a value as text, NULL for NULL. `depth` names what is inside: each level has a name of its own. */
function jsonOf(value: string, type: DataType, depth: number): string {
  if (typeof type === "string") return scalarOf(value, type);
  const item = `x${depth}`;
  const inner = (expression: string, of: DataType) => jsonOf(expression, of, depth + 1);
  const orNull = (text: string) => `coalesce(${text}, 'null')`;
  const joined = (items: string, text: string, [open, close]: string) =>
    `(${quoteText(open!)} || array_to_string(list_transform(${items}, lambda ${item}: ${text}), ',') || ${quoteText(close!)})`;
  if (isStruct(type)) {
    const object = jsonObject(
      type.fields,
      (name) => `struct_extract(${value}, ${quoteText(name)})`,
      depth + 1,
    );
    return `CASE WHEN ${value} IS NOT NULL THEN ${object} END`;
  }
  if (type.type === "array") return joined(value, orNull(inner(item, type.elementType)), "[]");
  // With a dot a column of the table that has the item's name would come first.
  const [key, held] = [
    inner(`struct_extract(${item}, 'key')`, type.keyType),
    orNull(inner(`struct_extract(${item}, 'value')`, type.valueType)),
  ];
  const entries = `map_entries(${value})`;
  if (type.keyType === "string") return joined(entries, `${key} || ':' || ${held}`, "{}");
  return joined(entries, `'[' || ${key} || ',' || ${held} || ']'`, "[]");
}

function scalarOf(value: string, type: string): string {
  const text = `${value}::VARCHAR`;
  const quoted = (of: string) => `('"' || ${of} || '"')`;
  switch (type) {
    case "void":
      return "NULL::VARCHAR";
    case "string":
      // Nearly all are as they are between quotes, which takes a fraction of making them JSON.
      return `CASE WHEN regexp_matches(${value}, '["\\\\\\x00-\\x1f]') THEN to_json(${value})::VARCHAR ELSE ${quoted(value)} END`;
    case "float":
    case "double": {
      // A float as all its digits, for a reader who takes it for a double.
      const number = `${value}::DOUBLE`;
      const word = `CASE WHEN isnan(${value}) THEN 'NaN' WHEN ${value} > 0 THEN 'Infinity' ELSE '-Infinity' END`;
      return `CASE WHEN isfinite(${value}) THEN ${number}::VARCHAR WHEN ${value} IS NOT NULL THEN ${quoted(word)} END`;
    }
    case "binary":
      return quoted(`to_base64(${value})`);
    case "date":
      return timeOf(value, quoted(text), {
        first: "DATE '0001-01-01'",
        last: "DATE '9999-12-31'",
        told: value,
      });
    case "timestamp":
    case "timestamp_ntz": {
      const moment = `make_timestamp(epoch_us(${value}))`;
      const zone = type === "timestamp" ? " || 'Z'" : "";
      return timeOf(moment, quoted(`replace(${moment}::VARCHAR, ' ', 'T')${zone}`), {
        ...{ first: "TIMESTAMP '0001-01-01'", last: "TIMESTAMP '9999-12-31 23:59:59.999999'" },
        told: value,
      });
    }
    default:
      // The engine writes decimals without digits before the point as .5, which is no JSON.
      if (isFraction(type)) return `regexp_replace(${text}, '^(-?)\\.', '\\10.')`;
      // Whole numbers, other decimals, truth values.
      return text;
  }
}

function isFraction(type: string): boolean {
  const [, precision, scale] = /^decimal\((\d+),(\d+)\)$/.exec(type) ?? [];
  return precision !== undefined && precision === scale;
}

/** `told` is the time as the table has it: of an infinite one the engine knows no microseconds. */
function timeOf(
  value: string,
  text: string,
  { first, last, told }: { first: string; last: string; told: string },
): string {
  const micros = `coalesce(epoch_us(${told})::VARCHAR, ${told}::VARCHAR)`;
  return `CASE WHEN ${value} BETWEEN ${first} AND ${last} THEN ${text}
    WHEN ${told} IS NOT NULL THEN error(${quoteText(NO_FORM)} || ${micros}) END`;
}
