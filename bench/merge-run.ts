/** What `bench/merge.ts` measures, and what is made of it. */

export const VECTORS = "lab, deletion vectors";
export const COPIES = "lab, files written again";
export const PEER = "deltalake";

export type MergeRun = {
  by: typeof VECTORS | typeof COPIES | typeof PEER;
  round: number;
  batches: number;
  /** Of all batches but the first, which opens the table. */
  seconds: number;
  cpuSeconds: number;
  /** Of the first batch: ours reads the keys of the whole table then. */
  firstSeconds: number;
  /** Of the slowest of the others. */
  longestSeconds: number;
  /** All batches: data files and deletion vectors, and the log. */
  dataBytes: number;
  logBytes: number;
  /** The load of the machine when it began. */
  load: number;
};

export type MergeBenchResult = {
  rows: number;
  batches: number;
  /** Of a batch. */
  changes: number;
  seed: number;
  rounds: number;
  /** Of the table as it was. */
  tableBytes: number;
  runs: MergeRun[];
  /** Not measured where it is absent. */
  scale?: ScaleRun[];
};

export const TABLES = "a table for each worker";
export const ONE_TABLE = "one table, by buckets of the key";

/** Workers at once, each a process of its own with the changes of its keys. */
export type ScaleRun = {
  kind: typeof TABLES | typeof ONE_TABLE;
  workers: number;
  /** From the start of all to the end of the last one, without the first batch of each. */
  seconds: number;
  /** Of all of them. */
  changes: number;
  batches: number;
  cpuSeconds: number;
  /** Times that small files were not joined, as another worker changed them first. */
  uncompacted: number;
  /** The load of the machine when it began. */
  load: number;
};

/** From the second batch on. */
export function changesPerSecond({ batches, seconds }: MergeRun, changes: number): number {
  return ((batches - 1) * changes) / seconds;
}
