/** What two versions of a table differ in: rows in and out, columns, properties, files. */

import type { Add } from "../delta/actions.ts";
import { fileKey } from "../delta/file-key.ts";
import type { Snapshot } from "../delta/table.ts";
import { quoteName } from "../engine/instance.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
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
  const columns = await withRowDiff(reading, { table, to, files, signal }, async (diff) => {
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
    bytesAdded: String(bytes(files.added)),
    bytesRemoved: String(bytes(files.removed)),
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
  const before = new Map<string, Add>();
  for (const add of from.files()) before.set(fileKey(root, add.path, add.deletionVector), add);
  const added: Add[] = [];
  for (const add of to.files()) {
    if (!before.delete(fileKey(root, add.path, add.deletionVector))) added.push(add);
  }
  return { added, removed: [...before.values()] };
}

/** Lets `work` read the rows in which two sets of files differ, in the columns of `to`. */
export async function withRowDiff<T>(
  reading: Reading,
  options: {
    table: NamedTable["table"];
    to: Snapshot;
    files: { added: Add[]; removed: Add[] };
    signal: AbortSignal;
  },
  work: (diff: RowDiff) => Promise<T>,
): Promise<T> {
  const { table, to, files, signal } = options;
  const source = (view: string, adds: Add[]) => ({ view, table: to, store: table.store, adds });
  const relations = await openRelations(
    reading,
    [source("added", files.added), source("removed", files.removed)],
    { signal },
  );
  try {
    const sign = freeColumn(to);
    const side = (value: 1 | -1, one: string, other: string) =>
      `SELECT ${value}::TINYINT AS ${sign}, * FROM (FROM ${one} EXCEPT ALL FROM ${other})`;
    const sql = `${side(-1, "removed", "added")} UNION ALL ${side(1, "added", "removed")}`;
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

function bytes(adds: readonly Add[]): number {
  return adds.reduce((sum, add) => sum + add.size, 0);
}
