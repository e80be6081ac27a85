/** The rows that each version brought and took: a table's change data feed, also where nobody switched it on. */

import type { Action, Add, PartitionValues } from "../delta/actions.ts";
import { changedFiles, without } from "../delta/changes.ts";
import { readDeletionVector } from "../delta/deletion-vector.ts";
import { fileKey } from "../delta/file-key.ts";
import { historyEntry } from "../delta/history.ts";
import { listLog } from "../delta/log-list.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { fileTimes } from "../delta/time-travel.ts";
import type { StructField } from "../delta/types.ts";
import { mappingMode } from "../engine/column-mapping.ts";
import { quoteName } from "../engine/instance.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
import { openRelations, type Reading, type Source } from "./relations.ts";

/** Rows of one version, in the columns of the last one asked for, then `_change_type`, `_commit_version`, `_commit_timestamp`. */
export type ChangedRows = { columns: readonly Column[]; rows: Value[][] };

const TYPE_SQL = { told: "_change_type", deleted: "'delete'", inserted: "'insert'" };
const CHANGE_TYPE: StructField = { name: "_change_type", type: "string", nullable: true, metadata: {} };

/**
 * Changes of the versions `from` to `to`, both included, in order. A version with change files is told by these alone, with
 * update_preimage and update_postimage; any other by its files: rows of a rewritten file are a delete and an insert, and a new
 * deletion vector deletes what it takes out beyond the old one. VERSION_NOT_FOUND where a commit file was cleaned up,
 * DATA_FILE_MISSING where a file was vacuumed.
 */
export async function* readChanges(
  reading: Reading,
  table: Table,
  range: { from: number; to: number; signal: AbortSignal },
): AsyncGenerator<ChangedRows> {
  const { from, to, signal } = range;
  const shape = await table.at({ version: to }, signal);
  const { commits } = await listLog(table.store, 0, signal);
  const times = new Map(fileTimes(commits).map(({ version, timestampMs }) => [version, timestampMs]));
  for (let version = from; version <= to; version++) {
    const actions = await table.commitActions(version, signal);
    const { timestampMs } = historyEntry(version, actions, times.get(version)!);
    const sides = await changedSides(table, shape, { version, actions }, signal);
    if (sides.length === 0) continue;
    const sources = sides.map(({ source }) => source);
    const relations = await openRelations(reading, sources, { signal });
    try {
      const columns = shape.schema.fields.map((field) => quoteName(field.name)).join(", ");
      const commit = `${version}::BIGINT AS _commit_version, make_timestamptz(${Math.floor(timestampMs) * 1000}) AS _commit_timestamp`;
      const selects = sides.map(
        ({ kind, source }) =>
          `SELECT ${columns}, ${TYPE_SQL[kind]} AS _change_type, ${commit} FROM ${source.view}`,
      );
      const result = await stream(relations.engine, selects.join(" UNION ALL "), signal);
      for await (const rows of result.chunks) yield { columns: result.columns, rows };
    } catch (error) {
      signal.throwIfAborted();
      throw await relations.explain(error);
    } finally {
      await relations.close();
    }
  }
}

/**
 * Files that together hold the changes of a version: "told" are rows that say in `_change_type` what became of them, in the shape that the source
 * has; rows of "deleted" went and those of "inserted" came. Of rewritten files both sides hold also the rows that are as they were.
 */
export type ChangedSide = { kind: "told" | "deleted" | "inserted"; source: Source };

/** Empty where no row changed. `shape` is what the files are read as. */
export async function changedSides(
  table: Table,
  shape: Snapshot,
  commit: { version: number; actions: readonly Action[] },
  signal: AbortSignal,
): Promise<ChangedSide[]> {
  const { store } = table;
  const { version, actions } = commit;
  const isSilent = actions.some((action) => "remove" in action && !action.remove.partitionValues);
  const before = isSilent && version > 0 ? await table.at({ version: version - 1 }, signal) : undefined;
  const partitions = new Map<string, PartitionValues>();
  for (const add of before?.files() ?? [])
    partitions.set(fileKey(store.root, add.path, add.deletionVector), add.partitionValues);
  const files = changedFiles(
    store.root,
    actions,
    ({ path, deletionVector }) => partitions.get(fileKey(store.root, path, deletionVector)) ?? {},
  );
  if (files.cdcs.length > 0) {
    const adds = files.cdcs.map((cdc) => ({ ...cdc, modificationTime: 0 }));
    return [{ kind: "told", source: { view: "changes", table: withType(shape), store, adds } }];
  }
  const rowsOf = (add: Add) =>
    add.deletionVector ? readDeletionVector(store, add.deletionVector, signal) : new Float64Array();
  const struck: Add[] = [];
  const restored: Add[] = [];
  const only: Record<"struck" | "restored", Float64Array[]> = { struck: [], restored: [] };
  for (const { before: old, after } of files.turned) {
    const [were, are] = [await rowsOf(old), await rowsOf(after)];
    const { deletionVector: _, ...whole } = after;
    struck.push(whole);
    only.struck.push(without(are, were));
    restored.push(whole);
    only.restored.push(without(were, are));
  }
  const sides: ChangedSide[] = [
    { kind: "deleted", source: { view: "deleted", table: shape, store, adds: files.deleted } },
    { kind: "deleted", source: { view: "struck", table: shape, store, adds: struck, only: only.struck } },
    {
      kind: "inserted",
      source: { view: "restored", table: shape, store, adds: restored, only: only.restored },
    },
    { kind: "inserted", source: { view: "inserted", table: shape, store, adds: files.inserted } },
  ];
  return sides.filter(({ source }) => [...source.adds].length > 0);
}

/** The shape of change files: the table's columns and the kind of change, which has a name only, also where columns have ids. */
function withType(shape: Snapshot): Source["table"] {
  const { schema, metadata, protocol, partitionColumns } = shape;
  const configuration =
    mappingMode(shape) === "id"
      ? { ...metadata.configuration, "delta.columnMapping.mode": "name" }
      : metadata.configuration;
  return {
    schema: { ...schema, fields: [...schema.fields, CHANGE_TYPE] },
    metadata: { ...metadata, configuration },
    protocol,
    partitionColumns,
  };
}
