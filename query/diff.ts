/** What two versions of a table differ in: rows in and out, columns, properties, files. */

import { isDeepStrictEqual } from "node:util";
import type { Add } from "../delta/actions.ts";
import { fileKey } from "../delta/file-key.ts";
import { sumBytes } from "../delta/file-totals.ts";
import type { Snapshot } from "../delta/table.ts";
import { quoteName } from "../engine/instance.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
import { sqlType } from "../engine/sql-types.ts";
import type { NamedTable } from "./catalog.ts";
import { type Cell, toCell } from "./cells.ts";
import { openRelations, type Reading } from "./relations.ts";
import { typeText } from "./show.ts";

export type SchemaChange = {
  field: string;
  change: "added" | "removed" | "changed";
  from: string | null;
  to: string | null;
};
export type PropertyChange = { property: string; from: string | null; to: string | null };

/** Rows as the engine gives them; `diffDocument` is the JSON form. */
export type VersionDiff = {
  table: string;
  from: number;
  to: number;
  rowsAdded: bigint;
  rowsRemoved: bigint;
  files: { added: Add[]; removed: Add[] };
  schema: SchemaChange[];
  properties: PropertyChange[];
  /** Of version `to`. */
  columns: readonly Column[];
  added: Value[][];
  removed: Value[][];
};

/** What `lab diff --json` and the page are given. */
export type TableDiff = {
  table: string;
  from: number;
  to: number;
  rowsAdded: string;
  rowsRemoved: string;
  filesAdded: number;
  filesRemoved: number;
  bytesAdded: string;
  bytesRemoved: string;
  schema: SchemaChange[];
  properties: PropertyChange[];
  columns: { name: string; type: string }[];
  added: Cell[][];
  removed: Cell[][];
  /** More rows differ than are listed. */
  truncated: boolean;
};

/** Differing rows one by one, as they are found: `sign` +1 for a row of `to`, -1 for one of `from`. */
export type RowDiff = {
  columns: readonly Column[];
  rows: AsyncIterable<{ sign: 1 | -1; row: Value[] }>;
};

/**
 * Compares two versions in the columns of `to`, as multisets: what both have as often is no difference. Only files that are
 * in one version and not in the other are read. At most `maxRows` rows of each side are listed; all are counted.
 */
export async function diffVersions(
  reading: Reading,
  { name, table }: NamedTable,
  range: { from: number; to: number; maxRows: number; signal: AbortSignal },
): Promise<VersionDiff> {
  const { signal, maxRows } = range;
  const from = await table.at({ version: range.from }, signal);
  const to = await table.at({ version: range.to }, signal);
  const files = differingFiles(table.store.root, from, to);
  const listed: Record<1 | -1, Value[][]> = { 1: [], [-1]: [] };
  const counted = { 1: 0n, [-1]: 0n };
  const columns = await withRowDiff(reading, { table, from, to, files, signal }, async (diff) => {
    for await (const { sign, row } of diff.rows) {
      counted[sign]++;
      if (listed[sign].length < maxRows) listed[sign].push(row);
    }
    return diff.columns;
  });
  return {
    table: name,
    from: from.version,
    to: to.version,
    rowsAdded: counted[1],
    rowsRemoved: counted[-1],
    files,
    schema: schemaChanges(from, to),
    properties: propertyChanges(from, to),
    columns,
    added: listed[1],
    removed: listed[-1],
  };
}

export function diffDocument(diff: VersionDiff): TableDiff {
  const cells = diff.columns.map((column) => toCell(column.type));
  const rows = (side: Value[][]) => side.map((row) => row.map((value, index) => cells[index]!(value)));
  const { table, from, to, schema, properties, files } = diff;
  return {
    table,
    from,
    to,
    rowsAdded: diff.rowsAdded.toString(),
    rowsRemoved: diff.rowsRemoved.toString(),
    filesAdded: files.added.length,
    filesRemoved: files.removed.length,
    bytesAdded: String(sumBytes(files.added)),
    bytesRemoved: String(sumBytes(files.removed)),
    schema,
    properties,
    columns: diff.columns.map(({ name, sql: type }) => ({ name, type })),
    added: rows(diff.added),
    removed: rows(diff.removed),
    truncated: diff.rowsAdded > diff.added.length || diff.rowsRemoved > diff.removed.length,
  };
}

/** Files that one of two versions has and the other has not; a file with another deletion vector is another one. */
export function differingFiles(root: string, from: Snapshot, to: Snapshot): { added: Add[]; removed: Add[] } {
  // Keys only, and in one set: versions of large tables share nearly all of their files.
  const keyOf = (add: Add) => fileKey(root, add.path, add.deletionVector);
  const unmatched = new Set<string>();
  for (const add of to.files()) unmatched.add(keyOf(add));
  const removed: Add[] = [];
  for (const add of from.files()) if (!unmatched.delete(keyOf(add))) removed.push(add);
  const added: Add[] = [];
  if (unmatched.size > 0) for (const add of to.files()) if (unmatched.has(keyOf(add))) added.push(add);
  return { added, removed };
}

/** Lets `work` read the rows in which two sets of files differ, in the columns of `to`. */
export async function withRowDiff<T>(
  reading: Reading,
  options: {
    table: NamedTable["table"];
    from: Snapshot;
    to: Snapshot;
    files: { added: Add[]; removed: Add[] };
    signal: AbortSignal;
  },
  work: (diff: RowDiff) => Promise<T>,
): Promise<T> {
  const { table, from, to, files, signal } = options;
  const { store } = table;
  // Files of the older version are read in the newer one's columns, unless values that stood in the log stand in files now, or the reverse.
  const isPartitionedAnew = !isDeepStrictEqual(from.partitionColumns, to.partitionColumns);
  const sources = [
    { view: "added", table: to, store, adds: files.added },
    { view: "removed", table: isPartitionedAnew ? from : to, store, adds: files.removed },
  ];
  const relations = await openRelations(reading, sources, { signal });
  try {
    const sign = freeColumn(to);
    const side = (value: 1 | -1, one: string, other: string) =>
      `SELECT ${value}::TINYINT AS ${sign}, * FROM (FROM ${one} EXCEPT ALL FROM ${other})`;
    const removed = isPartitionedAnew ? `(${inColumnsOf(to, from, "removed")})` : "removed";
    const sql = `${side(-1, removed, "added")} UNION ALL ${side(1, "added", removed)}`;
    const result = await stream(relations.engine, sql, signal);
    async function* rows() {
      for await (const chunk of result.chunks) {
        for (const [which, ...row] of chunk) yield { sign: which as 1 | -1, row };
      }
    }
    return await work({ columns: result.columns.slice(1), rows: rows() });
  } catch (error) {
    throw await relations.explain(error);
  } finally {
    await relations.close();
  }
}

/** The rows of a view over `from` in the columns of `to`; what `from` has not is NULL. */
function inColumnsOf(to: Snapshot, from: Snapshot, view: string): string {
  const names = new Map(from.schema.fields.map(({ name }) => [name.toLowerCase(), name]));
  const columns = to.schema.fields.map(({ name, type }) => {
    const own = names.get(name.toLowerCase());
    return `CAST(${own === undefined ? "NULL" : quoteName(own)} AS ${sqlType(type)}) AS ${quoteName(name)}`;
  });
  return `SELECT ${columns.join(", ")} FROM ${view}`;
}

/** A name that no column of the table has. */
function freeColumn(snapshot: Snapshot): string {
  const taken = new Set(snapshot.schema.fields.map((field) => field.name.toLowerCase()));
  let name = "sign";
  while (taken.has(name)) name += "_";
  return quoteName(name);
}

function schemaChanges(from: Snapshot, to: Snapshot): SchemaChange[] {
  const before = new Map(from.schema.fields.map((field) => [field.name, typeText(field.type)]));
  const changes: SchemaChange[] = [];
  for (const { name: field, type } of to.schema.fields) {
    const [old, now] = [before.get(field), typeText(type)];
    before.delete(field);
    if (old === undefined) changes.push({ field, change: "added", from: null, to: now });
    else if (old !== now) changes.push({ field, change: "changed", from: old, to: now });
  }
  for (const [field, old] of before) changes.push({ field, change: "removed", from: old, to: null });
  return changes;
}

function propertyChanges(from: Snapshot, to: Snapshot): PropertyChange[] {
  const [before, now] = [from.metadata.configuration, to.metadata.configuration];
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names
    .filter((property) => before[property] !== now[property])
    .map((property) => ({ property, from: before[property] ?? null, to: now[property] ?? null }));
}
