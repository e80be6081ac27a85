/** Overwrites: new rows in the place of all rows, of those that a condition takes, or of the partitions that the new ones fall into. */

import { LabError } from "../core/errors.ts";
import type { Add, PartitionValues } from "../delta/actions.ts";
import { sumKnownRows } from "../delta/file-totals.ts";
import { parsePartitionValue } from "../delta/partition-value.ts";
import type { CommitRequest, Snapshot, Table } from "../delta/table.ts";
import { tombstoneOf } from "../delta/tombstone.ts";
import { requirePromised } from "../delta/writer-duties.ts";
import { ENFORCED } from "../engine/constraints.ts";
import { quoteName } from "../engine/instance.ts";
import { CURRENT } from "../engine/row-expression.ts";
import { sqlType } from "../engine/sql-types.ts";
import { type Change, type ChangeResult, commitChange, NO_ROWS } from "./change.ts";
import { type Condition, checkCondition } from "./condition.ts";
import { hitsOf, matchesOf } from "./matches.ts";
import { rewrite } from "./rewrite.ts";
import type { Workbench, WorkbenchOptions } from "./workbench.ts";

export type OverwriteOptions = WorkbenchOptions & {
  /**
   * The new rows: a query in DuckDB's SQL, which may read view `current`, the table as it is. Columns are found by name, ignoring case; what
   * is missing is NULL.
   */
  select: string;
  /** What they replace: everything, the rows that a condition takes (and the new ones must fulfil it), or whole partitions. */
  replace: "table" | "partitions" | { where: string };
  signal: AbortSignal;
};

const NEW_ROWS = "lab new rows";
const OLD_ROWS = "lab old rows";

/** Files that go, and what a commit that removes them has read. */
type Replaced = { old: readonly Add[]; reads: NonNullable<CommitRequest["reads"]> };

/**
 * Replaces rows in one version. SCHEMA_MISMATCH where the new rows have other columns, or are not among what they replace; APPEND_ONLY, SQL_ERROR,
 * SQL_REFUSED, CONSTRAINT_VIOLATED, DATA_FILE_MISSING, COMMIT_CONFLICT, UNSUPPORTED_FEATURE.
 */
export function overwriteRows(table: Table, options: OverwriteOptions): Promise<ChangeResult> {
  return commitChange(
    table,
    options,
    (bench, snapshot) => overwrite(bench, snapshot, options),
    options.signal,
  );
}

async function overwrite(bench: Workbench, snapshot: Snapshot, options: OverwriteOptions): Promise<Change> {
  const { replace, signal } = options;
  requirePromised(snapshot.protocol, snapshot.metadata, ENFORCED);
  await loadNewRows(bench, snapshot, options.select, signal);
  const rows = quoteName(NEW_ROWS);
  const condition =
    typeof replace === "object" ? await checkCondition(bench, snapshot, replace.where, signal) : undefined;
  if (condition) await requireAll(bench, condition, signal);
  const adds = await bench.write(snapshot, rows, { dataChange: true, fresh: rows, signal });
  const inserted = sumKnownRows(adds);
  const request = {
    operation: "WRITE",
    enforced: ENFORCED,
    operationParameters: { mode: "Overwrite", ...parametersOf(replace) },
  };
  if (condition) {
    const matches = await matchesOf(bench, snapshot, condition, signal);
    const replacement = { condition: condition.sql, columns: null };
    const { copied, ...old } = await rewrite(bench, snapshot, matches, replacement, signal);
    // One file of the feed makes the feed's files all that counts, so they tell of the new rows, too.
    if (old.cdcs.length > 0)
      old.cdcs.push(
        ...(await bench.writeChanges(snapshot, `(SELECT *, 'insert' AS _change_type FROM ${rows})`, signal)),
      );
    return {
      request: { ...request, ...old, adds: [...old.adds, ...adds], reads: condition.reads },
      counts: { ...NO_ROWS, deleted: hitsOf(matches), inserted, copied },
    };
  }
  const { old, reads }: Replaced =
    replace === "table" ? { old: [...snapshot.files()], reads: "table" } : partitionsOf(snapshot, adds);
  const removes = old.map((add) => tombstoneOf(add, { nowMs: bench.now(), dataChange: true }));
  const deleted = sumKnownRows(old);
  return { request: { ...request, removes, adds, reads }, counts: { ...NO_ROWS, deleted, inserted } };
}

/** The new rows as a table in the types of the table's columns; the table's own stand in view `current`. */
async function loadNewRows(
  bench: Workbench,
  snapshot: Snapshot,
  select: string,
  signal: AbortSignal,
): Promise<void> {
  const { engine } = bench;
  const { fields } = snapshot.schema;
  const names = fields.map((field) => quoteName(field.name)).join(", ");
  await bench.view(OLD_ROWS, snapshot, [...snapshot.files()], signal);
  await engine.run(`CREATE OR REPLACE VIEW ${CURRENT} AS SELECT ${names} FROM ${quoteName(OLD_ROWS)}`, {
    signal,
  });
  const query = `(${select}\n)`;
  try {
    const found = await engine.rows(`DESCRIBE ${query}`, { signal });
    const given = new Map<string, string>();
    for (const { column_name: name } of found) {
      const twin = given.get(String(name).toLowerCase());
      if (twin !== undefined) throw ambiguous(twin);
      given.set(String(name).toLowerCase(), String(name));
    }
    const values = fields.map((field) => {
      const name = given.get(field.name.toLowerCase());
      given.delete(field.name.toLowerCase());
      const value = name === undefined ? "NULL" : quoteName(name);
      return `CAST(${value} AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`;
    });
    if (given.size > 0) throw unknownColumns([...given.values()], snapshot);
    await engine.run(
      `CREATE OR REPLACE TEMP TABLE ${quoteName(NEW_ROWS)} AS SELECT ${values.join(", ")} FROM ${query}`,
      { signal },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LabError) throw error;
    throw new LabError("SQL_ERROR", `the new rows cannot be selected: ${(error as Error).message}`, {
      hint: "give one SELECT whose columns are named as the table's",
      cause: error,
    });
  }
}

function ambiguous(name: string): LabError {
  return new LabError("SCHEMA_MISMATCH", `the new rows have column ${name} twice`, {
    hint: "select one of the two, or name the other one otherwise",
    details: { column: name },
  });
}

function unknownColumns(names: readonly string[], { schema }: Snapshot): LabError {
  return new LabError("SCHEMA_MISMATCH", `the table has no column ${names.join(", ")}`, {
    hint: `its columns are ${schema.fields.map((field) => field.name).join(", ")}`,
    details: { columns: names },
  });
}

async function requireAll(bench: Workbench, condition: Condition, signal: AbortSignal): Promise<void> {
  const [row] = await bench.engine.rows(
    `SELECT count(*) AS outside FROM ${quoteName(NEW_ROWS)} WHERE NOT ${condition.sql}`,
    { signal },
  );
  if (row!.outside === 0n) return;
  throw new LabError("SCHEMA_MISMATCH", `${row!.outside} of the new rows do not fulfil ${condition.text}`, {
    hint: "new rows must be among those that they replace: filter them by the same condition",
    details: { where: condition.text },
  });
}

/** The live files of the partitions that new files fall into. Values count, not their spelling. */
function partitionsOf(snapshot: Snapshot, adds: readonly Add[]): Replaced {
  const types = snapshot.partitionColumns.map(
    (name) => snapshot.schema.fields.find((field) => field.name === name)!.type,
  );
  const keyOf = (values: PartitionValues) =>
    snapshot.partitionColumns
      .map((name, i) => {
        const value = parsePartitionValue(types[i]!, values[name] ?? null);
        return value instanceof Uint8Array
          ? Buffer.from(value).toString("hex")
          : JSON.stringify(String(value)) + (value === null);
      })
      .join();
  const touched = new Set(adds.map((add) => keyOf(add.partitionValues)));
  const partitions = (values: PartitionValues) => touched.has(keyOf(values));
  return { old: [...snapshot.filesWhere(partitions)], reads: { partitions } };
}

function parametersOf(replace: OverwriteOptions["replace"]): Record<string, string> {
  if (replace === "table") return {};
  return replace === "partitions" ? { partitionOverwriteMode: "dynamic" } : { predicate: replace.where };
}
