/** Rows that stand for deleted ones: what a table of changes keeps so that an older change does not bring a row back, and readers are not shown. */

import { isStruct } from "../delta/schema.ts";
import type { Snapshot } from "../delta/table.ts";

/** Table property: the columns that make a key, as a JSON array. With it a table is one that changes are applied to, and nothing is added to. */
export const KEY_PROPERTY = "lab.cdc.key";

/** Table property: "hidden" where readers are not shown such rows, "shown" where they are, "aside" where there are none: they are in a table of their own. */
export const DELETES_PROPERTY = "lab.cdc.deletes";

const COLUMN = "_cdc";
const MARK = "deleted";

/** What is true of the rows that readers see, as SQL, and the column that it asks for; undefined where they see all. */
export function visibleRows({
  schema,
  metadata,
}: Pick<Snapshot, "schema" | "metadata">): { condition: string; column: string } | undefined {
  if (metadata.configuration[DELETES_PROPERTY] !== "hidden") return undefined;
  const type = schema.fields.find(({ name }) => name === COLUMN)?.type;
  if (type === undefined || !isStruct(type)) return undefined;
  const isMarked = type.fields.some((field) => field.name === MARK && field.type === "boolean");
  return isMarked ? { condition: `NOT coalesce(${COLUMN}.${MARK}, false)`, column: COLUMN } : undefined;
}
