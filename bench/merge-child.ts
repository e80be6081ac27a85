/**
 * One worker of the benchmark of merges: `merge-child.ts PART`, which is JSON. Merges its first batch, says `warm`, goes on when its standard input ends, and
 * writes one line of JSON: what the rest of its batches took.
 */

import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import { mergeOurs } from "./merge-ours.ts";
import { batchesOf, type Part, type PartDone } from "./merge-scale.ts";

const part = JSON.parse(process.argv[2]!) as Part;
const { signal } = new AbortController();
const table = await openTable(localStore(part.table), signal);
const batches = batchesOf(part);
let uncompacted = 0;
const { cpuSeconds } = await mergeOurs(
  table,
  batches,
  {
    ...{ scratchDir: part.scratchDir, threads: part.threads, partition: part.worker },
    async onWarm() {
      process.stdout.write("warm\n");
      for await (const _ of process.stdin);
    },
    onCompactionFailure: () => {
      uncompacted++;
    },
  },
  signal,
);
const rest = batches.slice(1);
const done: PartDone = {
  endMs: performance.timeOrigin + performance.now(),
  changes: rest.flat().length,
  ...{ batches: rest.length, cpuSeconds, uncompacted },
};
process.stdout.write(`${JSON.stringify(done)}\n`);
