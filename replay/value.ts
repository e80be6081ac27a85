/** What a record's value is, of what the table kept of it. */

import { LabError } from "../core/errors.ts";
import type { StructField } from "../delta/types.ts";
import { quoteName } from "../engine/instance.ts";
import { jsonObject } from "./json-row.ts";
import type { Origin } from "./origin.ts";

/**
 * How values are made of rows that did not keep them: as an object of JSON with a field a column, or as the bytes of column `value`. "auto" is
 * the second for a table whose columns are `key` and `value`, of text or bytes, as streams of these formats make it.
 */
export type ValueForm = "auto" | "json" | "column";

/** SQL, over a relation `w` of the rows, of a row's value as bytes, or NULL, and of whether it is the message's own: "true" and "false" where that is so of all. */
export type ValuePlan = { value: string; isOriginal: string };

/** `isRawWhole`: every row in question has its raw value, so that nothing else need be read. USAGE where there is no column `value`. */
export function planValue(origin: Origin, form: ValueForm, isRawWhole: boolean): ValuePlan {
  const { raw, columns } = origin;
  if (raw !== undefined && isRawWhole) return { value: raw, isOriginal: "true" };
  const column = columnOf(origin, form);
  const made = column === undefined ? `encode(${jsonObject(columns, columnOfRow)})` : bytesOf(column);
  if (raw === undefined) return { value: made, isOriginal: "false" };
  if (column !== undefined) return { value: `coalesce(${raw}, ${made})`, isOriginal: `${raw} IS NOT NULL` };
  // Where values are kept, a row that has neither value nor columns came of a message that had none.
  const isMade = `${raw} IS NULL AND (${columns.map(({ name }) => `${columnOfRow(name)} IS NOT NULL`).join(" OR ") || "false"})`;
  return { value: `CASE WHEN ${isMade} THEN ${made} ELSE ${raw} END`, isOriginal: `NOT (${isMade})` };
}

function bytesOf({ name, type }: StructField): string {
  return type === "binary" ? columnOfRow(name) : `encode(${columnOfRow(name)})`;
}

/** Beside it there may be other relations, whose columns any table may have names of. */
const columnOfRow = (name: string) => `w.${quoteName(name)}`;

function columnOf({ columns }: Origin, form: ValueForm) {
  if (form === "json") return undefined;
  const isPlain = (type: unknown) => type === "string" || type === "binary";
  const value = columns.find(({ name, type }) => name === "value" && isPlain(type));
  if (form === "column") {
    if (value !== undefined) return value;
    throw new LabError("USAGE", "the table has no column value of text or bytes to send", {
      hint: "leave --value out, or send objects: --value json",
    });
  }
  const isOfMessages =
    columns.length === 2 && columns.some(({ name, type }) => name === "key" && isPlain(type));
  return isOfMessages ? value : undefined;
}
