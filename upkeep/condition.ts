/** A condition over a table's rows, checked, with the files that may hold rows it takes. */

import type { Add } from "../delta/actions.ts";
import type { CommitRequest, Snapshot } from "../delta/table.ts";
import { CURRENT, checkRowExpression } from "../engine/row-expression.ts";
import type { Workbench } from "./workbench.ts";

export type Condition = {
  /** As it was written. */
  text: string;
  /** True for the rows that are meant and false for the others: never null. */
  sql: string;
  /** Live files that may hold such rows. */
  files: readonly Add[];
  /** What a commit that rests on it has read. */
  reads: NonNullable<CommitRequest["reads"]>;
};

/** SQL_ERROR, SQL_REFUSED where it is no condition over single rows. */
export async function checkCondition(
  bench: Workbench,
  snapshot: Snapshot,
  text: string,
  signal: AbortSignal,
): Promise<Condition> {
  await bench.view(CURRENT, snapshot, [], signal);
  const { schema } = snapshot;
  await checkRowExpression(bench.engine, { sql: text, schema, as: "condition" }, signal);
  const files = [...snapshot.files()];
  return {
    text,
    sql: `coalesce((${text}\n), false)`,
    files,
    reads: { partitions: () => true, files: new Set(files.map(({ path }) => path)) },
  };
}
