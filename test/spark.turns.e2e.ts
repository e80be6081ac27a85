import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createTable } from "../delta/create.ts";
import { localStore } from "../delta/store/local.ts";
import { deleteRows } from "../upkeep/delete.ts";
import { optimize } from "../upkeep/optimize.ts";
import { openWorkbench } from "../upkeep/workbench.ts";
import { referee } from "./support/python.ts";
import { startSpark } from "./support/spark.ts";
import { structOf } from "./support/sql-table.ts";

const signal = new AbortController().signal;
const ROWS = 4;
const NO_OPTIONS = "{}";

test("Spark, deltalake and ours take turns on one table, also with deletes and optimizes: all three read the same rows", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-turns-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const uri = join(folder, "table");
  const table = await createTable(
    localStore(uri),
    { schema: structOf({ writer: "string", seq: "long", n: "long" }) },
    signal,
  );
  const bench = await openWorkbench(table, { scratchDir: folder });
  t.after(() => bench.close());
  const spark = await startSpark(t, uri);
  const live = new Map<string, number>();
  const writers: Record<string, (seq: number) => Promise<unknown>> = {
    spark: (seq) => spark({ append: ["spark", seq, ROWS] }),
    "delta-rs": (seq) => referee("append.py", [uri, NO_OPTIONS, `delta-rs-${seq}`, "1", String(ROWS)]),
    async ours(seq) {
      const readSnapshot = await table.latest(signal);
      const query = `(SELECT 'ours' AS writer, ${seq}::BIGINT AS seq, range AS n FROM range(${ROWS}))`;
      const adds = await bench.write(readSnapshot, query, { dataChange: true, signal });
      const result = await table.commit({ readSnapshot, operation: "WRITE", adds }, signal);
      assert.equal(result.kind, "committed");
      bench.settle();
      await table.maintain(result.snapshot, signal);
    },
  };
  const options = { scratchDir: folder, signal };
  // The lock of the test: no turn begins before the one before it has ended.
  for (let round = 0; round < 4; round++) {
    for (const [name, append] of Object.entries(writers)) {
      await append(round);
      live.set(name === "delta-rs" ? `delta-rs-${round} 0` : `${name} ${round}`, ROWS);
    }
    if (round === 0) await optimize(table, options);
    if (round === 1) {
      await deleteRows(table, { ...options, where: "seq = 1 AND n = 0" });
      for (const writer of ["spark", "ours"]) live.set(`${writer} 1`, ROWS - 1);
    }
    if (round === 2) await spark({ optimize: true });
    if (round === 2) {
      await spark({ delete: "writer = 'ours' AND seq = 0" });
      live.delete("ours 0");
    }
  }
  const expected = [...live].map(([key, rows]) => `${key} ${rows}`).sort();
  const lines = (rows: unknown) => (rows as unknown[][]).map((row) => row.join(" ")).sort();
  assert.deepEqual(lines(await spark({ read: true })), expected, "by Spark");
  assert.deepEqual(
    lines(JSON.parse(await referee("written.py", [uri, NO_OPTIONS]))),
    expected,
    "by deltalake",
  );
  const snapshot = await table.latest(signal);
  await bench.view("t", snapshot, [...snapshot.files()], signal);
  const rows = await bench.engine.rows("SELECT writer, seq, count(*) AS rows FROM t GROUP BY ALL");
  assert.deepEqual(lines(rows.map(Object.values)), expected, "by us");
});
