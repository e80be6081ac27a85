/** The live rows of the version that was asked for last, kept for the next filter: going through all rows costs more than most filters do. */

import type { PartitionValues } from "./actions.ts";

/** Rows in their order, and for each the number of its partition. */
export type LiveRows = { rows: Uint32Array; partitions: Int32Array };

export type KeptLiveRows = {
  /** Of `length` rows those that are live; looked up where another version was asked for last. */
  of(version: number, length: number, isLive: (row: number) => boolean): LiveRows;
  /** The version may have other rows now. */
  changed(version: number): void;
};

export function keptLiveRows(partitionOf: (row: number) => number): KeptLiveRows {
  let kept: (LiveRows & { version: number }) | undefined;
  return {
    of(version, length, isLive) {
      if (kept?.version === version) return kept;
      const rows = new Uint32Array(length);
      let count = 0;
      for (let row = 0; row < length; row++) if (isLive(row)) rows[count++] = row;
      const partitions = new Int32Array(count);
      for (let at = 0; at < count; at++) partitions[at] = partitionOf(rows[at]!);
      kept = { version, rows: rows.slice(0, count), partitions };
      return kept;
    },
    changed(version) {
      if (kept?.version === version) kept = undefined;
    },
  };
}

/** The rows of the partitions that `matches` takes, which is asked once for each that has rows. */
export function rowsOfPartitions(
  { rows, partitions }: LiveRows,
  values: readonly PartitionValues[],
  matches: (values: PartitionValues) => boolean,
): Uint32Array {
  const [UNASKED, YES, NO] = [0, 1, 2];
  const known = new Uint8Array(values.length);
  let count = 0;
  for (let at = 0; at < rows.length; at++) {
    const partition = partitions[at]!;
    if (known[partition] === UNASKED) known[partition] = matches(values[partition]!) ? YES : NO;
    if (known[partition] === YES) count++;
  }
  // Of the right length: one for all rows would be memory to clear and to collect for each filter.
  const chosen = new Uint32Array(count);
  for (let at = 0, to = 0; to < count; at++) if (known[partitions[at]!] === YES) chosen[to++] = rows[at]!;
  return chosen;
}
