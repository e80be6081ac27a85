/**
 * One writer of the commit benchmark: `commit-child.ts TABLE-URI COMMITS PARQUET-FILE STATS`. Says `ready`, starts when its standard input ends, and writes one
 * line of JSON: when each commit stood, how many attempts it took.
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";

const [uri, commits, file, stats] = process.argv.slice(2) as [string, string, string, string];
const { signal } = new AbortController();
const bytes = readFileSync(file);
const store = await openStore(uri, { signal });
const table = await openTable(store, signal);

process.stdout.write("ready\n");
for await (const _ of process.stdin);

const done: { atMs: number; attempts: number }[] = [];
for (let n = 0; n < Number(commits); n++) {
  const path = `part-00000-${randomUUID()}-c000.zstd.parquet`;
  await store.put(path, bytes, signal);
  const add = {
    path,
    partitionValues: {},
    size: bytes.length,
    modificationTime: Date.now(),
    dataChange: true,
    stats,
  };
  const readSnapshot = await table.latest(signal);
  const result = await table.commit({ readSnapshot, operation: "WRITE", adds: [add] }, signal);
  if (result.kind === "conflict") throw new Error(result.message);
  done.push({ atMs: performance.timeOrigin + performance.now(), attempts: result.attempts });
  await table.maintain(result.snapshot, signal);
}
process.stdout.write(`${JSON.stringify(done)}\n`);
await store.close();
