/** Vectors of all rows as vectors of some of them: how rows get to the file of their partition. */

import type { LeafValues, LeafVector } from "./leaf-vector.ts";

const FIXED_BYTES = 16;

/** For each list of rows, in ascending order, the vector of those. Bytes are not copied. */
export function scatter(vector: LeafVector, rowLists: readonly Uint32Array[]): LeafVector[] {
  const { leaf, definition, repetition, values } = vector;
  const entryLists = repetition === null ? rowLists : entriesOf(rowLists, repetition, vector.entries);
  const isWhole = definition === null || values.count === vector.entries;
  const valueLists = isWhole
    ? entryLists
    : valuesOf(entryLists, definition, leaf.maxDefinition, vector.entries);
  return entryLists.map((entries, list) => ({
    leaf,
    entries: entries.length,
    definition: definition && gather(definition, entries, new Uint8Array(entries.length)),
    repetition: repetition && gather(repetition, entries, new Uint8Array(entries.length)),
    values: pick(values, valueLists[list]!),
  }));
}

/** The entries of each list's rows. */
function entriesOf(rowLists: readonly Uint32Array[], repetition: Uint8Array, count: number): Uint32Array[] {
  const starts: number[] = [];
  for (let entry = 0; entry < count; entry++) if (repetition[entry] === 0) starts.push(entry);
  starts.push(count);
  return rowLists.map((rows) => {
    let size = 0;
    for (const row of rows) size += starts[row + 1]! - starts[row]!;
    const entries = new Uint32Array(size);
    let at = 0;
    for (const row of rows)
      for (let entry = starts[row]!; entry < starts[row + 1]!; entry++) entries[at++] = entry;
    return entries;
  });
}

/** The values of each list's entries. */
function valuesOf(
  entryLists: readonly Uint32Array[],
  definition: Uint8Array,
  maxDefinition: number,
  count: number,
): Uint32Array[] {
  const before = new Uint32Array(count);
  for (let entry = 0, values = 0; entry < count; entry++) {
    before[entry] = values;
    if (definition[entry] === maxDefinition) values++;
  }
  return entryLists.map((entries) => {
    const values = new Uint32Array(entries.length);
    let size = 0;
    for (const entry of entries) if (definition[entry] === maxDefinition) values[size++] = before[entry]!;
    return values.subarray(0, size);
  });
}

function pick(values: LeafValues, places: Uint32Array): LeafValues {
  const count = places.length;
  switch (values.kind) {
    case "boolean":
      return { ...values, count, bits: gather(values.bits, places, new Uint8Array(count)) };
    case "int32":
      return { ...values, count, numbers: gather(values.numbers, places, new Int32Array(count)) };
    case "int64":
      return {
        ...values,
        count,
        low: gather(values.low, places, new Uint32Array(count)),
        high: gather(values.high, places, new Int32Array(count)),
      };
    case "float":
      return { ...values, count, numbers: gather(values.numbers, places, new Float32Array(count)) };
    case "double":
      return { ...values, count, numbers: gather(values.numbers, places, new Float64Array(count)) };
    case "bytes":
      return {
        ...values,
        count,
        start: gather(values.start, places, new Uint32Array(count)),
        length: gather(values.length, places, new Uint32Array(count)),
      };
    case "fixed": {
      const bytes = new Uint8Array(count * FIXED_BYTES);
      for (const [i, place] of places.entries()) {
        const start = place * FIXED_BYTES;
        bytes.set(values.bytes.subarray(start, start + FIXED_BYTES), i * FIXED_BYTES);
      }
      return { ...values, count, bytes };
    }
  }
}

function gather<T extends { [index: number]: number }>(from: T, places: Uint32Array, to: T): T {
  for (let i = 0; i < places.length; i++) to[i] = from[places[i]!]!;
  return to;
}
