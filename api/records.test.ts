import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { lakeTable, type TestRow } from "../test/support/lake-table.ts";
import { updateRows } from "../upkeep/update.ts";
import { LabError, openTable, type RecordBatch } from "./table.ts";

const { signal } = new AbortController();
const rows = (from: number, count: number): TestRow[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ partition: 0, offset: from + n, ms: 1000 + from + n, key: `'k${from + n}'::BLOB` },
  }));

test("a program reads rows as the records that they came from, keeps its place as a text, and goes on with what came since and what changed", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 3));
  const table = await openTable(join(lake.folder, "table"));
  t.after(() => table.close());
  const read = async (options: Parameters<typeof table.records>[0]) => {
    const batches: RecordBatch[] = [];
    for await (const batch of table.records(options)) batches.push(batch);
    return batches;
  };
  const told = (batches: readonly RecordBatch[]) =>
    batches.flatMap(({ records }) =>
      records.map(({ change, offset, key, value }) => `${change ?? "-"} ${offset} ${key} ${value}`),
    );
  const first = await read({});
  assert.deepEqual(told(first), ['- 0 k0 {"v":"0:0"}', '- 1 k1 {"v":"0:1"}', '- 2 k2 {"v":"0:2"}']);
  await lake.append(rows(3, 1));
  const { position } = first.at(-1)!;
  assert.deepEqual(told(await read({ from: { position } })), ['- 3 k3 {"v":"0:3"}']);
  await updateRows(lake.table, {
    ...{ set: { v: "'new'" }, where: "v = '0:1'", signal },
    scratchDir: join(lake.folder, "upkeep"),
  });
  await assert.rejects(
    read({ from: { position } }),
    (error) => error instanceof LabError && error.code === "TABLE_REWRITTEN",
  );
  assert.deepEqual(told(await read({ from: { position }, rewrites: "changes" })), [
    'insert 3 k3 {"v":"0:3"}',
    'update_preimage 1 k1 {"v":"0:1"}',
    'update_postimage 1 k1 {"v":"new"}',
  ]);
  for (const text of ["", "{}", '{"tableId":"x","version":1}', "[1]"])
    await assert.rejects(
      read({ from: { position: text } }),
      (error) => error instanceof LabError && error.code === "USAGE",
    );
});

test("a stream that follows ends with the signal that it was given, and with the loop that is left", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 2));
  const table = await openTable(join(lake.folder, "table"));
  t.after(() => table.close());
  for await (const { records } of table.records({ follow: true })) if (records.length === 2) break;
  const stop = new AbortController();
  const follow = async () => {
    for await (const { records } of table.records({ follow: true, signal: stop.signal }))
      if (records.length === 0) stop.abort(new Error("enough"));
  };
  await assert.rejects(follow, /enough/);
});
