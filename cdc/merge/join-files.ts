/**
 * Small files joined beside the merging: they are read and written again while batches go on, which delete rows of them. What was deleted meanwhile is a
 * deletion vector of the joined file, in the commit that puts it in their place.
 */

import type { Add, DeletionVector } from "../../delta/actions.ts";
import { readDeletionVector } from "../../delta/deletion-vector.ts";
import { writeDeletionVectors } from "../../delta/deletion-vector-write.ts";
import { numRecords, rowsOf, sumBytes } from "../../delta/file-totals.ts";
import { decodePath } from "../../delta/path.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { targetFileSize } from "../../delta/table-properties.ts";
import { CURRENT } from "../../engine/row-expression.ts";
import { FILE_PLACE, ROW_PLACE } from "../../engine/scan.ts";
import { type Bin, packBins } from "../../upkeep/bins.ts";
import { joinParameters, joinRequest } from "../../upkeep/join-request.ts";
import { openWorkbench, type Workbench, type WorkbenchOptions } from "../../upkeep/workbench.ts";
import type { Rejoined } from "./key-index.ts";
import { withWideBounds } from "./retire.ts";
import { type Moves, movesOf } from "./row-moves.ts";

/** Files, the one that has their rows, and where each of them is there; `add` is null where none was left. */
export type Joined = { bin: Bin; add: Add | null; moves: Moves };

/** Old files of one commit are no more. */
const MOST_BYTES = 1024 * 1024 * 1024;
/** Commits that lose to other writers. */
const MOST_ATTEMPTS = 5;

/** Files that are to be joined at a version, those of which it is known how many rows they have. */
export function ripeFiles(snapshot: Snapshot): Bin[] {
  const targetBytes = targetFileSize(snapshot.metadata.configuration);
  const bins: Bin[] = [];
  let bytes = 0;
  for (const bin of packBins(snapshot.files(), { targetBytes, rule: "tiered" })) {
    if (bin.some((add) => rowsOf(add) === undefined)) continue;
    bytes += sumBytes(bin);
    if (bins.length > 0 && bytes > MOST_BYTES) break;
    bins.push(bin);
  }
  return bins;
}

/** Writes the joined files. They are in no version yet: whoever does not commit them removes them. Where it fails none is left. */
export async function joinFiles(
  table: Table,
  snapshot: Snapshot,
  bins: readonly Bin[],
  options: WorkbenchOptions,
  signal: AbortSignal,
): Promise<Joined[]> {
  const bench = await openWorkbench(table, options);
  try {
    return await bench.attempt(async () => {
      const joined: Joined[] = [];
      for (const bin of bins) joined.push(await joinBin(table, bench, snapshot, bin, signal));
      return joined;
    }, signal);
  } finally {
    await bench.close();
  }
}

async function joinBin(
  { store }: Table,
  bench: Workbench,
  snapshot: Snapshot,
  bin: Bin,
  signal: AbortSignal,
): Promise<Joined> {
  const sources = [];
  for (const { stats, deletionVector } of bin) {
    const deleted = deletionVector && (await readDeletionVector(store, deletionVector, signal));
    sources.push({ rows: Number(numRecords(stats)), deleted });
  }
  const moves = movesOf(sources);
  if (moves.rows === 0) return { bin, add: null, moves };
  await bench.view(CURRENT, snapshot, bin, signal);
  // Rows are found again by their places.
  const rows = `(SELECT * FROM ${CURRENT} ORDER BY ${FILE_PLACE}, ${ROW_PLACE})`;
  const adds = await bench.write(snapshot, rows, { dataChange: false, signal });
  const [add] = adds;
  if (!add || adds.length > 1 || rowsOf(add) !== BigInt(moves.rows))
    throw new Error(
      `${moves.rows} rows of one partition became files of ${adds.map(rowsOf).join(", ")} rows`,
    );
  return { bin, add, moves };
}

/**
 * Puts joined files in the place of the old ones, with what was deleted meanwhile. Those of which an old one is gone, or has a row again, are left
 * out and removed. Null where nothing was left to commit.
 */
export async function commitJoined(
  table: Table,
  read: Snapshot,
  joined: readonly Joined[],
  now: () => number,
  signal: AbortSignal,
): Promise<{ snapshot: Snapshot; rejoined: Rejoined[] } | null> {
  const { store } = table;
  let base = read;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const placed = await placeJoined(table, base, joined, signal);
    if (placed.length === 0) break;
    const vectors = await vectorsOf(table, placed, signal);
    const adds = placed.map((one, i) => addOf(one, vectors.of.get(i), now()));
    const added = adds.filter((add) => add !== null);
    const files = { old: placed.flatMap(({ old }) => old), adds: added };
    const told = { parameters: joinParameters({ zorder: [], isAuto: true }), nowMs: now() };
    const result = await table.commit(joinRequest(base, files, told), signal);
    if (result.kind === "committed") {
      const kept = new Set(added.map(({ path }) => path));
      await discard(
        table,
        joined.filter(({ add }) => add && !kept.has(add.path)),
        signal,
      );
      const rejoined = placed.flatMap(({ old, moves, deleted }, i): Rejoined[] =>
        adds[i] ? [{ old, moves, deleted, add: adds[i] }] : [],
      );
      return { snapshot: result.snapshot, rejoined };
    }
    if (vectors.path) await store.delete(vectors.path, signal);
    base = await table.latest(signal);
    if (base.metadata.schemaString !== read.metadata.schemaString) break;
  }
  await discard(table, joined, signal);
  return null;
}

type Placed = Joined & { old: Add[]; deleted: Float64Array };

/** Those whose old files are still there, as these are by now. */
async function placeJoined(
  { store }: Table,
  base: Snapshot,
  joined: readonly Joined[],
  signal: AbortSignal,
): Promise<Placed[]> {
  const wanted = new Set(joined.flatMap(({ bin }) => bin.map(({ path }) => path)));
  const live = new Map<string, Add>();
  for (const add of base.files()) if (wanted.has(add.path)) live.set(add.path, add);
  const placed: Placed[] = [];
  for (const one of joined) {
    const old = one.bin.flatMap(({ path }) => live.get(path) ?? []);
    if (old.length < one.bin.length) continue;
    const now = [];
    for (const { deletionVector } of old)
      now.push(deletionVector && (await readDeletionVector(store, deletionVector, signal)));
    const deleted = one.moves.deleted(now);
    if (deleted) placed.push({ ...one, old, deleted });
  }
  return placed;
}

/** The vectors of joined files that have lost some of their rows, by their places. */
async function vectorsOf({ store }: Table, placed: readonly Placed[], signal: AbortSignal) {
  const worn = placed.flatMap(({ add, moves, deleted }, i) =>
    add && deleted.length > 0 && deleted.length < moves.rows ? [{ i, deleted }] : [],
  );
  if (worn.length === 0) return { path: null, of: new Map<number, DeletionVector>() };
  const { path, vectors } = await writeDeletionVectors(
    store,
    worn.map(({ deleted }) => deleted),
    signal,
  );
  return { path, of: new Map(worn.map(({ i }, n) => [i, vectors[n]!])) };
}

/** As the commit adds it; null where no row of it is left. */
function addOf(
  { add, moves, deleted }: Placed,
  vector: DeletionVector | undefined,
  nowMs: number,
): Add | null {
  if (add === null || deleted.length === moves.rows) return null;
  if (vector === undefined) return add;
  const stats = add.stats === undefined ? {} : { stats: withWideBounds(add.stats) };
  return { ...add, ...stats, modificationTime: nowMs, deletionVector: vector };
}

/** Removes joined files that no version names, best effort. */
export async function discard(
  { store }: Table,
  joined: readonly Joined[],
  signal: AbortSignal,
): Promise<void> {
  for (const { add } of joined)
    if (add) await store.delete(decodePath(add.path), signal).catch(() => undefined);
}
