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
    const sides = await sidesOf(table, shape, { version, actions }, signal);
    if (sides.length === 0) continue;
    const sources = sides.map(({ source }) => source);
    const relations = await openRelations(reading, sources, { signal });
    try {
      const columns = shape.schema.fields.map((field) => quoteName(field.name)).join(", ");
      const commit = `${version}::BIGINT AS _commit_version, make_timestamptz(${Math.floor(timestampMs) * 1000}) AS _commit_timestamp`;
      const selects = sides.map(
        ({ type, source }) => `SELECT ${columns}, ${type} AS _change_type, ${commit} FROM ${source.view}`,
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

/** Views that together are the changes of a version; `type` is the SQL of their `_change_type`. */
async function sidesOf(
  table: Table,
  shape: Snapshot,
  commit: { version: number; actions: readonly Action[] },
  signal: AbortSignal,
): Promise<{ type: string; source: Source }[]> {
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
    return [{ type: "_change_type", source: { view: "changes", table: withType(shape), store, adds } }];
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
  const sides = [
    { type: "'delete'", source: { view: "deleted", table: shape, store, adds: files.deleted } },
    { type: "'delete'", source: { view: "struck", table: shape, store, adds: struck, only: only.struck } },
    {
      type: "'insert'",
      source: { view: "restored", table: shape, store, adds: restored, only: only.restored },
    },
    { type: "'insert'", source: { view: "inserted", table: shape, store, adds: files.inserted } },
  ];
  return sides.filter(({ source }) => source.adds.length > 0);
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
