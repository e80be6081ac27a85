/** What data files hold, by what their adds say: nothing is read. */

import type { Add } from "./actions.ts";

/** `numRecords` of a statistics string; undefined where it has none. */
export function numRecords(stats: string | undefined): bigint | undefined {
  const digits = stats === undefined ? null : /"numRecords"\s*:\s*(\d+)/.exec(stats);
  return digits ? BigInt(digits[1]!) : undefined;
}

/** Live rows of a file by its statistics; undefined where they do not say. */
export function rowsOf(add: {
  stats?: Add["stats"] | undefined;
  deletionVector?: Add["deletionVector"] | undefined;
}): bigint | undefined {
  const records = numRecords(add.stats);
  return records === undefined ? undefined : records - (add.deletionVector?.cardinality ?? 0n);
}

/** Live rows of all files; undefined as soon as one does not say. */
export function sumRows(adds: Iterable<Add>): bigint | undefined {
  let total = 0n;
  for (const add of adds) {
    const rows = rowsOf(add);
    if (rows === undefined) return undefined;
    total += rows;
  }
  return total;
}

/** Live rows of the files that say how many they have, as those that are written here do. */
export function sumKnownRows(adds: readonly Add[]): bigint {
  return adds.reduce((sum, add) => sum + (rowsOf(add) ?? 0n), 0n);
}

export function sumBytes(adds: readonly Add[]): number {
  return adds.reduce((sum, { size }) => sum + size, 0);
}
