/**
 * Debezium's messages, as envelopes or unwrapped, with or without the schemas of Kafka Connect's JSON converter: detected message by message,
 * as settings of a connector change within a topic. Shapes: Debezium's connector documentation, "Data change events".
 */

import { type Fault, parseMessage } from "../engine/json-exact.ts";
import type { JsonObject, JsonValue } from "../engine/json-parse.ts";
import { convertRow, fieldSchema, promisedColumns } from "./connect-values.ts";
import { debeziumPosition } from "./debezium-position.ts";
import type { ChangeDecoder, ChangeMessage, DecodedChange } from "./decoder.ts";
import { emptyObject, isJsonObject, textOf } from "./json-text.ts";
import { DEFAULT_PLACEHOLDER, placeholderTest } from "./placeholder.ts";
import type { Position } from "./position.ts";
import { rowChanges } from "./row-change.ts";
import { isSnapshotEnd, sweepAt } from "./snapshot-end.ts";
import { sourceTable } from "./source-tables.ts";
import { unwrap } from "./unwrapped.ts";

export type DebeziumOptions = {
  /** Columns that make a key; absent: the fields of the first message's key. */
  keyColumns?: readonly string[] | undefined;
  /** What stands for a large value that did not change (`unavailable.value.placeholder`). */
  placeholder?: string | undefined;
  /** Tells what goes with the end of a snapshot. */
  sweep?: boolean | undefined;
};

const OPERATIONS = new Set(["c", "u", "d", "r", "t", "m"]);
const OLD_KEY_HEADER = "__debezium.oldkey";
const NEW_KEY_HEADER = "__debezium.newkey";

export function createDebeziumDecoder(options: DebeziumOptions): ChangeDecoder {
  const isPlaceholder = placeholderTest(options.placeholder ?? DEFAULT_PLACEHOLDER);
  let keyColumns = options.keyColumns ?? null;
  let promised: ChangeDecoder["promised"] = null;
  let promisedBy: string | null = null;
  /** Of each partition the last message, where that was a delete. */
  const deleted = new Map<number, { key: string; offset: bigint }>();

  function decode(message: ChangeMessage): DecodedChange {
    const decoded = decodeOne(message);
    const [change] = "changes" in decoded ? decoded.changes : [];
    if (change?.kind === "delete")
      deleted.set(message.partition, { key: change.key, offset: message.offset });
    else deleted.delete(message.partition);
    return decoded;
  }

  function decodeOne(message: ChangeMessage): DecodedChange {
    const key = keyOf(message);
    if ("bad" in key) return key;
    if (message.value === null) return tombstone(message, key.row);
    const parsed = parseMessage(message.value);
    if (parsed.kind === "fault") return { bad: parsed.fault };
    const { schema, payload } = unwrapSchema(parsed.object);
    if (payload === null) return tombstone(message, key.row);
    if (!isJsonObject(payload)) return fault("NOT_AN_OBJECT", "the payload is not a JSON object", "decode");
    const other = otherThanRows(payload);
    if (other !== null) return { skipped: other };
    return isEnvelope(payload)
      ? envelope(message, payload, schema, key.row)
      : unwrapped(message, payload, schema, key.row);
  }

  /** The message's key as an object, where it is one; null where it is not. */
  function keyOf({ key }: ChangeMessage): { row: JsonObject | null } | { bad: Fault } {
    if (key === null) return { row: null };
    const parsed = parseMessage(key);
    if (parsed.kind === "fault") return { row: null };
    const { schema, payload } = unwrapSchema(parsed.object);
    if (!isJsonObject(payload)) return { row: null };
    return schema ? convertRow(payload, schema, () => false) : { row: payload };
  }

  /** The columns that make a key: those that were told, else those of the first message that has one. */
  function columnsFor(key: JsonObject | null): readonly string[] | { bad: Fault } {
    if (keyColumns) return keyColumns;
    if (key === null || Object.keys(key).length === 0)
      return fault(
        "CDC_KEY_MISSING",
        "the message's key is no JSON object, and no columns are told to make one",
      );
    keyColumns ??= Object.keys(key);
    return keyColumns;
  }

  function envelope(
    message: ChangeMessage,
    payload: JsonObject,
    schema: JsonObject | null,
    key: JsonObject | null,
  ): DecodedChange {
    const operation = textOf(payload.op)!;
    const source = isJsonObject(payload.source) ? payload.source : emptyObject();
    if (operation === "m") return { skipped: "message" };
    if (operation === "t") return truncate(message, source);
    const columns = columnsFor(key);
    if ("bad" in columns) return columns;
    const images = bothImages(payload, schema);
    if ("bad" in images) return images;
    const { before, after } = images;
    if (operation === "d") {
      const row = Object.assign(emptyObject(), before, key);
      const position = debeziumPosition(source, hasHeader(message, NEW_KEY_HEADER) ? "removed" : null);
      const told = rowChanges(message, {
        ...{ kind: "delete", row, before: null, keyColumns: columns, position },
      });
      return ofTable(told, message, source, position);
    }
    if (after === null) return fault("CDC_ROW_MISSING", `operation ${operation} has no object in after`);
    const position = debeziumPosition(source, hasHeader(message, OLD_KEY_HEADER) ? "made" : null);
    const told = upsert(message, withKey(after, key, columns), { before, keyColumns: columns, position });
    return ofTable(told, message, source, position);
  }

  /** With the table that it is of, and with what goes with the end of a snapshot. */
  function ofTable(
    told: DecodedChange,
    message: ChangeMessage,
    source: JsonObject,
    position: Position | null,
  ): DecodedChange {
    if (!("changes" in told)) return told;
    const table = sourceTable(source);
    if (!options.sweep || !isSnapshotEnd(source)) return { ...told, table };
    const isKnown = position !== null && table !== null;
    return { ...told, table, sweep: isKnown ? sweepAt(message, position) : "unknown" };
  }

  function truncate(
    { partition, offset, generation, timestampMs }: ChangeMessage,
    source: JsonObject,
  ): DecodedChange {
    const place = { partition, offset, generation };
    const position = debeziumPosition(source, null);
    return {
      truncate: { kind: "truncate", position, place, timestampMs },
      table: sourceTable(source),
    };
  }

  function unwrapped(
    message: ChangeMessage,
    payload: JsonObject,
    schema: JsonObject | null,
    key: JsonObject | null,
  ): DecodedChange {
    const keyColumns = columnsFor(key);
    if ("bad" in keyColumns) return keyColumns;
    const { row, source, isDelete } = unwrap(payload);
    const converted = convertedRow(row, schema);
    if ("bad" in converted) return converted;
    const whole = withKey(converted.row, key, keyColumns);
    const told = { before: null, keyColumns, position: debeziumPosition(source, null) };
    const change = isDelete
      ? rowChanges(message, { ...told, kind: "delete", row: whole })
      : upsert(message, whole, told);
    return ofTable(change, message, source, told.position);
  }

  /** Alone it is a delete, ordered by Kafka alone. After one it is for Kafka's compaction; with its headers where the delete itself is not seen. */
  function tombstone(message: ChangeMessage, key: JsonObject | null): DecodedChange {
    if (hasHeader(message, NEW_KEY_HEADER)) return { skipped: "tombstone" };
    const keyColumns = columnsFor(key);
    if ("bad" in keyColumns) return keyColumns;
    if (key === null)
      return fault("CDC_KEY_MISSING", "a message without a value has no JSON object as its key");
    const told = rowChanges(message, { kind: "delete", row: key, before: null, keyColumns, position: null });
    const last = deleted.get(message.partition);
    // What is read once more begins before it.
    const isBehind = last !== undefined && message.offset > last.offset;
    return isBehind && "changes" in told && told.changes[0]?.key === last.key
      ? { skipped: "tombstone" }
      : told;
  }

  function upsert(
    message: ChangeMessage,
    row: JsonObject,
    told: Pick<Parameters<typeof rowChanges>[1], "before" | "keyColumns" | "position">,
  ): DecodedChange {
    const absent = Object.keys(row).filter((name) => isPlaceholder(row[name]!));
    return rowChanges(message, { ...told, kind: "upsert", row, absent });
  }

  function bothImages(
    payload: JsonObject,
    schema: JsonObject | null,
  ): { before: JsonObject | null; after: JsonObject | null } | { bad: Fault } {
    const images: { before: JsonObject | null; after: JsonObject | null } = { before: null, after: null };
    for (const name of ["before", "after"] as const) {
      const image = payload[name];
      if (!isJsonObject(image)) continue;
      const converted = convertedRow(image, schema && fieldSchema(schema, name));
      if ("bad" in converted) return converted;
      images[name] = converted.row;
    }
    return images;
  }

  function convertedRow(row: JsonObject, schema: JsonObject | null): { row: JsonObject } | { bad: Fault } {
    if (!schema) return { row };
    promise(schema);
    return convertRow(row, schema, isPlaceholder);
  }

  /** The newest schema's, made once for each. */
  function promise(schema: JsonObject): void {
    const text = JSON.stringify(schema);
    if (text === promisedBy) return;
    promisedBy = text;
    promised = promisedColumns(schema);
  }

  return {
    decode,
    get keyColumns() {
      return keyColumns;
    },
    get promised() {
      return promised;
    },
  };
}

/** With `schemas.enable=true` a value is an object of exactly these two. */
function unwrapSchema(object: JsonObject): { schema: JsonObject | null; payload: JsonValue } {
  const names = Object.keys(object);
  if (names.length !== 2 || !("schema" in object) || !("payload" in object))
    return { schema: null, payload: object };
  return { schema: isJsonObject(object.schema) ? object.schema : null, payload: object.payload! };
}

function isEnvelope(payload: JsonObject): boolean {
  const operation = textOf(payload.op);
  if (operation === null || !OPERATIONS.has(operation)) return false;
  return isJsonObject(payload.source) || "after" in payload || "before" in payload;
}

const TRANSACTION = new Set(["status", "id", "ts_ms", "ts_us", "ts_ns", "event_count", "data_collections"]);
const CLOCK = new Set(["ts_ms", "ts_us", "ts_ns"]);

/** What a connector tells of itself. */
function otherThanRows(payload: JsonObject): string | null {
  const names = Object.keys(payload);
  const isOnly = (known: ReadonlySet<string>) => names.every((name) => known.has(name));
  if (isOnly(CLOCK) && names.length > 0) return "heartbeat";
  if (isOnly(TRANSACTION) && (payload.status === "BEGIN" || payload.status === "END")) return "transaction";
  if (isJsonObject(payload.source) && "ddl" in payload && !("op" in payload)) return "schema change";
  return null;
}

const hasHeader = ({ headers }: ChangeMessage, name: string) => headers.some(([one]) => one === name);

/** Columns of the key that are not in the row. */
function withKey(row: JsonObject, key: JsonObject | null, columns: readonly string[]): JsonObject {
  for (const column of columns)
    if (!Object.hasOwn(row, column) && key && Object.hasOwn(key, column)) row[column] = key[column]!;
  return row;
}

function fault(code: string, message: string, stage: Fault["stage"] = "schema"): { bad: Fault } {
  return { bad: { stage, code, message } };
}
