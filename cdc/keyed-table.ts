/** What a table says of itself that changes are merged into: its key, whether deleted rows are seen, and column `_cdc`. */

import { LabError } from "../core/errors.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { DELETES_PROPERTY, KEY_PROPERTY } from "../engine/hidden-rows.ts";
import type { Opened } from "../ingest/destination.ts";
import type { Published } from "../ingest/publish.ts";
import { CDC_FIELD, type Deletes } from "./merge/cdc-field.ts";
import { joinedTables, sourceTablesOf, TABLES_PROPERTY } from "./source-tables.ts";

/** The columns that make the key of a table; null where it does not say. CORRUPT_LOG where the property is none of ours. */
export function keyOf({ metadata }: Snapshot): string[] | null {
  const text = metadata.configuration[KEY_PROPERTY];
  if (text === undefined) return null;
  try {
    const columns: unknown = JSON.parse(text);
    if (Array.isArray(columns) && columns.length > 0 && columns.every((one) => typeof one === "string"))
      return columns;
  } catch {
    // Told below.
  }
  throw new LabError("CORRUPT_LOG", `table property ${KEY_PROPERTY} is no list of columns: ${text}`, {
    hint: `set it to the JSON array of the columns that make a key, such as ["id"]`,
  });
}

/** SCHEMA_MISMATCH where the table has another key than it was told to have. */
export function requireKey(table: Snapshot, told: readonly string[] | undefined): void {
  const stored = keyOf(table);
  if (stored && told && JSON.stringify(stored) !== JSON.stringify(told))
    throw new LabError(
      "SCHEMA_MISMATCH",
      `the key of the table is ${stored.join(", ")}, and the stream's is ${told.join(", ")}`,
      { hint: "leave the key out, or merge into another table" },
    );
}

/**
 * A table that was there before says from now on what it is, once its key is known, and each says what tables of the source it has rows of. REJECTED
 * where another changed it at the same time.
 */
export async function nameTable(
  { table, snapshot }: Opened,
  told: { keyColumns: readonly string[] | null; deletes: Deletes; tables: Iterable<string> },
  signal: AbortSignal,
): Promise<{ kind: "named"; rows: Opened } | Extract<Published, { kind: "rejected" }>> {
  const { configuration } = snapshot.metadata;
  const { keyColumns, deletes } = told;
  const properties: Record<string, string> = {};
  if (keyColumns && configuration[KEY_PROPERTY] === undefined) {
    properties[KEY_PROPERTY] = JSON.stringify(keyColumns);
    properties[DELETES_PROPERTY] = deletes;
  }
  const known = sourceTablesOf(snapshot);
  const tables = joinedTables(known, told.tables);
  if (tables.length > known.length) properties[TABLES_PROPERTY] = JSON.stringify(tables);
  if (Object.keys(properties).length === 0) return { kind: "named", rows: { table, snapshot } };
  const metadata = { ...snapshot.metadata, configuration: { ...configuration, ...properties } };
  const result = await table.commit(
    {
      ...{ readSnapshot: snapshot, operation: "SET TBLPROPERTIES", metadata },
      operationParameters: { properties: JSON.stringify(properties) },
    },
    signal,
  );
  if (result.kind === "conflict") return { kind: "rejected", reason: result.reason, message: result.message };
  return { kind: "named", rows: { table, snapshot: result.snapshot } };
}

/** The schema with column `_cdc`. */
export function withCdc(schema: StructType): StructType {
  if (schema.fields.some(({ name }) => name === CDC_FIELD.name)) return schema;
  return { type: "struct", fields: [...schema.fields, CDC_FIELD] };
}
