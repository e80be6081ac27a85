/** Tables of changes read and changed by Spark. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { upsert } from "./support/merge-table.ts";
import { mergedVersions, TOTALS, totalsOf } from "./support/merged-versions.ts";
import { startSpark } from "./support/spark.ts";

type Row = Record<string, unknown>;

const totals = (from: string) =>
  TOTALS.replace("{deleted}", "_cdc.deleted").replace("FROM t", `FROM ${from}`);

const KINDS = [
  ["with deletion vectors", {}],
  ["whose files are written again", { configuration: { "delta.enableDeletionVectors": "false" } }],
  ["in partitions that rows move between", { partitionColumns: ["p"] }],
] as const;

test("Spark reads merged tables as they are, newest and earlier, and kept deletes by their mark", async (t) => {
  const made = [];
  for (const [kind, options] of KINDS) made.push({ kind, ...(await mergedVersions(t, options)) });
  const spark = await startSpark(t, made[0]!.one.tablePath);
  const ask = async (text: string) => (await spark({ sql: text })) as Row[];
  for (const { kind, one, rows, totals: byVersion } of made) {
    const log = await readdir(join(one.tablePath, "_delta_log"));
    assert.ok(log.some((name) => name.includes(".checkpoint")));
    const table = `delta.\`${one.tablePath}\``;
    const versions = [...byVersion.keys()];
    for (const version of [versions[1]!, versions[8]!, versions.at(-1)!]) {
      const [found] = await ask(totals(`${table} VERSION AS OF ${version}`));
      assert.deepEqual(Object.values(found!), byVersion.get(version), `${kind}, version ${version}`);
    }
    const [stored] = await one.query("SELECT count(*), sum(_cdc.hi), count(_cdc.deleted) FROM t");
    const [all] = await ask(
      `SELECT count(*) AS n, sum(_cdc.hi) AS hi, count(_cdc.deleted) AS d FROM ${table}`,
    );
    assert.deepEqual(Object.values(all!).map(String), stored!.map(String), `${kind}, kept deletes, too`);
    assert.ok(Number(stored![0]) > rows.size, "there are some");
    const [id, v] = [...rows].find(([key]) => key > 100)!;
    assert.deepEqual(await ask(`SELECT v FROM ${table} WHERE id = ${id}`), [{ v }], kind);
  }
});

test("Spark reads the change data feed of merges: what readers see come, change and go", async (t) => {
  const {
    one,
    rows,
    totals: byVersion,
  } = await mergedVersions(t, { configuration: { "delta.enableChangeDataFeed": "true" } });
  const [first, last] = [Math.min(...byVersion.keys()), Math.max(...byVersion.keys())];
  const spark = await startSpark(t, one.tablePath);
  const feed = `table_changes('delta.\`${one.tablePath}\`', ${first}, ${last})`;
  const sums = `SELECT sum(s) AS n, sum(s * id) AS ids, sum(s * v) AS vs, sum(s * id * v) AS products FROM (
    SELECT *, CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS s FROM ${feed})`;
  const [told] = (await spark({ sql: sums })) as Row[];
  assert.deepEqual(Object.values(told!), totalsOf(rows));
});

test("rows that Spark deletes, changes and joins are followed by the next merge", async (t) => {
  const { one, rows, batch } = await mergedVersions(t, {});
  const spark = await startSpark(t, one.tablePath);
  const mine = new Map(rows);
  await spark({ delete: "id % 7 = 0 AND NOT coalesce(_cdc.deleted, false)" });
  await spark({ sql: "UPDATE {t} SET v = v + 1 WHERE id % 7 = 1 AND NOT coalesce(_cdc.deleted, false)" });
  await spark({ optimize: true });
  for (const [id, v] of mine)
    if (id % 7 === 0) mine.delete(id);
    else if (id % 7 === 1) mine.set(id, v + 1);
  assert.deepEqual(Object.values(((await spark({ sql: totals("{t}") })) as Row[])[0]!), totalsOf(mine));
  const before = new Map(rows);
  await batch();
  for (const id of new Set([...before.keys(), ...rows.keys()]))
    if (rows.get(id) === undefined) mine.delete(id);
    else if (rows.get(id) !== before.get(id)) mine.set(id, rows.get(id)!);
  assert.deepEqual(Object.values(((await spark({ sql: totals("{t}") })) as Row[])[0]!), totalsOf(mine));
  await one.merge(
    Array.from({ length: 10 }, (_, i) => upsert({ id: 5000 + i, p: "a", v: 1 }, { at: 1_000_000 + i })),
  );
  const [{ n }] = (await spark({ sql: "SELECT count(*) AS n FROM {t} WHERE id >= 5000" })) as [Row];
  assert.equal(n, 10);
});
