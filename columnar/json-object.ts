/** The exact and slow way into the vectors: from the values of a parsed message that fits the schema, whatever way it is written. */

import type { StructType } from "../delta/types.ts";
import { exactDecimal, plainDecimal } from "../engine/json-number.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "../engine/json-parse.ts";
import { isoTimestamp } from "../engine/json-time.ts";
import { addEmpty, addNulls } from "./json-builder.ts";
import type { Node } from "./json-nodes.ts";
import { addWideInteger, addWideUnscaled } from "./json-numbers.ts";
import { addMicros, daysSinceEpoch } from "./json-times.ts";

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
    addNulls(node, repetition, node.nullLevel);
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
      node.leaf!.addCopy(level, Buffer.from(key));
      addValue(node.element!, element, type.valueType, level);
    }
  }
}

function addScalar(node: Node, value: Exclude<JsonValue, null>, type: string, repetition: number): void {
  const leaf = node.leaf!;
  if (type === "binary") {
    leaf.addCopy(repetition, Buffer.from(value as string, "base64"));
    return;
  }
  switch (node.kind) {
    case "string":
      leaf.addCopy(repetition, Buffer.from(value instanceof JsonNumber ? value.text : String(value)));
      return;
    case "integer": {
      const whole = BigInt(plainDecimal(exactDecimal((value as JsonNumber).text), MOST_DIGITS, 0)!);
      if (leaf.leaf.physical === "int32") leaf.addInt32(repetition, Number(whole));
      else addWideInteger(leaf, repetition, whole);
      return;
    }
    case "double": {
      const number = Number((value as JsonNumber).text);
      const i = leaf.add(repetition);
      if (node.isFloat) leaf.floats[i] = number;
      else leaf.doubles[i] = number;
      return;
    }
    case "decimal": {
      const { digits, exponent, isNegative } = exactDecimal((value as JsonNumber).text);
      const unscaled = BigInt(digits) * 10n ** BigInt(exponent + node.scale);
      addWideUnscaled(leaf, repetition, isNegative ? -unscaled : unscaled);
      return;
    }
    case "boolean":
      leaf.addBoolean(repetition, value === true);
      return;
    case "date":
      leaf.addInt32(repetition, daysOf(value as string));
      return;
    case "timestamp": {
      const { seconds, micros } = timeOf(value as string, node.hasZone);
      addMicros(leaf, repetition, seconds, micros);
      return;
    }
  }
}

function daysOf(day: string): number {
  return daysSinceEpoch(Number(day.slice(0, 4)), Number(day.slice(5, 7)), Number(day.slice(8, 10)));
}

/** In the spelling of `isoTimestamp`: YYYY-MM-DDTHH:MM:SS, perhaps decimals, and a zone where there is one. */
function timeOf(text: string, hasZone: boolean): { seconds: number; micros: number } {
  const iso = isoTimestamp(text, { zone: hasZone });
  const [, clock, decimals = "", sign, hours, minutes] =
    /T(\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))?$/.exec((iso as { text: string }).text)!;
  const [hour, minute, second] = clock!.split(":").map(Number) as [number, number, number];
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === "+" ? 60 : -60);
  const seconds = daysOf(text) * 86_400 + hour * 3600 + minute * 60 + second - offset;
  return { seconds, micros: Number(decimals.padEnd(6, "0")) };
}
