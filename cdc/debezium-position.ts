/**
 * The position of a Debezium message, from its `source` block. Of Postgres `sequence` holds the position of the last commit before this
 * transaction's, and the message's own: transactions come in the order of their commits, in which their own positions interleave. Of
 * MySQL a binlog's files are counted by their ending. Other connectors give no position: Kafka's offsets order their changes.
 */

import { type JsonObject, parseJsonExactly } from "../engine/json-parse.ts";
import { longOf, textOf } from "./json-text.ts";
import { MADE_BY_KEY_CHANGE, REMOVED_BY_KEY_CHANGE } from "./log-order.ts";
import type { Position } from "./position.ts";

/** What an update that changed a key did to the row of a message. */
export type KeyChange = "made" | "removed" | null;

/** Null where the message has none that orders it. */
export function debeziumPosition(source: JsonObject, keyChange: KeyChange): Position | null {
  const snapshot = String(source.snapshot ?? "false");
  const common = {
    timeMicros: timeMicrosOf(source),
    // A chunk of an incremental snapshot stands in the stream, and what changed meanwhile was left out of it.
    isSnapshot: snapshot !== "false" && snapshot !== "incremental",
  };
  const log = textOf(source.connector) === "postgresql" ? postgres(source, keyChange) : mysql(source);
  return log && { ...log, ...common };
}

type LogPosition = Pick<Position, "source" | "hi" | "lo" | "sub">;

function postgres(source: JsonObject, keyChange: KeyChange): LogPosition | null {
  const own = longOf(source.lsn);
  const [committed, sequenced] = sequenceOf(source);
  const hi = committed ?? own;
  const lo = own ?? sequenced;
  if (hi === null || lo === null) return null;
  const sub =
    keyChange === "made" ? MADE_BY_KEY_CHANGE : keyChange === "removed" ? REMOVED_BY_KEY_CHANGE : 0n;
  return { source: `postgresql/${textOf(source.name) ?? ""}/${textOf(source.db) ?? ""}`, hi, lo, sub };
}

/** A JSON array in a text: two numbers as texts, each perhaps null. */
function sequenceOf({ sequence }: JsonObject): [bigint | null, bigint | null] {
  if (typeof sequence !== "string") return [null, null];
  try {
    const parts = parseJsonExactly(sequence);
    return Array.isArray(parts) ? [longOf(parts[0]), longOf(parts[1])] : [null, null];
  } catch {
    return [null, null];
  }
}

function mysql(source: JsonObject): LogPosition | null {
  const file = /^(.*)\.(\d{1,18})$/.exec(textOf(source.file) ?? "");
  const pos = longOf(source.pos);
  if (!file || pos === null) return null;
  const server = longOf(source.server_id) ?? 0n;
  const gtid = textOf(source.gtid);
  const parts = ["mysql", textOf(source.name) ?? "", server, file[1]!, ...(gtid === null ? [] : [gtid])];
  return { source: parts.join("/"), hi: BigInt(file[2]!), lo: pos, sub: longOf(source.row) ?? 0n };
}

/** The finest that the source tells. */
function timeMicrosOf(source: JsonObject): bigint | null {
  const micros = longOf(source.ts_us);
  if (micros !== null) return micros;
  const nanos = longOf(source.ts_ns);
  if (nanos !== null) return nanos / 1000n;
  const ms = longOf(source.ts_ms);
  return ms === null ? null : ms * 1000n;
}
