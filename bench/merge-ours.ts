/** Batches of changes merged by us, one after the other, as an ingester's worker does it. */

import { join } from "node:path";
import { fold } from "../cdc/fold.ts";
import { openMerger } from "../cdc/merge/merger.ts";
import { openEncoder } from "../columnar/open-encoder.ts";
import { LabError } from "../core/errors.ts";
import type { Table } from "../delta/table.ts";
import { asChange, type CustomerChange } from "./merge-table.ts";

export type Merged = {
  /** Of each batch. */
  seconds: number[];
  /** Of all threads, from the second batch on. */
  cpuSeconds: number;
};

export type MergeOurs = {
  scratchDir: string;
  threads: number;
  /** Of its positions. */
  partition: number;
  /** After the first batch, which reads the keys of the table. */
  onWarm?: () => Promise<void>;
  /** Small files were not joined; absent: that fails the measurement. */
  onCompactionFailure?: (error: unknown) => void;
};

const MEMORY_BYTES = 512 * 1024 * 1024;
const COMPACT_EVERY = 16;

/** INTERNAL where a batch is not committed. */
export async function mergeOurs(
  table: Table,
  batches: readonly (readonly CustomerChange[])[],
  options: MergeOurs,
  signal: AbortSignal,
): Promise<Merged> {
  const { scratchDir, threads, partition } = options;
  const limits = { memoryLimitBytes: MEMORY_BYTES, threads };
  const encoder = await openEncoder({ stagingDir: join(scratchDir, "staging"), ...limits });
  const fail = (error: unknown) => {
    throw error;
  };
  const merger = openMerger({
    ...{ encoder, scratchDir, ...limits, topic: "customers", onUnknownField: "add", now: Date.now },
    ...{ compactEvery: COMPACT_EVERY, indexBytes: Number.POSITIVE_INFINITY, onIndexOver: () => {} },
    openAside: async () => {
      throw new LabError("INTERNAL", "deleted rows are kept in the table here");
    },
    onCompactionFailure: options.onCompactionFailure ?? fail,
  });
  try {
    let snapshot = await table.latest(signal);
    const seconds: number[] = [];
    let used = process.cpuUsage();
    for (const [n, batch] of batches.entries()) {
      const changes = batch.map(asChange);
      const startedMs = performance.now();
      if (n === 1) used = process.cpuUsage();
      const done = await merger.apply({
        ...{ table, snapshot, folded: fold(changes, []), schema: snapshot.schema, keyColumns: ["id"] },
        ...{
          txns: [{ appId: `lab/customers-${partition}`, version: changes.at(-1)!.place.offset }],
          readTxns: [],
        },
        ...{ lab: (counts) => ({ counts }), signal },
      });
      if (done.kind !== "committed")
        throw new LabError("INTERNAL", `batch ${n} was not committed: ${done.kind}`);
      snapshot = done.snapshot;
      await table.maintain(snapshot, signal);
      seconds.push((performance.now() - startedMs) / 1000);
      if (n === 0) await options.onWarm?.();
    }
    const { user, system } = process.cpuUsage(used);
    return { seconds, cpuSeconds: (user + system) / 1e6 };
  } finally {
    await merger.close();
    await encoder.close();
  }
}
