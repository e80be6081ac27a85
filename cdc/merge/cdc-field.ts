/** The `_cdc` column: which change made a row what it is, so that an older one that arrives later is known as such. */

import { isStruct } from "../../delta/schema.ts";
import type { StructField, StructType } from "../../delta/types.ts";
import { DELETES_PROPERTY, KEY_PROPERTY } from "../../engine/hidden-rows.ts";
import type { Order } from "../change.ts";

const nullable = (name: string, type: StructField["type"]): StructField => ({
  name,
  type,
  nullable: true,
  metadata: {},
});

/**
 * The column as a schema has it. Positions are numbers, as statistics cut texts. A row that no change made (a bulk load) has NULL, and is
 * older than all. `missing`: columns of which no change that was seen so far told a value.
 */
export const CDC_FIELD: StructField = nullable("_cdc", {
  type: "struct",
  fields: [
    nullable("src", "string"),
    nullable("hi", "long"),
    nullable("lo", "long"),
    nullable("sub", "long"),
    nullable("ts", "timestamp"),
    nullable("snapshot", "boolean"),
    nullable("deleted", "boolean"),
    nullable("partition", "integer"),
    nullable("offset", "long"),
    nullable("generation", "integer"),
    nullable("missing", { type: "array", elementType: "string", containsNull: true }),
  ],
});

/** What becomes of rows that are deleted: kept and not shown, kept and shown, or kept in a table of their own (`aside.ts`). */
export type Deletes = "hidden" | "shown" | "aside";

/**
 * Properties of a new table that changes are applied to. Rows that are no more are marked in deletion vectors: a thousand changes spread over a
 * million rows would otherwise write all of them again.
 */
export function keyedProperties(
  keyColumns: readonly string[],
  { deletes }: { deletes: Deletes },
): Record<string, string> {
  return {
    [KEY_PROPERTY]: JSON.stringify(keyColumns),
    [DELETES_PROPERTY]: deletes,
    "delta.enableDeletionVectors": "true",
  };
}

/** Whether a schema has the column in the form that is written here. */
export function hasCdcField({ fields }: StructType): boolean {
  const field = fields.find(({ name }) => name === CDC_FIELD.name);
  if (field === undefined || !isStruct(field.type) || !isStruct(CDC_FIELD.type)) return false;
  const found = new Map(field.type.fields.map(({ name, type }) => [name, JSON.stringify(type)]));
  return CDC_FIELD.type.fields.every(({ name, type }) => found.get(name) === JSON.stringify(type));
}

/** What a stored row says of itself. */
export type Stored = {
  /** Null: no change made it. */
  order: Order | null;
  isDeleted: boolean;
  missing: readonly string[];
};

/** The column's value as JSON text, in digits that no double has gone through. */
export function cdcJson(
  { position, place }: Order,
  row: { isDeleted: boolean; missing: readonly string[] },
): string {
  const time =
    position === null || position.timeMicros === null ? "" : `"ts":"${isoMicros(position.timeMicros)}",`;
  const from =
    position === null
      ? ""
      : `"src":${JSON.stringify(position.source)},"hi":${position.hi},"lo":${position.lo},"sub":${position.sub},${time}"snapshot":${position.isSnapshot},`;
  const missing = row.missing.length > 0 ? `,"missing":${JSON.stringify(row.missing)}` : "";
  return `{${from}"deleted":${row.isDeleted},"partition":${place.partition},"offset":${place.offset},"generation":${place.generation}${missing}}`;
}

/** ISO text of a time in µs since 1970. */
function isoMicros(micros: bigint): string {
  const ms = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  const rest = micros - ms * 1000n;
  return new Date(Number(ms)).toISOString().replace("Z", `${String(rest).padStart(3, "0")}Z`);
}
