/** The exact and slow way into the vectors: from the values of a parsed message that fits the schema, whatever way it is written. */

import type { StructType } from "../delta/types.ts";
import { exactDecimal, plainDecimal } from "../engine/json-number.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "../engine/json-parse.ts";
import { isoTimestamp } from "../engine/json-time.ts";
import type { Node } from "./json-nodes.ts";

const MOST_DIGITS = 38;

/**
 * Appends the row of a message for which the engine's `fitMessage` gave a row of `schema`; `node` is the schema's. Fields that it lacks are
 * passed over.
 */
export function addObject(node: Node, object: JsonObject, schema: StructType): void {
  addStruct(node, object, schema, 0);
}

function addStruct(node: Node, object: JsonObject, schema: StructType, repetition: number): void {
  for (const [i, { name }] of schema.fields.entries()) {
    const value = Object.hasOwn(object, name) ? object[name]! : null;
    addValue(node.fields[i]!.node, value, schema.fields[i]!.type, repetition);
  }
}

function addValue(
  node: Node,
  value: JsonValue,
  type: StructType["fields"][number]["type"],
  repetition: number,
): void {
  if (value === null) {
    for (const leaf of node.leaves) leaf.addNull(repetition, node.nullLevel);
    return;
  }
  if (typeof type === "string") {
    addScalar(node, value, type, repetition);
  } else if (type.type === "struct") {
    addStruct(node, value as JsonObject, type, repetition);
  } else if (type.type === "array") {
    const elements = value as JsonValue[];
    if (elements.length === 0) addEmpty(node, repetition);
    for (const [i, element] of elements.entries())
      addValue(node.element!, element, type.elementType, i === 0 ? repetition : node.repetition);
  } else {
    const entries = Object.entries(value as JsonObject);
    if (entries.length === 0) addEmpty(node, repetition);
    for (const [i, [key, element]] of entries.entries()) {
      const level = i === 0 ? repetition : node.repetition;
      node.leaf!.addBytes(level, Buffer.from(key));
      addValue(node.element!, element, type.valueType, level);
    }
  }
}

function addScalar(node: Node, value: Exclude<JsonValue, null>, type: string, repetition: number): void {
  const leaf = node.leaf!;
  if (type === "binary") {
    leaf.addBytes(repetition, Buffer.from(value as string, "base64"));
    return;
  }
  switch (node.kind) {
    case "STRING":
      leaf.addBytes(repetition, Buffer.from(value instanceof JsonNumber ? value.text : String(value)));
      return;
    case "INTEGER":
      leaf.addWhole(
        repetition,
        BigInt(plainDecimal(exactDecimal((value as JsonNumber).text), MOST_DIGITS, 0)!),
      );
      return;
    case "REAL":
      leaf.addNumber(repetition, Number((value as JsonNumber).text));
      return;
    case "DECIMAL": {
      const { digits, exponent, isNegative } = exactDecimal((value as JsonNumber).text);
      const unscaled = BigInt(digits) * 10n ** BigInt(exponent + node.scale);
      leaf.addWhole(repetition, isNegative ? -unscaled : unscaled);
      return;
    }
    case "TRUTH":
      leaf.addBoolean(repetition, value === true);
      return;
    case "DATE":
      leaf.addNumber(repetition, daysOf(value as string));
      return;
    case "TIMESTAMP":
      leaf.addWhole(repetition, microsOf(value as string, node.flag));
      return;
  }
}

/** An array or map without anything in it. */
function addEmpty(node: Node, repetition: number): void {
  const level = node.isNullable ? node.nullLevel + 1 : node.nullLevel;
  for (const leaf of node.leaves) leaf.addNull(repetition, level);
}

/** Days since 1970 of YYYY-MM-DD in the Gregorian calendar. */
function daysOf(day: string): number {
  return Date.parse(`${day.slice(0, 10)}T00:00:00Z`) / 86_400_000;
}

/** Since 1970, in the spelling of `isoTimestamp`: YYYY-MM-DDTHH:MM:SS, perhaps decimals, and a zone where there is one. */
function microsOf(text: string, hasZone: boolean): bigint {
  const iso = isoTimestamp(text, { zone: hasZone });
  const [, clock, decimals = "", sign, hours, minutes] =
    /T(\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))?$/.exec((iso as { text: string }).text)!;
  const [hour, minute, second] = clock!.split(":").map(Number) as [number, number, number];
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === "+" ? 60 : -60);
  const seconds = daysOf(text) * 86_400 + hour * 3600 + minute * 60 + second - offset;
  return BigInt(seconds) * 1_000_000n + BigInt(decimals.padEnd(6, "0"));
}
