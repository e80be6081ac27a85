/** Newline-separated JSON: several objects in a message, each a row that knows its place among them. */

import { isUtf8 } from "node:buffer";
import type { StructType } from "../delta/types.ts";
import type { Decoded, Decoder } from "./decoder.ts";

/** As a transform that makes several rows of a message numbers them. */
const INDEX_NAME = "_kafka_index";
const SCHEMA: StructType = {
  type: "struct",
  fields: [{ name: INDEX_NAME, type: "integer", nullable: true, metadata: {} }],
};

const NEWLINE = 10;
const [OPEN, CLOSE] = [0x7b, 0x7d];
/** The index's name as it stands, or escapes that could spell a character of it. */
const TRACES = [INDEX_NAME, "\\u005", "\\u006", "\\u007"].map((text) => Buffer.from(text));

/**
 * Objects go through byte for byte, with `_kafka_index` (from 0) as their first field. Whether they are JSON all through is for the encoder
 * to say: here only where each begins and ends is looked at.
 */
export function createJsonLinesDecoder(): Decoder {
  return { prepare: async () => {}, decode: splitLines, schema: () => SCHEMA };
}

function splitLines(value: Uint8Array | null): Decoded {
  if (value === null) return bad("NULL_VALUE", "the value is null (a tombstone), not JSON objects");
  if (!isUtf8(value)) return bad("INVALID_UTF8", "the value is not UTF-8 text");
  const objects: Uint8Array[] = [];
  let line = 1;
  for (let start = 0; start < value.length; line++) {
    const newline = value.indexOf(NEWLINE, start);
    const end = newline === -1 ? value.length : newline;
    const [from, to] = trimmed(value, start, end);
    start = end + 1;
    if (from === to) continue;
    const text = value.subarray(from, to);
    if (text[0] !== OPEN || text.at(-1) !== CLOSE) return noObject(text, line);
    if (hasIndex(text))
      return bad("RESERVED_FIELD", `line ${line} has a field named ${INDEX_NAME}`, "schema");
    objects.push(withIndex(text, objects.length));
  }
  if (objects.length === 0) return bad("EMPTY_VALUE", "the value has no line with a JSON object");
  return { objects };
}

/** `text`, which begins with `{`, with its index as the first field. */
function withIndex(text: Uint8Array, index: number): Uint8Array {
  const [, to] = trimmed(text, 0, text.length - 1);
  const isEmpty = to === 1;
  const head = Buffer.from(`{"${INDEX_NAME}":${index}${isEmpty ? "" : ","}`, "latin1");
  const spliced = new Uint8Array(head.length + text.length - 1);
  spliced.set(head);
  spliced.set(text.subarray(1), head.length);
  return spliced;
}

function hasIndex(text: Uint8Array): boolean {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.length);
  if (!TRACES.some((trace) => bytes.includes(trace))) return false;
  try {
    return Object.hasOwn(JSON.parse(bytes.toString("utf8")) as object, INDEX_NAME);
  } catch {
    return false;
  }
}

function noObject(text: Uint8Array, line: number): Decoded {
  const json = Buffer.from(text.buffer, text.byteOffset, text.length).toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    const why = json.startsWith("\ufeff") ? "begins with a byte order mark" : "is not one whole JSON object";
    return bad("MALFORMED_JSON", `line ${line} ${why}`);
  }
  const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return bad("NOT_AN_OBJECT", `line ${line} is ${kind}, not a JSON object`);
}

/** Without the white space of JSON around. */
function trimmed(bytes: Uint8Array, start: number, end: number): [start: number, end: number] {
  let [from, to] = [start, end];
  while (from < to && isSpace(bytes[from]!)) from++;
  while (to > from && isSpace(bytes[to - 1]!)) to--;
  return [from, to];
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 9 || byte === 13 || byte === NEWLINE;
}

function bad(code: string, message: string, stage: "decode" | "schema" = "decode"): Decoded {
  return { bad: { stage, code, message } };
}
