/** Every version of every table of the referees, by the public command line: rows, and what the log says. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { startBatch } from "./batch.ts";
import { byTable, unpackTables } from "./tables.ts";
import { judgeRows, judgeSnapshot, type Verdict } from "./verdict.ts";

const { folder, truths, close } = await unpackTables();
const batch = startBatch();
const verdicts: (Verdict & { what: string })[] = [];

for (const [table, versions] of byTable(truths)) {
  test(`${table}, ${versions.length} versions`, async () => {
    const found: typeof verdicts = [];
    for (const truth of versions) {
      const request = { table: join(folder, table), version: truth.version };
      const rows = judgeRows(truth, await batch.ask({ op: "rows", ...request }));
      const log = judgeSnapshot(truth, await batch.ask({ op: "snapshot", ...request }));
      const verdict = log.kind === "wrong" ? log : rows;
      found.push({ ...verdict, what: `${table} v${truth.version}` });
    }
    verdicts.push(...found);
    const wrong = found.filter(({ kind }) => kind === "wrong").map(({ what, why }) => `${what}: ${why}`);
    assert.deepEqual(wrong, []);
  });
}

after(async () => {
  await batch.close();
  await close();
  console.log(summary());
});

/** A line for each source of tables, then what was refused and what was wrong, then all in one line. */
function summary(): string {
  const count = (kind: Verdict["kind"], source: string) =>
    verdicts.filter((verdict) => verdict.kind === kind && verdict.what.startsWith(source)).length;
  const line = (source: string, ...cells: (number | string)[]) =>
    [source.padEnd(20), ...cells.map((cell) => String(cell).padStart(8))].join("");
  const sources = [...new Set(truths.map(({ table }) => `${table.split("/")[0]}/`))];
  const cells = (source: string) =>
    (["right", "refused", "wrong"] as const).map((kind) => count(kind, source));
  return [
    line("versions of tables", "right", "refused", "wrong"),
    ...sources.map((source) => line(source.slice(0, -1), ...cells(source))),
    line("all", ...cells("")),
    ...verdicts
      .filter(({ kind }) => kind !== "right")
      .map(({ kind, what, why }) => `${kind}: ${what}: ${why}`),
  ].join("\n");
}
