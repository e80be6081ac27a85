/** Which small files become one (pure). */

import type { Add } from "../delta/actions.ts";

/** Files of one partition that are written again as one. */
export type Bin = readonly Add[];

export type Packing = {
  /** Size that files shall have, in bytes. */
  targetBytes: number;
  /**
   * "full": as few files as the target allows. "tiered": a file waits until the smaller ones beside it have its size together, so
   * that each row is written again about log2(target / first size) times in its life, however often this runs.
   */
  rule: "full" | "tiered";
};

/** A file of this part of the target is full: writing it again would gain little. */
const FULL = 0.75;
/** Engines read these as fast as larger ones: below it a file is small whatever stands beside it. */
const CRUMB_BYTES = 64 * 1024;

/** The bins of all partitions; in each the order of `adds` is kept. A file with deleted rows may be a bin of its own. */
export function packBins(adds: Iterable<Add>, packing: Packing): Bin[] {
  return byPartition(candidates(adds, packing.targetBytes))
    .flatMap((files) => fill(packing.rule === "full" ? files : ripe(files), packing.targetBytes))
    .filter((bin) => bin.length > 1 || bin[0]!.deletionVector !== undefined);
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

/** The smallest files, up to the first that is larger than all before it together. */
function ripe(files: readonly Add[]): Add[] {
  const bySize = files.map((file, place) => ({ file, place })).sort((a, b) => a.file.size - b.file.size);
  let bytes = 0;
  const taken: typeof bySize = [];
  for (const one of bySize) {
    const { size, deletionVector } = one.file;
    const isRipe = taken.length === 0 || size <= Math.max(bytes, CRUMB_BYTES) || deletionVector !== undefined;
    if (!isRipe) break;
    taken.push(one);
    bytes += size;
  }
  return taken.sort((a, b) => a.place - b.place).map(({ file }) => file);
}
