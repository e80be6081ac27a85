/** A change from a row that a decoder has taken out of a message. */

import type { Fault } from "../engine/json-exact.ts";
import type { JsonObject } from "../engine/json-parse.ts";
import type { Change } from "./change.ts";
import type { ChangeMessage } from "./decoder.ts";
import { emptyObject, writeJson } from "./json-text.ts";
import { keyColumnsOf, keyText } from "./key.ts";
import type { Position } from "./position.ts";

/** The change, or why the row has no key. Columns in `absent` are left out of it. */
function changeOf(
  kind: Change["kind"],
  row: JsonObject,
  keyColumns: readonly string[],
  order: Pick<Change, "position" | "place" | "timestampMs">,
  absent: readonly string[] = [],
): { change: Change } | { bad: Fault } {
  const key = keyText(row, keyColumns);
  if ("bad" in key) return key;
  const told = kind === "delete" ? keyColumnsOf(row, keyColumns) : without(row, absent);
  const isWhole = kind === "delete" && Object.keys(row).length > keyColumns.length;
  return {
    change: {
      ...{ kind, key: key.key, row: Buffer.from(writeJson(told)), absent, isFresh: false },
      ...(isWhole ? { was: Buffer.from(writeJson(row)) } : {}),
      ...order,
    },
  };
}

/** The changes of a message about one row: where it had another key before, that one is deleted. `before` is the row as it was, where it is told. */
export function rowChanges(
  { partition, offset, generation, timestampMs }: ChangeMessage,
  told: {
    kind: Change["kind"];
    row: JsonObject;
    before: JsonObject | null;
    keyColumns: readonly string[];
    position: Position | null;
    absent?: readonly string[];
  },
): { changes: Change[] } | { bad: Fault } {
  const { kind, row, before, keyColumns, position } = told;
  const own = Object.keys(row).find(isReserved);
  if (own !== undefined) return { bad: reserved(own) };
  const order = { position, place: { partition, offset, generation }, timestampMs };
  const made = changeOf(kind, row, keyColumns, order, told.absent);
  if ("bad" in made) return made;
  const { change } = made;
  const old = kind === "upsert" && before ? changeOf("delete", before, keyColumns, order) : null;
  const isMoved = old !== null && "change" in old && old.change.key !== change.key;
  return { changes: isMoved ? [old.change, change] : [change] };
}

/** Our own columns. */
const isReserved = (name: string) => name === "_kafka" || name === "_cdc";

function reserved(name: string): Fault {
  return { stage: "schema", code: "RESERVED_FIELD", message: `a field is named ${name}` };
}

function without(row: JsonObject, absent: readonly string[]): JsonObject {
  if (absent.length === 0) return row;
  const left = emptyObject();
  for (const name of Object.keys(row)) if (!absent.includes(name)) left[name] = row[name]!;
  return left;
}
