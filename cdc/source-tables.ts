/**
 * Which tables of the source a table has rows of. A topic may have the changes of several, as where tables that are parts of one are routed together:
 * rows do not say which one they are of, so what is said of all rows of one table, its truncate or the end of its snapshot, cannot be applied. Pure.
 */

import { LabError } from "../core/errors.ts";
import type { Snapshot } from "../delta/table.ts";
import type { JsonObject } from "../engine/json-parse.ts";

/** Table property: a JSON array of names. */
export const TABLES_PROPERTY = "lab.cdc.tables";

/** Two are several: more need not be known. */
const MOST_TOLD = 2;

/** As a message names it, with its database and schema; null where it does not. */
export function sourceTable({ db, schema, table }: JsonObject): string | null {
  if (typeof table !== "string") return null;
  return [db, schema, table].filter((name) => typeof name === "string").join(".");
}

/** What a table says; none where it does not. CORRUPT_LOG where the property is none of ours. */
export function sourceTablesOf({ metadata }: Pick<Snapshot, "metadata">): string[] {
  const text = metadata.configuration[TABLES_PROPERTY];
  if (text === undefined) return [];
  try {
    const names: unknown = JSON.parse(text);
    if (Array.isArray(names) && names.every((name) => typeof name === "string")) return names;
  } catch {
    // Told below.
  }
  throw new LabError("CORRUPT_LOG", `table property ${TABLES_PROPERTY} is no list of tables: ${text}`, {
    hint: `set it to the JSON array of the tables whose changes the topic has, such as ["shop.customers"]`,
  });
}

/** Both, as far as they need be known. */
export function joinedTables(known: readonly string[], more: Iterable<string>): string[] {
  return [...new Set([...known, ...more])].slice(0, MOST_TOLD);
}

/** Whether rows may be of several tables. */
export const areSeveral = (tables: readonly string[]) => tables.length > 1;

/** CONFIG_INVALID where a stream is to sweep rows that may be of several tables. */
export function requireOneTable(tables: readonly string[], topic: string): void {
  if (!areSeveral(tables)) return;
  throw new LabError(
    "CONFIG_INVALID",
    `${topic} has changes of several tables (${tables.join(", ")}): the end of a snapshot of one would delete the rows of the others`,
    {
      hint: "leave cdc.sweep (--cdc-sweep) out, or have the connector send each table to a topic of its own",
      details: { topic, tables },
    },
  );
}
