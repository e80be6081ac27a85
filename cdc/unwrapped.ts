/**
 * Rows that Debezium has taken out of their envelopes (`ExtractNewRecordState`): what the connector was told to add stands beside the columns
 * with two underscores before it, some of the source's block under its own name, some with `source_`.
 */

import { JsonNumber, type JsonObject } from "../engine/json-parse.ts";
import { emptyObject, textOf } from "./json-text.ts";

const PREFIX = "__";
const OF_SOURCE = "source_";
const OF_ENVELOPE = new Set(["op", "deleted", "ts_ms", "ts_us", "ts_ns", "before", "after"]);
const SOURCE_FIELDS = new Set([
  ...["connector", "name", "db", "schema", "table", "version", "snapshot", "sequence"],
  ...["lsn", "txId", "xmin", "server_id", "gtid", "file", "pos", "row", "thread", "query"],
]);

export type Unwrapped = { row: JsonObject; source: JsonObject; isDelete: boolean };

/** The columns, and what the message tells of its source. */
export function unwrap(payload: JsonObject): Unwrapped {
  const row = emptyObject();
  const source = emptyObject();
  for (const name of Object.keys(payload)) {
    const added = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
    const value = payload[name]!;
    if (added === null) row[name] = value;
    else if (added.startsWith(OF_SOURCE)) source[added.slice(OF_SOURCE.length)] = value;
    else if (SOURCE_FIELDS.has(added)) source[added] = value;
    else if (!OF_ENVELOPE.has(added)) row[name] = value;
  }
  if (!("connector" in source) && source.lsn instanceof JsonNumber) source.connector = "postgresql";
  const isDelete =
    payload.__deleted === true || textOf(payload.__deleted) === "true" || textOf(payload.__op) === "d";
  return { row, source, isDelete };
}
