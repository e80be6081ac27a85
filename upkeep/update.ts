/** Updates rows: the files that hold some of them are written again. */

import { LabError } from "../core/errors.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import type { StructField } from "../delta/types.ts";
import { requirePromised } from "../delta/writer-duties.ts";
import { ENFORCED } from "../engine/constraints.ts";
import { quoteName } from "../engine/instance.ts";
import { CURRENT, checkRowExpression } from "../engine/row-expression.ts";
import { sqlType } from "../engine/sql-types.ts";
import { type Change, type ChangeResult, commitChange, NO_ROWS } from "./change.ts";
import { checkCondition } from "./condition.ts";
import { hitsOf, matchesOf } from "./matches.ts";
import { rewrite } from "./rewrite.ts";
import type { Workbench, WorkbenchOptions } from "./workbench.ts";

export type UpdateOptions = WorkbenchOptions & {
  /** Column to its new value: SQL over the row as it was. A value that does not fit the column's type fails the update. */
  set: Readonly<Record<string, string>>;
  /** Which rows; all where it is absent. */
  where?: string;
  signal: AbortSignal;
};

/**
 * Sets columns of the rows that `where` takes. Rows may move to another partition by it. APPEND_ONLY, SQL_ERROR, SQL_REFUSED,
 * SCHEMA_MISMATCH, CONSTRAINT_VIOLATED, DATA_FILE_MISSING, COMMIT_CONFLICT, UNSUPPORTED_FEATURE.
 */
export function updateRows(table: Table, options: UpdateOptions): Promise<ChangeResult> {
  const { set, where = "true", signal } = options;
  return commitChange(
    table,
    options,
    (bench, snapshot) => updateWhere(bench, snapshot, set, where, signal),
    signal,
  );
}

async function updateWhere(
  bench: Workbench,
  snapshot: Snapshot,
  set: Readonly<Record<string, string>>,
  where: string,
  signal: AbortSignal,
): Promise<Change | null> {
  requirePromised(snapshot.protocol, snapshot.metadata, ENFORCED);
  const condition = await checkCondition(bench, snapshot, where, signal);
  const values = await checkValues(bench, snapshot, set, signal);
  const matches = await matchesOf(bench, snapshot, condition, signal);
  if (matches.length === 0) return null;
  const columns = snapshot.schema.fields.map((field) => values.get(field.name) ?? quoteName(field.name));
  const replacement = { condition: condition.sql, columns };
  const { copied, ...files } = await rewrite(bench, snapshot, matches, replacement, signal);
  return {
    request: {
      operation: "UPDATE",
      operationParameters: { predicate: JSON.stringify([where]), set: JSON.stringify(set) },
      ...files,
      enforced: ENFORCED,
      reads: condition.reads,
    },
    counts: { ...NO_ROWS, updated: hitsOf(matches), copied },
  };
}

/** The new values in the types of their columns, by the names that the schema has. */
async function checkValues(
  bench: Workbench,
  snapshot: Snapshot,
  set: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  await bench.view(CURRENT, snapshot, [], signal);
  const { schema } = snapshot;
  const values = new Map<string, string>();
  for (const [name, sql] of Object.entries(set)) {
    const field = fieldNamed(snapshot, name);
    if (values.has(field.name))
      throw new LabError("USAGE", `column ${field.name} is set twice`, {
        hint: "say one value for each column",
      });
    await checkRowExpression(bench.engine, { sql, schema, as: "value" }, signal);
    values.set(field.name, `CAST((${sql}\n) AS ${sqlType(field.type)})`);
  }
  if (values.size > 0) return values;
  throw new LabError("USAGE", "an update sets no column", { hint: "say at least one: column = value" });
}

function fieldNamed({ schema }: Snapshot, name: string): StructField {
  const field =
    schema.fields.find((candidate) => candidate.name === name) ??
    schema.fields.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
  if (field !== undefined) return field;
  throw new LabError("SCHEMA_MISMATCH", `the table has no column ${name}`, {
    hint: `columns are ${schema.fields.map((candidate) => candidate.name).join(", ")}`,
    details: { column: name },
  });
}
