/** Which partition each row belongs to: partition values as the log writes them, told from the rows' own columns and their messages' time. */

import type { PartitionValues } from "../delta/actions.ts";
import { serializePartitionValue } from "../delta/partition-value.ts";
import { dateText } from "../delta/time-text.ts";
import type { DataType, StructField } from "../delta/types.ts";
import type { LeafVector } from "./leaf-vector.ts";

/** A column that rows are parted by. */
export type PartitionColumn = {
  field: StructField;
  /** What messages gave: one entry a row. */
  given: LeafVector;
  /** What a row without a value gets, by its message's time; absent: null. */
  derived?: "date" | "hour" | undefined;
};

export type Partition = { values: PartitionValues; rows: number };

export type PartedRows = {
  partitions: readonly Partition[];
  /** Place in `partitions` of each row. */
  partitionOf: Uint32Array;
};

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Types whose partition values have a text here. Doubles and floats have none that DuckDB would write the same. */
export function canPartBy(type: DataType): boolean {
  return typeof type === "string" && !["double", "float", "binary", "void", "variant"].includes(type);
}

/** Whether days and hours can be derived from a time: within the years that are written with four digits. */
export function isDatable(ms: number): boolean {
  return ms >= FIRST_MS && ms < END_MS;
}

const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const END_MS = Date.UTC(10_000, 0, 1);

/** `timeOf`: a row's message's time in ms. */
export function partRows(
  columns: readonly PartitionColumn[],
  rows: number,
  timeOf: (row: number) => number,
): PartedRows {
  let partitionOf = new Uint32Array(rows);
  let values: PartitionValues[] = [{}];
  for (const column of columns) {
    const texts = textsOf(column, rows, timeOf);
    const [only, ...others] = texts.distinct;
    if (only !== undefined && others.length === 0) {
      values = values.map((before) => ({ ...before, [column.field.name]: only }));
      continue;
    }
    const found = new Map<number, number>();
    const joined: PartitionValues[] = [];
    const next = new Uint32Array(rows);
    const placeOf = (of: number, text: number): number => {
      const key = of * texts.distinct.length + text;
      let place = found.get(key);
      if (place === undefined) {
        place = joined.push({ ...values[of], [column.field.name]: texts.distinct[text]! }) - 1;
        found.set(key, place);
      }
      return place;
    };
    for (let row = 0; row < rows; row++) {
      const isAsBefore =
        row > 0 && partitionOf[row] === partitionOf[row - 1] && texts.of[row] === texts.of[row - 1];
      next[row] = isAsBefore ? next[row - 1]! : placeOf(partitionOf[row]!, texts.of[row]!);
    }
    partitionOf = next;
    values = joined;
  }
  const partitions = values.map((one) => ({ values: one, rows: 0 }));
  if (partitions.length === 1) partitions[0]!.rows = rows;
  else for (const place of partitionOf) partitions[place]!.rows++;
  return { partitions, partitionOf };
}

/** Texts of a column, each once, and which of them each row has. */
type Texts = { distinct: (string | null)[]; of: Uint32Array };

function textsOf(column: PartitionColumn, rows: number, timeOf: (row: number) => number): Texts {
  const { given, derived, field } = column;
  const known = new Map<string | null, number>();
  const of = new Uint32Array(rows);
  const distinct: (string | null)[] = [];
  const placeOf = (text: string | null): number => {
    let place = known.get(text);
    if (place === undefined) {
      place = distinct.push(text) - 1;
      known.set(text, place);
    }
    return place;
  };
  const hasValues = given.count > 0;
  const { isThere } = given;
  const slotMs = derived === "hour" ? HOUR_MS : DAY_MS;
  // Neighbours are alike: a text is made only where a row's time is in another slot than that of the row before it.
  let [slotFrom, slotEnd] = [0, 0];
  let placeOfSlot = 0;
  let value = 0;
  for (let row = 0; row < rows; row++) {
    if (hasValues && isThere(row)) {
      of[row] = placeOf(serializePartitionValue(field.type, given.typedValue(value++)));
    } else if (derived === undefined) {
      of[row] = placeOf(null);
    } else {
      const time = timeOf(row);
      if (time < slotFrom || time >= slotEnd) {
        const slot = Math.floor(time / slotMs);
        [slotFrom, slotEnd] = [slot * slotMs, (slot + 1) * slotMs];
        placeOfSlot = placeOf(derived === "date" ? dateText(slot) : hourText(slot));
      }
      of[row] = placeOfSlot;
    }
  }
  return { distinct, of };
}

function hourText(hour: number): string {
  return String(((hour % 24) + 24) % 24).padStart(2, "0");
}
