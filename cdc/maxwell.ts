/**
 * Maxwell's messages: the whole row in `data`, former values of changed columns in `old`. Positions come with `output_binlog_position`; else the
 * second, the transaction and the place in it order changes. A bootstrap that crashed is sent again as a whole.
 */

import { parseMessage } from "../engine/json-exact.ts";
import type { JsonObject } from "../engine/json-parse.ts";
import type { ChangeDecoder, ChangeMessage, DecodedChange } from "./decoder.ts";
import { isJsonObject, longOf, textOf } from "./json-text.ts";
import type { Position } from "./position.ts";
import { rowChanges } from "./row-change.ts";

const TYPES: Readonly<Record<string, "upsert" | "delete">> = {
  insert: "upsert",
  update: "upsert",
  "bootstrap-insert": "upsert",
  delete: "delete",
};
/** The last row of a transaction says so instead of counting. */
const LAST = 2n ** 62n;

export function createMaxwellDecoder(keyColumns: readonly string[]): ChangeDecoder {
  function decode(message: ChangeMessage): DecodedChange {
    const parsed = parseMessage(message.value);
    if (parsed.kind === "fault") return { bad: parsed.fault };
    const { type, data, old } = parsed.object;
    const word = textOf(type);
    if (word === null)
      return { bad: { stage: "schema", code: "NOT_A_CHANGE", message: "there is no text type" } };
    const kind = Object.hasOwn(TYPES, word) ? TYPES[word]! : null;
    if (kind === null) return { skipped: word };
    if (!isJsonObject(data))
      return { bad: { stage: "schema", code: "NOT_A_CHANGE", message: `${word} has no object data` } };
    return rowChanges(message, {
      ...{ kind, row: data, keyColumns, before: isJsonObject(old) ? { ...data, ...old } : null },
      position: positionOf(parsed.object, word === "bootstrap-insert"),
    });
  }
  return { decode, keyColumns, promised: null };
}

function positionOf(object: JsonObject, isSnapshot: boolean): Position | null {
  const seconds = longOf(object.ts);
  const timeMicros = seconds === null ? null : seconds * 1_000_000n;
  const inTransaction = object.commit === true ? LAST : (longOf(object.xoffset) ?? 0n);
  const log = /^(.*)\.(\d{1,18}):(\d{1,18})$/.exec(textOf(object.position) ?? "");
  if (log) {
    const source = `mysql/maxwell/${longOf(object.server_id) ?? 0n}/${log[1]}`;
    return { source, hi: BigInt(log[2]!), lo: BigInt(log[3]!), sub: inTransaction, timeMicros, isSnapshot };
  }
  if (seconds === null) return null;
  const lo = longOf(object.xid) ?? 0n;
  return { source: "maxwell", hi: seconds, lo, sub: inTransaction, timeMicros, isSnapshot };
}
