import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { deleteRows } from "../upkeep/delete.ts";
import { optimize } from "../upkeep/optimize.ts";
import { updateRows } from "../upkeep/update.ts";
import { refereeCommand, runReferee } from "./support/python.ts";
import { signal, testTable } from "./support/upkeep-table.ts";

const requirements = fileURLToPath(new URL("../bench/duckdb-delta.txt", import.meta.url));

test("DuckDB's own delta extension reads what we wrote: partitions, changed rows, an optimize, a checkpoint, statistics to filter by", async (t) => {
  const one = await testTable(
    t,
    {
      id: "long",
      p: "string",
      day: "date",
      moment: "timestamp",
      amount: "decimal(20,4)",
      x: "double",
      tags: { type: "array", elementType: "string", containsNull: true },
      place: { type: "struct", fields: [{ name: "inner", type: "string", nullable: true, metadata: {} }] },
    },
    { partitionColumns: ["p", "day"] },
  );
  const names = ["a", "b c", "50%/x", "Ünïcode", ""];
  for (let n = 0; n < 12; n++)
    await one.append(
      `SELECT ${n} * 100 + range AS id, ['${names.join("','")}', NULL][1 + CAST(range % 6 AS INTEGER)] AS p,
         DATE '1970-01-01' + CAST(range % 3 AS INTEGER) AS day, TIMESTAMPTZ '2026-11-29 20:15:03.123456Z' + to_microseconds(range) AS moment,
         range / 3 AS amount, CASE range % 50 WHEN 7 THEN 'nan'::DOUBLE WHEN 8 THEN 'inf'::DOUBLE ELSE range / 7 END AS x,
         ['t' || range, NULL] AS tags, {'inner': 'v' || range} AS place FROM range(100)`,
    );
  const options = { ...one, signal };
  await deleteRows(one.table, { ...options, where: "id % 10 = 3" });
  await updateRows(one.table, {
    ...options,
    set: { p: "'moved'", amount: "-1" },
    where: "id BETWEEN 500 AND 520",
  });
  await optimize(one.table, { ...options, zorder: ["id"] });
  await one.table.checkpoint(await one.snapshot(), signal);
  const row = `id, p, CAST(day AS VARCHAR), CAST(epoch_us(moment) AS VARCHAR), CAST(amount AS VARCHAR), CAST(x AS VARCHAR), CAST(tags AS VARCHAR), place.inner`;
  const queries = [
    `SELECT ${row} FROM t ORDER BY id`,
    "SELECT id FROM t WHERE id BETWEEN 495 AND 530 ORDER BY id",
    "SELECT id FROM t WHERE p = 'Ünïcode' AND day = DATE '1970-01-01' ORDER BY id",
    "SELECT id FROM t WHERE p IS NULL ORDER BY id",
  ];
  const { command, script } = await refereeCommand("delta_scan.py", requirements);
  const told = await runReferee(command, [script, one.tablePath, ...queries]);
  const theirs = told
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown[][]);
  for (const [index, query] of queries.entries()) {
    const ours = await one.query(query);
    assert.deepEqual(theirs[index], ours, query);
    assert.ok(ours.length > 0, query);
  }
});
