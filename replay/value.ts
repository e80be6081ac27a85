/** What a record's value is, of what the table kept of it. */

import { LabError } from "../core/errors.ts";
import type { StructField } from "../delta/types.ts";
import { quoteName } from "../engine/instance.ts";
import type { Column, Value } from "../engine/result.ts";
import { jsonWriter } from "./json-row.ts";
import type { Origin } from "./origin.ts";

/**
 * How values are made of rows that did not keep them: as an object of JSON with a field a column, or as the bytes of column `value`. "auto" is
 * the second for a table whose columns are `key` and `value`, of text or bytes, as streams of these formats make it.
 */
export type ValueForm = "auto" | "json" | "column";

export type ValuePlan = {
  /** What to select beside the origin. */
  select: readonly string[];
  /**
   * Reads rows whose columns from `at` on are those of `select`. Rows without the bytes of their value are told apart: which had none, and which are
   * made again.
   */
  read(
    columns: readonly Column[],
    at: number,
  ): (row: readonly Value[]) => { value: Buffer | null; isOriginal: boolean };
};

/** `isRawWhole`: every row in question has its raw value, so that nothing else need be read. USAGE where there is no column `value`. */
export function planValue(origin: Origin, form: ValueForm, isRawWhole: boolean): ValuePlan {
  const { raw, columns } = origin;
  if (raw === undefined) return planMade(origin, form);
  const kept = `${raw} AS raw`;
  if (isRawWhole) return { select: [kept], read: (_, at) => (row) => original(row[at]!) };
  const column = columnOf(origin, form);
  // Columns become values here only in the rows that need them: to take them over costs more than to read them.
  const made =
    column === undefined
      ? `CASE WHEN ${raw} IS NULL THEN struct_pack(${columns.map(({ name }) => `${quoteName(name)} := ${quoteName(name)}`).join(", ")}) END AS made`
      : `CASE WHEN ${raw} IS NULL THEN ${bytesOf(column)} END AS made`;
  const select = column === undefined && columns.length === 0 ? [kept] : [kept, made];
  return {
    select,
    read(selected, at) {
      const type = selected[at + 1]?.type;
      const write = jsonWriter(type?.kind === "struct" ? type.fields : []);
      return (row) => {
        if (row[at] !== null) return original(row[at]!);
        const rest = row[at + 1] ?? null;
        if (column !== undefined) return { ...original(rest), isOriginal: false };
        // Where values are kept, a row that has neither value nor columns came of a message that had none.
        const fields = (rest ?? []) as readonly Value[];
        if (fields.every((one) => one === null)) return { value: null, isOriginal: true };
        return { value: Buffer.from(write(fields)), isOriginal: false };
      };
    },
  };
}

function planMade(origin: Origin, form: ValueForm): ValuePlan {
  const column = columnOf(origin, form);
  if (column !== undefined)
    return {
      select: [bytesOf(column)],
      read: (_, at) => (row) => ({ ...original(row[at]!), isOriginal: false }),
    };
  return {
    select: origin.columns.map(({ name }) => quoteName(name)),
    read(selected, at) {
      const write = jsonWriter(selected.slice(at));
      return (row) => ({ value: Buffer.from(write(row.slice(at))), isOriginal: false });
    },
  };
}

function bytesOf({ name, type }: StructField): string {
  return type === "binary" ? quoteName(name) : `encode(${quoteName(name)})`;
}

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

function original(value: Value): { value: Buffer | null; isOriginal: boolean } {
  return { value: bufferOf(value as Uint8Array | null), isOriginal: true };
}

/** The same bytes; what the engine gives is mostly a buffer already. */
export function bufferOf(bytes: Uint8Array | null): Buffer | null {
  if (bytes === null || Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
