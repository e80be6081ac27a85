/** A change from a row that a decoder has taken out of a message. */

import type { Fault } from "../engine/json-exact.ts";
import type { JsonObject } from "../engine/json-parse.ts";
import type { Change } from "./change.ts";
import { emptyObject, writeJson } from "./json-text.ts";
import { keyColumnsOf, keyText } from "./key.ts";

/** The change, or why the row has no key. Columns in `absent` are left out of it. */
export function changeOf(
  kind: Change["kind"],
  row: JsonObject,
  keyColumns: readonly string[],
  order: Pick<Change, "position" | "place" | "timestampMs">,
  absent: readonly string[] = [],
): { change: Change } | { bad: Fault } {
  const key = keyText(row, keyColumns);
  if ("bad" in key) return key;
  const told = kind === "delete" ? keyColumnsOf(row, keyColumns) : without(row, absent);
  return {
    change: {
      ...{ kind, key: key.key, row: Buffer.from(writeJson(told)), absent, isFresh: false },
      ...order,
    },
  };
}

/** Our own columns. */
export const isReserved = (name: string) => name === "_kafka" || name === "_cdc";

export function reserved(name: string): Fault {
  return { stage: "schema", code: "RESERVED_FIELD", message: `a field is named ${name}` };
}

function without(row: JsonObject, absent: readonly string[]): JsonObject {
  if (absent.length === 0) return row;
  const left = emptyObject();
  for (const name of Object.keys(row)) if (!absent.includes(name)) left[name] = row[name]!;
  return left;
}
