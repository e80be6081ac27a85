/** Whether a table holds what changes come to. */

import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import { openWorkbench } from "../upkeep/workbench.ts";

/** INTERNAL where it does not. `folder` is for files on the way. */
export async function requireTotals(
  place: string,
  expected: { rows: number; balance: number },
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const table = await openTable(localStore(place), signal);
  const snapshot = await table.latest(signal);
  const bench = await openWorkbench(table, { scratchDir: join(folder, "check") });
  try {
    await bench.view("t", snapshot, [...snapshot.files()], signal);
    const isKeyed = snapshot.schema.fields.some(({ name }) => name === "_cdc");
    const [found] = await bench.engine.rows(
      `SELECT count(*) AS rows, count(DISTINCT id) AS ids, sum(balance) AS balance FROM t${isKeyed ? " WHERE NOT coalesce(_cdc.deleted, false)" : ""}`,
      { signal },
    );
    const { rows, ids, balance } = found!;
    if (Number(rows) === expected.rows && rows === ids && balance === expected.balance) return;
    throw new LabError(
      "INTERNAL",
      `the table has ${rows} rows of ${ids} keys and balance ${balance}, not ${expected.rows} and ${expected.balance}`,
    );
  } finally {
    await bench.close();
  }
}
