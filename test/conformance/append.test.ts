/** Rows appended to a copy of every table that may be written here, read back by us and by deltalake where it reads the table. */

import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { isLabError } from "../../core/errors.ts";
import { openTable } from "../../delta/open.ts";
import { checkWritable } from "../../delta/protocol.ts";
import { localStore } from "../../delta/store/local.ts";
import { openWorkbench } from "../../upkeep/workbench.ts";
import { referee } from "../support/python.ts";
import { startBatch } from "./batch.ts";
import { byTable, unpackTables } from "./tables.ts";

const signal = new AbortController().signal;
const ROWS = 3;

/** What deltalake says of a table: see `appended.py`. */
type Reading = { rows: number | null; added?: number; new?: number; lost?: number; error?: string };
type Appended = { table: string; path: string; before: number; after: number };

const { folder, truths, close } = await unpackTables();
const scratchDir = await mkdtemp(join(folder, "scratch-"));
const batch = startBatch();
const refused: string[] = [];
const failed: { table: string; error: unknown }[] = [];
const appended: Appended[] = [];
for (const [table, versions] of byTable(truths)) {
  const truth = versions.at(-1)!;
  if (truth.status !== "ok" || !truth.is_latest || truth.num_rows === 0) continue;
  try {
    const path = join(folder, table);
    appended.push({ table, path, ...(await append(path)) });
  } catch (error) {
    if (isLabError(error, "UNSUPPORTED_FEATURE")) refused.push(`${table}: ${error.message}`);
    else failed.push({ table, error });
  }
}
const readings = await readByDeltalake();
let compared = 0;

after(async () => {
  await batch.close();
  await close();
  console.log(
    [
      `appended to ${appended.length} tables and read back; ${compared} of them deltalake reads too, and reads the same`,
      `not writable here: ${refused.length}`,
      ...refused.map((line) => `  ${line}`),
    ].join("\n"),
  );
});

test("every table that may be written takes rows", () => {
  assert.deepEqual(failed, []);
  assert.ok(appended.length > 50, `only ${appended.length}`);
});

for (const [index, { table, path, before, after: version }] of appended.entries()) {
  test(`${table} with rows appended`, async () => {
    const old = await batch.ask({ op: "rows", table: path, version: before });
    const grown = await batch.ask({ op: "rows", table: path, version });
    assert.ok(grown.ok, grown.message);
    const added = grown.rows!.length - old.rows!.length;
    assert.ok(added >= 1 && added <= ROWS, `${added} rows more`);
    const known = new Set(old.rows!);
    assert.deepEqual(
      grown.rows!.filter((row) => !known.has(row)),
      [],
      "the appended rows are copies",
    );
    const reading = readings[index]!;
    // It cannot read all tables, and some without their deletion vectors.
    if (reading.rows !== old.rows!.length) return;
    compared++;
    assert.deepEqual(reading, { rows: old.rows!.length, added, new: 0, lost: 0 });
  });
}

/** Commits copies of some rows of the table; UNSUPPORTED_FEATURE where it may not be written here. */
async function append(path: string): Promise<{ before: number; after: number }> {
  const table = await openTable(localStore(path), signal);
  const readSnapshot = await table.latest(signal);
  checkWritable(readSnapshot.protocol, readSnapshot.metadata);
  const bench = await openWorkbench(table, { scratchDir });
  try {
    await bench.view("known", readSnapshot, [...readSnapshot.files()], signal);
    // Chosen once: a LIMIT gives other rows each time it is asked.
    await bench.engine.run(`CREATE TEMP TABLE chosen AS FROM known LIMIT ${ROWS}`, { signal });
    const adds = await bench.write(readSnapshot, "chosen", { dataChange: true, signal });
    const result = await table.commit({ readSnapshot, operation: "WRITE", adds }, signal);
    assert.equal(result.kind, "committed");
    return { before: readSnapshot.version, after: result.version };
  } finally {
    await bench.close();
    await table.store.close();
  }
}

async function readByDeltalake(): Promise<Reading[]> {
  const tables = appended.map(({ path, before, after: version }) => ({ path, before, after: version }));
  const lines = await referee("appended.py", [JSON.stringify(tables)]);
  return lines
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Reading);
}
