/** Rows taken out of the files they stand in: by a deletion vector where the table has them, else by writing the other rows again. */

import type { Add, Remove } from "../../delta/actions.ts";
import { writeDeletionVectors } from "../../delta/deletion-vector-write.ts";
import { numRecords } from "../../delta/file-totals.ts";
import { isActive } from "../../delta/protocol.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { tombstoneOf } from "../../delta/tombstone.ts";
import { quoteName } from "../../engine/instance.ts";
import { CURRENT } from "../../engine/row-expression.ts";
import { FILE_PLACE, ROW_PLACE } from "../../engine/scan.ts";
import { groupsOf } from "../../upkeep/matches.ts";
import type { Workbench } from "../../upkeep/workbench.ts";
import type { IndexedFile, Located, Retired } from "./key-index.ts";

export type Retirement = {
  removes: Remove[];
  adds: Add[];
  kept: Retired["kept"];
  /** Rows that were written again as they are. */
  copied: number;
};

export type RetireOptions = {
  table: Table;
  snapshot: Snapshot;
  /** Opens one where rows are written again. */
  bench: () => Promise<Workbench>;
  /** Told of a file that was stored beside those of the workbench. */
  onStored: (path: string) => void;
  now: () => number;
  signal: AbortSignal;
};

/** A file of which no row is left is removed either way. */
export async function retireRows(rows: readonly Located[], options: RetireOptions): Promise<Retirement> {
  const { snapshot, now } = options;
  const byFile = new Map<IndexedFile, number[]>();
  for (const { file, row } of rows) {
    const positions = byFile.get(file);
    if (positions) positions.push(row);
    else byFile.set(file, [row]);
  }
  const worn = [...byFile].map(([file, positions]) => ({ file, deleted: union(file.deleted, positions) }));
  const left = worn.filter(({ file, deleted }) => numRecords(file.add.stats) !== BigInt(deleted.length));
  const removes = worn.map(({ file }) => tombstoneOf(file.add, { nowMs: now(), dataChange: true }));
  const { protocol, metadata } = snapshot;
  const rest = isActive(protocol, metadata, "delta.enableDeletionVectors", "deletionVectors")
    ? await mark(left, options)
    : await writeAgain(left, options);
  return { removes, ...rest };
}

type Worn = { file: IndexedFile; deleted: Float64Array };

async function mark(
  files: readonly Worn[],
  { table, now, onStored, signal }: RetireOptions,
): Promise<Omit<Retirement, "removes">> {
  if (files.length === 0) return { adds: [], kept: [], copied: 0 };
  const { path, vectors } = await writeDeletionVectors(
    table.store,
    files.map(({ deleted }) => deleted),
    signal,
  );
  onStored(path);
  const kept = files.map(({ file, deleted }, i) => ({
    file,
    deleted,
    add: {
      ...file.add,
      dataChange: true,
      modificationTime: now(),
      deletionVector: vectors[i]!,
      ...(file.add.stats === undefined ? {} : { stats: withWideBounds(file.add.stats) }),
    },
  }));
  return { adds: kept.map(({ add }) => add), kept, copied: 0 };
}

/** Statistics still count and bound the rows that are gone (PROTOCOL.md, "Per-file Statistics"). */
export function withWideBounds(stats: string): string {
  return stats.includes('"tightBounds"')
    ? stats.replace(/"tightBounds"\s*:\s*true/, '"tightBounds":false')
    : stats.replace(/\}\s*$/, ',"tightBounds":false}');
}

async function writeAgain(
  files: readonly Worn[],
  { snapshot, bench, signal }: RetireOptions,
): Promise<Omit<Retirement, "removes">> {
  const adds: Add[] = [];
  if (files.length > 0) {
    const workbench = await bench();
    const columns = snapshot.schema.fields.map((field) => quoteName(field.name)).join(", ");
    for (const group of groupsOf(files, ({ file }) => file.add)) {
      await workbench.view(
        CURRENT,
        snapshot,
        group.map(({ file }) => file.add),
        signal,
      );
      const gone = group.flatMap(({ deleted }, place) => Array.from(deleted, (row) => `(${place}, ${row})`));
      const rows = `(SELECT ${columns} FROM ${CURRENT} ANTI JOIN (VALUES ${gone.join(", ")}) AS gone(f, r)
        ON gone.f = ${FILE_PLACE} AND gone.r = ${ROW_PLACE})`;
      adds.push(...(await workbench.write(snapshot, rows, { dataChange: true, signal })));
    }
  }
  const copied = adds.reduce((sum, { stats }) => sum + Number(numRecords(stats) ?? 0n), 0);
  return { adds, kept: [], copied };
}

/** Both ascending and each once. */
function union(before: Float64Array | undefined, positions: readonly number[]): Float64Array {
  const more = Float64Array.from(new Set(positions)).sort();
  if (before === undefined) return more;
  const all = new Float64Array(before.length + more.length);
  let [i, j, n] = [0, 0, 0];
  while (i < before.length || j < more.length) {
    const [a, b] = [before[i] ?? Number.POSITIVE_INFINITY, more[j] ?? Number.POSITIVE_INFINITY];
    all[n++] = Math.min(a, b);
    if (a <= b) i++;
    if (b <= a) j++;
  }
  return all.slice(0, n);
}
