import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { compileConstraints } from "../engine/constraints.ts";
import { openWorkbench } from "../upkeep/workbench.ts";
import { spark } from "./support/spark.ts";
import { COLUMNS, EXPRESSIONS, ROWS } from "./support/spark-expressions.ts";
import { signal, testTable } from "./support/upkeep-table.ts";

type Verdict = boolean | null | { lenient: boolean | null };

/** Where one of Spark's modes fails and the other one does not, a row may be refused here. */
function isRight(ours: boolean, verdict: Verdict): boolean {
  if (typeof verdict === "object" && verdict !== null) return !ours || verdict.lenient === true;
  return ours === (verdict === true);
}

test("constraints are true for the same rows here and in Spark", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ROWS);
  const bench = await openWorkbench(one.table, { scratchDir: one.scratchDir });
  t.after(() => bench.close());
  const snapshot = await one.snapshot();
  await bench.view("rows", snapshot, [...snapshot.files()], signal);
  const file = join(one.folder, "expressions.json");
  await writeFile(file, JSON.stringify(EXPRESSIONS));
  const lines = (await spark("verdicts.py", [join(one.folder, "table"), file])).trim().split("\n");
  const differences: string[] = [];
  for (const [i, expression] of EXPRESSIONS.entries()) {
    const bySpark = JSON.parse(lines[i]!) as Verdict[];
    const table = { ...snapshot, configuration: { "delta.constraints.c": expression } };
    const [check] = await compileConstraints(bench.engine, table, signal);
    const found = await bench.engine.rows(`SELECT ${check!.sql} AS verdict FROM rows ORDER BY id`);
    const ours = found.map(({ verdict }) => verdict === true);
    if (!bySpark.every((verdict, row) => isRight(ours[row]!, verdict)))
      differences.push(`${expression}: Spark ${lines[i]}, ours ${JSON.stringify(ours)}`);
  }
  assert.deepEqual(differences, []);
});
