/** A condition over a table's rows, checked, with the files that may hold rows it takes. */

import type { Add } from "../delta/actions.ts";
import type { CommitRequest, Snapshot } from "../delta/table.ts";
import { matchingFiles, matchOfPartition, mayMatchPartition } from "../engine/prune.ts";
import { predicateOf } from "../engine/prune-sql.ts";
import { CURRENT, checkRowExpression } from "../engine/row-expression.ts";
import type { Workbench } from "./workbench.ts";

export type Condition = {
  /** As it was written. */
  text: string;
  /** True for the rows that are meant and false for the others: never null. */
  sql: string;
  /** Live files that may hold such rows, by their partition values and statistics. */
  files: readonly Add[];
  /** Whether partition values alone say that each row of a file is meant. */
  takesAll(add: Add): boolean;
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
  const predicate = await predicateOf(bench.engine, { sql: text, table: snapshot, name: CURRENT }, signal);
  const files = [...matchingFiles(snapshot, predicate)];
  return {
    text,
    sql: `coalesce((${text}\n), false)`,
    files,
    takesAll: (add) => matchOfPartition(predicate, add.partitionValues) === "all",
    reads: {
      partitions: (values) => mayMatchPartition(predicate, values),
      files: new Set(files.map(({ path }) => path)),
    },
  };
}
