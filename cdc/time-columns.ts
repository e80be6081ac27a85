/** Columns whose numbers are times, where no schema comes with the messages and somebody has to say what they count. */

import type { Fault } from "../engine/json-exact.ts";
import { JsonNumber, parseJsonExactly } from "../engine/json-parse.ts";
import type { Change } from "./change.ts";
import type { ChangeDecoder } from "./decoder.ts";
import { isJsonObject, longOf, writeJson } from "./json-text.ts";
import { dateOf, instantOf, type TimeUnit } from "./source-time.ts";

/** What the numbers of a column count since 1970. */
export const TIME_COUNTS = ["days", "ms", "us", "ns"] as const;
export type TimeCount = "days" | TimeUnit;

/** `decoder`, with dates and instants in UTC for the numbers of these columns. What is outside of 1900 to 2200 is a letter, not a guess. */
export function withTimeColumns(
  decoder: ChangeDecoder,
  columns: ReadonlyMap<string, TimeCount>,
): ChangeDecoder {
  if (columns.size === 0) return decoder;
  return {
    decode(message) {
      const decoded = decoder.decode(message);
      if (!("changes" in decoded)) return decoded;
      const changes: Change[] = [];
      for (const change of decoded.changes) {
        const timed = withTimes(change, columns);
        if ("bad" in timed) return timed;
        changes.push(timed);
      }
      return { ...decoded, changes };
    },
    get keyColumns() {
      return decoder.keyColumns;
    },
    get promised() {
      return decoder.promised;
    },
  };
}

function withTimes(change: Change, columns: ReadonlyMap<string, TimeCount>): Change | { bad: Fault } {
  const row = rowWithTimes(change.row, columns);
  if ("bad" in row) return row;
  const { was, ...rest } = change;
  const before = was && rowWithTimes(was, columns);
  return { ...rest, row: row.bytes, ...(before && "bytes" in before ? { was: before.bytes } : {}) };
}

function rowWithTimes(
  bytes: Uint8Array,
  columns: ReadonlyMap<string, TimeCount>,
): { bytes: Uint8Array } | { bad: Fault } {
  const row = parseJsonExactly(Buffer.from(bytes).toString("utf8"));
  if (!isJsonObject(row)) return { bytes };
  for (const [name, count] of columns) {
    const value = Object.hasOwn(row, name) ? row[name] : undefined;
    if (!(value instanceof JsonNumber)) continue;
    const number = longOf(value);
    const text = number === null ? null : count === "days" ? dateOf(number) : instantOf(number, count);
    if (text === null) {
      const message = `${name}: ${value.text} is no time of the years 1900 to 2200 in ${count}`;
      return { bad: { stage: "schema", code: "BAD_TIME", message } };
    }
    row[name] = text;
  }
  return { bytes: Buffer.from(writeJson(row)) };
}
