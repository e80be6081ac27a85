/** Which small files become one (pure). */

import type { Add } from "../delta/actions.ts";
import { numRecords } from "../delta/file-totals.ts";

/** Files of one partition that are written again as one. */
export type Bin = readonly Add[];

export type Packing = {
  /** Size that files shall have, in bytes. */
  targetBytes: number;
  /**
   * "full": as few files as the target allows. "tiered": a file waits until the smaller ones that it is joined with have its size together, so
   * that each row is written again about log2(target / first size) times in its life, however often this runs.
   */
  rule: "full" | "tiered";
};

/** A file of this part of the target is full: writing it again would gain little. */
const FULL = 0.75;
/** Engines read these as fast as larger ones: below it a file is small whatever stands beside it. */
const CRUMB_BYTES = 64 * 1024;
/** Beyond this share of deleted rows a file is written again, however large; below it each row is written about five times in its life. */
const WORN = 0.2;

/** The bins of all partitions; in each the order of `adds` is kept. A file with deleted rows may be a bin of its own, tiered only with many of them. */
export function packBins(adds: Iterable<Add>, { targetBytes, rule }: Packing): Bin[] {
  return byPartition(candidates(adds, targetBytes))
    .flatMap((files) => (rule === "full" ? fill(files, targetBytes) : tiers(files, targetBytes)))
    .filter(
      ([first, second]) =>
        second !== undefined || (rule === "full" ? first?.deletionVector !== undefined : isWorn(first)),
    );
}

/** What is ripe may need several bins, and in each the largest must have found its like again, unless the bin is full then. */
function tiers(files: readonly Add[], targetBytes: number): Add[][] {
  return fill(ripe(files), targetBytes).map((bin) => (sizeOf(bin) >= FULL * targetBytes ? bin : ripe(bin)));
}

/** One at a time: most files of a large table are full. */
function* candidates(adds: Iterable<Add>, targetBytes: number): Iterable<Add> {
  for (const add of adds) if (add.size < FULL * targetBytes || add.deletionVector) yield add;
}

/** The files of each partition, in their order. */
export function byPartition(adds: Iterable<Add>): Add[][] {
  const partitions = new Map<string, Add[]>();
  for (const add of adds) {
    const key = partitionKey(add);
    const files = partitions.get(key);
    if (files) files.push(add);
    else partitions.set(key, [add]);
  }
  return [...partitions.values()];
}

/** The same for the files of one partition, in the spelling of their writer. */
export function partitionKey({ partitionValues }: Add): string {
  return JSON.stringify(Object.entries(partitionValues).sort());
}

/** One after the other, a new bin where the target would be passed. */
function fill(files: readonly Add[], targetBytes: number): Add[][] {
  const bins: Add[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    if (bytes + file.size > targetBytes) {
      bins.push([]);
      bytes = 0;
    }
    bins.at(-1)!.push(file);
    bytes += file.size;
  }
  return bins;
}

/** The smallest files, up to the last that is no larger than all smaller ones together; and those that are worn. In their order. */
function ripe(files: readonly Add[]): Add[] {
  const bySize = [...files].sort((a, b) => a.size - b.size);
  let count = 0;
  let smaller = 0;
  for (const [i, { size }] of bySize.entries()) {
    if (size <= Math.max(smaller, CRUMB_BYTES)) count = i + 1;
    smaller += size;
  }
  const taken = new Set(bySize.slice(0, count));
  return files.filter((file) => taken.has(file) || isWorn(file));
}

/** Whether so many rows of a file are gone that readers would gain by having it written again. */
function isWorn(add: Add | undefined): boolean {
  if (add?.deletionVector === undefined) return false;
  const records = numRecords(add.stats);
  return records === undefined || Number(add.deletionVector.cardinality) > WORN * Number(records);
}

function sizeOf(files: readonly Add[]): number {
  return files.reduce((bytes, { size }) => bytes + size, 0);
}
