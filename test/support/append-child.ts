/**
 * A process that appends to a table while others do: `append-child.ts URI WRITER COMMITS ROWS`. Each commit has ROWS rows `(writer, seq)`. Starts when
 * its standard input ends; then prints the commits it was told to be in the log, and how many attempts they took.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTable } from "../../delta/open.ts";
import { openStore } from "../../delta/store/open.ts";
import { openWorkbench } from "../../upkeep/workbench.ts";

const [uri = "", writer = "", commits = "", rows = ""] = process.argv.slice(2);
const { signal } = new AbortController();
const scratchDir = await mkdtemp(join(tmpdir(), "append-"));
const store = await openStore(uri, { signal });
const table = await openTable(store, signal);
const bench = await openWorkbench(table, { scratchDir, threads: 1 });

process.stdout.write("ready\n");
for await (const _ of process.stdin);

const told: { seq: number; version: number; attempts: number }[] = [];
for (let seq = 0; seq < Number(commits); seq++) {
  const readSnapshot = await table.latest(signal);
  const query = `(SELECT '${writer}' AS writer, ${seq}::BIGINT AS seq, range AS n FROM range(${rows}))`;
  const adds = await bench.write(readSnapshot, query, { dataChange: true, signal });
  const result = await table.commit({ readSnapshot, operation: "WRITE", adds }, signal);
  if (result.kind !== "committed") throw new Error(result.message);
  bench.settle();
  await table.maintain(result.snapshot, signal);
  told.push({ seq, version: result.version, attempts: result.attempts });
}
await bench.close();
await store.close();
await rm(scratchDir, { recursive: true });
process.stdout.write(`${JSON.stringify(told)}\n`);
