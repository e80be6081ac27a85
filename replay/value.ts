/** What a record's value is, of what the table kept of it. */

import { LabError } from "../core/errors.ts";
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
  const rawSelect = raw === undefined ? [] : [`${raw} AS raw`];
  if (isRawWhole && raw !== undefined)
    return { select: rawSelect, read: (_, at) => (row) => original(row[at]!) };
  const valueColumn = columnOf(origin, form);
  const select =
    valueColumn === undefined
      ? columns.map(({ name }) => quoteName(name))
      : [valueColumn.type === "binary" ? quoteName("value") : `encode(${quoteName("value")})`];
  const skip = rawSelect.length;
  return {
    select: [...rawSelect, ...select],
    read(selected, at) {
      const first = at + skip;
      const isOriginalAt = (row: readonly Value[]) => skip > 0 && row[at] !== null;
      if (valueColumn !== undefined)
        return (row) =>
          isOriginalAt(row) ? original(row[at]!) : { ...original(row[first]!), isOriginal: false };
      const write = jsonWriter(selected.slice(first));
      return (row) => {
        if (isOriginalAt(row)) return original(row[at]!);
        const rest = row.slice(first);
        // Where values are kept, a row that has neither value nor columns came of a message that had none.
        if (skip > 0 && rest.every((one) => one === null)) return { value: null, isOriginal: true };
        return { value: Buffer.from(write(rest)), isOriginal: false };
      };
    },
  };
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
