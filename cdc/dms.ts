/**
 * Records of AWS DMS with Kafka as their target. A column that is left out is NULL, as `IncludeNullAndEmpty` is off by default. Positions come with
 * `IncludeTransactionDetails`; rows of the first load are older than every change. Without before-images a change of a key cannot be seen: the
 * old row stays.
 */

import { parseMessage } from "../engine/json-exact.ts";
import type { JsonObject } from "../engine/json-parse.ts";
import type { ChangeDecoder, ChangeMessage, DecodedChange } from "./decoder.ts";
import { isJsonObject, longOf, textOf } from "./json-text.ts";
import type { Position } from "./position.ts";
import { rowChanges } from "./row-change.ts";
import { isoMicros } from "./source-time.ts";

const BEFORE_IMAGE = "before-image";
/** Tables of its own. */
const CONTROL_TABLE = /^awsdms_/i;
const OPERATIONS: Readonly<Record<string, "upsert" | "delete">> = {
  load: "upsert",
  insert: "upsert",
  update: "upsert",
  delete: "delete",
};

export function createDmsDecoder(keyColumns: readonly string[]): ChangeDecoder {
  function decode(message: ChangeMessage): DecodedChange {
    const parsed = parseMessage(message.value);
    if (parsed.kind === "fault") return { bad: parsed.fault };
    const { data, control, metadata } = parsed.object;
    if (!isJsonObject(metadata))
      return { bad: { stage: "schema", code: "NOT_A_CHANGE", message: "there is no object metadata" } };
    const operation = textOf(metadata.operation) ?? "";
    if (isJsonObject(control) || metadata["record-type"] === "control") return { skipped: "control" };
    if (CONTROL_TABLE.test(textOf(metadata["table-name"]) ?? "")) return { skipped: "control" };
    const kind = Object.hasOwn(OPERATIONS, operation) ? OPERATIONS[operation]! : null;
    if (kind === null) return { skipped: operation || "no operation" };
    const before = parsed.object[BEFORE_IMAGE];
    const row = isJsonObject(data) ? data : kind === "delete" && isJsonObject(before) ? before : null;
    if (row === null)
      return { bad: { stage: "schema", code: "NOT_A_CHANGE", message: `${operation} has no object data` } };
    return rowChanges(message, {
      ...{ kind, row, keyColumns, before: isJsonObject(before) ? { ...row, ...before } : null },
      position: positionOf(metadata, operation === "load"),
    });
  }
  return { decode, keyColumns, promised: null };
}

/** Transaction ids are not in the order of commits; their times are, and within one its records are counted. */
function positionOf(metadata: JsonObject, isLoad: boolean): Position | null {
  const committed = isoMicros(textOf(metadata["commit-timestamp"]));
  const timeMicros = committed ?? isoMicros(textOf(metadata.timestamp));
  if (isLoad) return { source: "dms", hi: 0n, lo: 0n, sub: 0n, timeMicros, isSnapshot: true };
  const record = longOf(metadata["transaction-record-id"]);
  if (committed === null || record === null) return null;
  return { source: "dms", hi: committed, lo: record, sub: 0n, timeMicros, isSnapshot: false };
}
