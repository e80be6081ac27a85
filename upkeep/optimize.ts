/** Optimize: small files become few, or all rows are put in Z-order. Rows stay what they are, so readers and appenders need not notice. */

import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { checkRequest } from "../delta/commit-actions.ts";
import { fileKey } from "../delta/file-key.ts";
import { sumBytes, sumRows } from "../delta/file-totals.ts";
import { checkWritable } from "../delta/protocol.ts";
import { checkRowsMayMove } from "../delta/row-tracking.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { targetFileSize } from "../delta/table-properties.ts";
import { CURRENT } from "../engine/row-expression.ts";
import { type Bin, byPartition, type Packing, packBins } from "./bins.ts";
import { type JoinRequest, joinParameters, joinRequest } from "./join-request.ts";
import { openWorkbench, type Workbench, type WorkbenchOptions } from "./workbench.ts";
import { withCurve, ZORDER_TAG, zorderPaths } from "./zorder.ts";

export type OptimizeOptions = WorkbenchOptions & {
  /** Columns to sort by along a Z-curve, which writes all files of a partition again; absent: small files are joined. */
  zorder?: readonly string[];
  /** Default: `delta.targetFileSize` of the table. */
  targetBytes?: number;
  /** Default "full". */
  rule?: Packing["rule"];
  /** Bytes of old files that are done with, of all that are to be done. */
  onProgress?: (done: number, total: number) => void;
  signal: AbortSignal;
};

export type OptimizeResult = {
  /** The last version that was made; null where nothing was to be done. */
  version: number | null;
  versions: number;
  filesRemoved: number;
  filesAdded: number;
  bytesRemoved: number;
  bytesAdded: number;
  /** Groups of files that another writer changed meanwhile: left to the next time. */
  skipped: number;
};

/** Bytes of old files after which what is done is committed: a run that is stopped keeps most of its work. */
const COMMIT_BYTES = 1024 * 1024 * 1024;
const COMMIT_BINS = 200;
/** Commits of one group that lose to writers changing some of its files; each time at least one of these is left out. */
const MOST_ATTEMPTS = 20;

/** Columns to sort by, and how the files that are sorted so are marked. */
type Curve = { paths: readonly (readonly string[])[]; tag: string };

/** Old files and the new ones in their place. */
type Joined = { bin: Bin; adds: Add[] };

/**
 * Writes small files, or all for `zorder`, again as larger ones, partition by partition, committed with dataChange false. An appender beside it
 * never loses to it, nor it to the appender; files that another writer removes meanwhile are left out. DATA_FILE_MISSING, SCHEMA_MISMATCH,
 * UNSUPPORTED_FEATURE.
 */
export async function optimize(table: Table, options: OptimizeOptions): Promise<OptimizeResult> {
  const { signal, zorder, rule = "full" } = options;
  if (options.targetBytes !== undefined && options.targetBytes < 1)
    throw new LabError("USAGE", "files of no size cannot be made", { hint: "give a larger --target-size" });
  const snapshot = await table.latest(signal);
  checkWritable(snapshot.protocol, snapshot.metadata);
  checkRowsMayMove(snapshot);
  const targetBytes = options.targetBytes ?? targetFileSize(snapshot.metadata.configuration);
  const curve = zorder && { paths: zorderPaths(snapshot, zorder), tag: zorder.join(",").toLowerCase() };
  const bins = curve ? unsorted(snapshot, curve.tag) : packBins(snapshot.files(), { targetBytes, rule });
  const result: OptimizeResult = {
    version: null,
    versions: 0,
    filesRemoved: 0,
    filesAdded: 0,
    bytesRemoved: 0,
    bytesAdded: 0,
    skipped: 0,
  };
  if (bins.length === 0) return result;
  const total = bins.reduce((sum, bin) => sum + sumBytes(bin), 0);
  const parameters = joinParameters({ zorder: zorder ?? [], isAuto: rule === "tiered" });
  const bench = await openWorkbench(table, options);
  try {
    const write = (bin: Bin) =>
      curve
        ? sortBin(bench, snapshot, bin, { curve, targetBytes, signal })
        : joinBin(bench, snapshot, bin, signal);
    let done = 0;
    let joined: Joined[] = [];
    let startedMs = bench.now();
    for (const [place, bin] of bins.entries()) {
      const one = await bench.attempt(async () => {
        const written = { bin, adds: await write(bin) };
        const request = requestOf(snapshot, [written], { parameters, startedMs, nowMs: bench.now() });
        checkRequest(request, snapshot, table.store.root);
        return written;
      }, signal);
      joined.push(one);
      done += sumBytes(bin);
      options.onProgress?.(done, total);
      const bytes = joined.reduce((sum, one) => sum + sumBytes(one.bin), 0);
      const isLast = place === bins.length - 1;
      if (!isLast && bytes < COMMIT_BYTES && joined.length < COMMIT_BINS) continue;
      await commitJoined(table, bench, snapshot, joined, { parameters, startedMs, result, signal });
      joined = [];
      startedMs = bench.now();
    }
    return result;
  } finally {
    await bench.close();
  }
}

/** All files of each partition that has some which are not in this order. */
function unsorted(snapshot: Snapshot, tag: string): Bin[] {
  return byPartition(snapshot.files()).filter((files) => files.some((add) => add.tags?.[ZORDER_TAG] !== tag));
}

async function joinBin(bench: Workbench, snapshot: Snapshot, bin: Bin, signal: AbortSignal): Promise<Add[]> {
  await bench.view(CURRENT, snapshot, bin, signal);
  const adds = await bench.write(snapshot, CURRENT, { dataChange: false, signal });
  await requireSameRows(bench, bin, adds, signal);
  return adds;
}

/** The rows of a partition in the order of the curve, cut into files of about the target's size. */
async function sortBin(
  bench: Workbench,
  snapshot: Snapshot,
  bin: Bin,
  options: { curve: Curve; targetBytes: number; signal: AbortSignal },
): Promise<Add[]> {
  const { curve, targetBytes, signal } = options;
  await bench.view(CURRENT, snapshot, bin, signal);
  const count = Math.max(1, Math.round(sumBytes(bin) / targetBytes));
  await bench.engine.run(
    `CREATE OR REPLACE TEMP TABLE sorted AS
     SELECT *, ntile(${count}) OVER (ORDER BY "lab z") AS "lab part" FROM ${withCurve(CURRENT, curve.paths)} ORDER BY "lab z"`,
    { signal },
  );
  const adds: Add[] = [];
  for (let part = 1; part <= count; part++) {
    const rows = `(SELECT * FROM sorted WHERE "lab part" = ${part})`;
    const written = await bench.write(snapshot, rows, { dataChange: false, signal });
    adds.push(...written.map((add) => ({ ...add, tags: { [ZORDER_TAG]: curve.tag } })));
  }
  await bench.engine.run("DROP TABLE sorted", { signal });
  await requireSameRows(bench, bin, adds, signal);
  return adds;
}

/**
 * The last look before old files go, which stand in view `current`: INTERNAL where rows came or went. Statistics say how many there were; where they
 * disagree or say nothing, the files themselves do.
 */
async function requireSameRows(
  bench: Workbench,
  old: readonly Add[],
  adds: readonly Add[],
  signal: AbortSignal,
): Promise<void> {
  const after = sumRows(adds);
  if (sumRows(old) === after) return;
  const before = await bench.storedRows(CURRENT, signal);
  if (before === after) return;
  throw new LabError("INTERNAL", `${before} rows became ${after} in ${adds.length} files`, {
    hint: "nothing was committed",
    details: { files: old.map(({ path }) => path) },
  });
}

/** Commits groups of files; those that another writer changed in the meantime are left out and their new files removed. */
async function commitJoined(
  table: Table,
  bench: Workbench,
  read: Snapshot,
  joined: readonly Joined[],
  options: {
    parameters: Record<string, string>;
    startedMs: number;
    result: OptimizeResult;
    signal: AbortSignal;
  },
): Promise<void> {
  const { parameters, startedMs, result, signal } = options;
  const { root } = table.store;
  let readSnapshot = read;
  let left = joined;
  for (let attempt = 1; left.length > 0; attempt++) {
    const request = requestOf(readSnapshot, left, { parameters, startedMs, nowMs: bench.now() });
    const { adds, removes } = request;
    const committed = await table.commit(request, signal);
    if (committed.kind === "committed") {
      bench.settle();
      result.version = committed.version;
      result.versions++;
      result.filesRemoved += removes.length;
      result.filesAdded += adds.length;
      result.bytesRemoved += removes.reduce((sum, { size = 0 }) => sum + size, 0);
      result.bytesAdded += sumBytes(adds);
      return;
    }
    readSnapshot = await table.latest(signal);
    const isSame = readSnapshot.metadata.schemaString === read.metadata.schemaString;
    const live = new Set<string>();
    for (const add of readSnapshot.files()) live.add(fileKey(root, add.path, add.deletionVector));
    const isLeft = ({ bin }: Joined) =>
      isSame &&
      attempt < MOST_ATTEMPTS &&
      bin.every((add) => live.has(fileKey(root, add.path, add.deletionVector)));
    const lost = left.filter((one) => !isLeft(one));
    left = left.filter(isLeft);
    result.skipped += lost.length;
    await bench.discard(
      signal,
      lost.flatMap((one) => one.adds),
    );
  }
}

function requestOf(
  readSnapshot: Snapshot,
  joined: readonly Joined[],
  options: { parameters: Record<string, string>; startedMs: number; nowMs: number },
): JoinRequest {
  const { parameters, startedMs, nowMs } = options;
  const files = { old: joined.flatMap(({ bin }) => bin), adds: joined.flatMap((one) => one.adds) };
  return joinRequest(readSnapshot, files, { parameters, nowMs, elapsedMs: nowMs - startedMs });
}
