/** The files in which a version's changes are found, as a lake reads them. */

import type { Action, Add } from "../delta/actions.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { changedSides } from "../query/changes.ts";
import type { LakeOptions } from "./lake.ts";
import type { ChangedParts } from "./rows.ts";

export type FilesOfChanges = { table: LakeOptions["table"]; adds: Add[]; parts: ChangedParts };

/**
 * Change data files where the version has some, as they alone say then what changed; else the files that it took out and brought, rows of deletion
 * vectors apart. `snapshot` is the version that `actions` made.
 */
export async function changedFilesOf(
  table: Table,
  snapshot: Snapshot,
  actions: readonly Action[],
  signal: AbortSignal,
): Promise<FilesOfChanges> {
  const { version } = snapshot;
  const sides = await changedSides(table, snapshot, { version, actions }, signal);
  const told = sides.find(({ kind }) => kind === "told");
  if (told !== undefined)
    return {
      ...{ table: told.source.table, adds: [...told.source.adds] },
      parts: { kind: "told" },
    };
  const files = sides.flatMap(({ kind, source }) =>
    [...source.adds].map((add, n) => ({
      add,
      part: {
        side: kind === "deleted" ? ("taken" as const) : ("brought" as const),
        only: source.only?.[n],
      },
    })),
  );
  return {
    table: snapshot,
    adds: files.map(({ add }) => add),
    parts: { kind: "files", parts: files.map(({ part }) => part) },
  };
}
