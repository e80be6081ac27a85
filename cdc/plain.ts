/** Changes in a form of one's own: where a message says what happened, to which row, and in what order is told (`PlainPaths`). */

import { type Fault, parseMessage } from "../engine/json-exact.ts";
import { JsonNumber, type JsonObject } from "../engine/json-parse.ts";
import type { ChangeDecoder, ChangeMessage, DecodedChange } from "./decoder.ts";
import { emptyObject, isJsonObject, longOf, valueAt } from "./json-text.ts";
import type { PlainPaths } from "./options.ts";
import type { Position } from "./position.ts";
import { rowChanges } from "./row-change.ts";
import { isoMicros } from "./source-time.ts";

const UPSERTS = new Set([
  ...["c", "u", "r", "i", "insert", "update", "upsert", "create", "modify", "read", "load", "snapshot"],
]);
const DELETES = ["d", "delete", "remove"];
const TRUNCATES = new Set(["t", "truncate"]);

export function createPlainDecoder(paths: PlainPaths, keyColumns: readonly string[]): ChangeDecoder {
  const deletes = new Set([...DELETES, ...(paths.deleteOps ?? []).map((word) => word.toLowerCase())]);

  function decode(message: ChangeMessage): DecodedChange {
    const { partition, offset, generation, timestampMs } = message;
    if (message.value === null) return byMessageKey(message);
    const parsed = parseMessage(message.value);
    if (parsed.kind === "fault") return { bad: parsed.fault };
    const { object } = parsed;
    const position = positionOf(object, paths);
    if (position && "bad" in position) return position;
    const op = paths.op === undefined ? undefined : valueAt(object, paths.op);
    const word = typeof op === "string" ? op.toLowerCase() : op === undefined || op === null ? "upsert" : "";
    if (TRUNCATES.has(word) && !deletes.has(word))
      return {
        truncate: { kind: "truncate", position, place: { partition, offset, generation }, timestampMs },
      };
    const isDelete = deletes.has(word);
    if (!isDelete && !UPSERTS.has(word))
      return fault("UNKNOWN_OPERATION", `${paths.op} is ${JSON.stringify(op)}, which is no known operation`);
    const found = paths.row === undefined ? withoutOthers(object, paths) : valueAt(object, paths.row);
    const key = paths.key === undefined ? undefined : valueAt(object, paths.key);
    if (!isDelete && !isJsonObject(found)) return fault("CDC_ROW_MISSING", `${paths.row} is no object`);
    const row = Object.assign(emptyObject(), isJsonObject(found) ? found : {}, isJsonObject(key) ? key : {});
    return rowChanges(message, {
      kind: isDelete ? "delete" : "upsert",
      row,
      keyColumns,
      before: null,
      position,
    });
  }

  /** A tombstone, whose key is an object with the key columns. */
  function byMessageKey(message: ChangeMessage): DecodedChange {
    const parsed = parseMessage(message.key);
    if (parsed.kind === "fault")
      return fault("CDC_KEY_MISSING", "a message without a value has no JSON object as its key");
    return rowChanges(message, {
      kind: "delete",
      row: parsed.object,
      keyColumns,
      before: null,
      position: null,
    });
  }

  return { decode, keyColumns, promised: null };
}

/** The message itself as a row: what tells of the change is no column, but for what is in the key. */
function withoutOthers(object: JsonObject, { op }: PlainPaths): JsonObject {
  const row = emptyObject();
  for (const name of Object.keys(object)) if (name !== op) row[name] = object[name]!;
  return row;
}

function positionOf(object: JsonObject, paths: PlainPaths): Position | null | { bad: Fault } {
  if (!paths.position) return null;
  const parts: bigint[] = [];
  for (const path of paths.position) {
    const part = longOf(valueAt(object, path));
    if (part === null) return fault("CDC_POSITION", `${path} is no whole number that a long holds`);
    parts.push(part);
  }
  const [hi = 0n, lo = 0n, sub = 0n] = parts;
  return { source: "plain", hi, lo, sub, timeMicros: timeOf(object, paths), isSnapshot: false };
}

function timeOf(object: JsonObject, { time }: PlainPaths): bigint | null {
  const value = time === undefined ? undefined : valueAt(object, time);
  if (value instanceof JsonNumber) {
    const ms = longOf(value);
    return ms === null ? null : ms * 1000n;
  }
  return typeof value === "string" ? isoMicros(value) : null;
}

function fault(code: string, message: string): { bad: Fault } {
  return { bad: { stage: "schema", code, message } };
}
