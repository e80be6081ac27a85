/**
 * The files of a table's log as columns. Each row knows in which version it came and in which it was replaced, so that all
 * snapshots between two rewrites share one set of columns, and a refresh only appends.
 */

import type { Add, PartitionValues, Remove } from "./actions.ts";
import { type BoundsFilter, fileBounds } from "./file-bounds.ts";
import { fileKey } from "./file-key.ts";
import { rowsOf } from "./file-totals.ts";
import { parseJson, stringifyJson } from "./json.ts";
import { keyIndex } from "./key-index.ts";
import { keptLiveRows, rowsOfPartitions } from "./live-rows.ts";
import { numberColumn } from "./number-column.ts";
import { keyHash, pathColumn } from "./path-column.ts";
import { type PackedText, type Slice, sliceText } from "./slice.ts";
import { rareColumn, stringColumn } from "./string-column.ts";

/** A live file, with its path and its statistics as text, or where they stand. */
export type LiveFile = Omit<Add, "path" | "stats"> & {
  path: string | Slice;
  stats?: string | Slice | PackedText | undefined;
};

export type FileRows = {
  /** Rows there are, replaced ones included. */
  readonly length: number;
  /** Live files of the newest version, and the bytes of all of them. */
  readonly liveFiles: number;
  readonly liveBytes: number;
  /** About so many further rows will come. */
  expect(rows: number): void;
  /** The file is live from `version` on. Versions never fall from call to call. */
  add(version: number, file: LiveFile): void;
  /** The file is a tombstone from `version` on. */
  remove(version: number, tombstone: Remove): void;
  /** The live files of `version`, of partitions that `matches` takes, whose statistics reach into each of `reaching`, and that `mayHold` takes. */
  files(
    version: number,
    matches?: (values: PartitionValues) => boolean,
    mayHold?: (stats: string | undefined, values: PartitionValues) => boolean,
    reaching?: readonly BoundsFilter[],
  ): Iterable<Add>;
  /** At most `count` of the live files of `version`, the newest first. */
  newestFiles(version: number, count: number): Add[];
  tombstones(version: number): Iterable<Remove>;
  /**
   * Live rows in the files of `version` by their statistics; undefined as soon as one does not say. What was looked up of a file is kept, so that
   * versions near one another cost the statistics of one.
   */
  liveRows(version: number): bigint | undefined;
  /** Fresh rows with what counts in the newest version only, without tombstones of `expiredBeforeMs` and earlier. */
  rewritten(expiredBeforeMs: number): FileRows;
};

const TOMBSTONE = 1;
const DATA_CHANGE = 2;
const EXTENDED = 4;
const NO_PARTITION = -1;
const UNSAID = -1;
/** Places of the totals. */
const FILES = 0;
const BYTES = 1;
const NO_FILE: Remove = { path: "", dataChange: false };

/** Empty rows of the table at `root` (which absolute paths of the log are compared with). */
export function fileRows(root: string): FileRows {
  const since = numberColumn();
  const until = numberColumn();
  const sizes = numberColumn();
  const times = numberColumn();
  const flags = numberColumn();
  const partitions = numberColumn();
  const paths = pathColumn();
  const stats = stringColumn();
  const extras = rareColumn();
  const partitionNumbers = new Map<string, number>();
  const partitionValues: PartitionValues[] = [];
  let lastPartition: { values: PartitionValues | undefined; number: number } = {
    values: undefined,
    number: NO_PARTITION,
  };
  const index = keyIndex();
  /** Live rows of files; UNSAID where the statistics do not tell. Looked up from the first file on, as far as was asked. */
  const records = numberColumn();
  const bounds = fileBounds();
  const kept = keptLiveRows(partitions.get);

  /** In an array of doubles: a variable would make an object of each of its values, one for each row. */
  const totals = new Float64Array(2);
  const count = (row: number, sign: 1 | -1) => {
    if (isTombstone(row)) return;
    totals[FILES]! += sign;
    totals[BYTES]! += sign * sizes.get(row);
  };

  const lookUp = (row: number): number => {
    if (isTombstone(row)) return 0;
    const rows = rowsOf({ stats: stats.get(row), deletionVector: extraOf(row).deletionVector });
    const known = Number(rows ?? UNSAID);
    // A file of more rows than a double counts is not one.
    return Number.isSafeInteger(known) ? known : UNSAID;
  };
  const isTombstone = (row: number) => (flags.get(row) & TOMBSTONE) !== 0;
  const extraOf = (row: number): Extra => {
    const text = extras.get(row);
    return text === undefined ? {} : readExtra(text);
  };
  const keyOf = (row: number) => fileKey(root, paths.get(row), extraOf(row).deletionVector);
  const partitionOf = (values: PartitionValues | undefined): number => {
    if (values === undefined) return NO_PARTITION;
    if (values === lastPartition.values) return lastPartition.number;
    const number = partitionNumber(values);
    lastPartition = { values, number };
    return number;
  };
  const partitionNumber = (values: PartitionValues): number => {
    const text = JSON.stringify(values);
    const known = partitionNumbers.get(text);
    if (known !== undefined) return known;
    partitionNumbers.set(text, partitionValues.length);
    return partitionValues.push(values) - 1;
  };

  /** What `isSought` compares with. The key is made when a row with the same hash shows up: mostly there is none. */
  let sought: LiveFile | Remove = NO_FILE;
  let soughtKey: string | undefined;
  const keySought = (): string => {
    const { path, deletionVector } = sought;
    soughtKey ??= fileKey(root, typeof path === "string" ? path : sliceText(path), deletionVector);
    return soughtKey;
  };
  const isSought = (row: number) => keyOf(row) === keySought();

  /** Ends the current row of the same file at `version` and appends the new one. */
  const append = (version: number, file: LiveFile | Remove, flag: number): void => {
    kept.changed(version);
    const row = since.length;
    const ownHash = paths.push(file.path);
    sought = file;
    soughtKey = undefined;
    const isOwnHash = ownHash !== undefined && file.deletionVector === undefined;
    const old = index.put(isOwnHash ? ownHash : keyHash(keySought()), row, isSought);
    if (old !== undefined) {
      until.set(old, version);
      count(old, -1);
    }

    const isLive = (flag & TOMBSTONE) === 0;
    since.push(version);
    until.push(Number.POSITIVE_INFINITY);
    sizes.push(file.size ?? Number.NaN);
    const timeMs = isLive ? (file as LiveFile).modificationTime : (file as Remove).deletionTimestamp;
    times.push(timeMs ?? Number.NaN);
    flags.push(flag | (file.dataChange ? DATA_CHANGE : 0));
    partitions.push(partitionOf(file.partitionValues));
    extras.push(writeExtra(file));
    stats.push(isLive ? (file as LiveFile).stats : undefined);
    count(row, 1);
  };

  const isCurrent = (row: number, version: number) => since.get(row) <= version && version < until.get(row);
  const isLiveAt = (row: number, version: number) => isCurrent(row, version) && !isTombstone(row);
  const addAt = <T extends string | PackedText>(row: number, text: T | undefined) => ({
    path: paths.get(row),
    partitionValues: partitionValues[partitions.get(row)]!,
    size: sizes.get(row),
    modificationTime: times.get(row),
    dataChange: (flags.get(row) & DATA_CHANGE) !== 0,
    ...(text === undefined ? {} : { stats: text }),
    ...extraOf(row),
  });
  /** Most who ask for a file do not ask for its statistics, which may stand packed. */
  const fileAt = (row: number): Add => {
    const file = addAt<string>(row, undefined);
    if (!stats.has(row)) return file;
    return {
      ...file,
      get stats() {
        return stats.get(row)!;
      },
    };
  };
  const removeAt = (row: number): Remove => ({
    path: paths.get(row),
    dataChange: (flags.get(row) & DATA_CHANGE) !== 0,
    ...(Number.isNaN(times.get(row)) ? {} : { deletionTimestamp: times.get(row) }),
    ...((flags.get(row) & EXTENDED) !== 0 ? { extendedFileMetadata: true } : {}),
    ...(partitions.get(row) === NO_PARTITION
      ? {}
      : { partitionValues: partitionValues[partitions.get(row)]! }),
    ...(Number.isNaN(sizes.get(row)) ? {} : { size: sizes.get(row) }),
    ...extraOf(row),
  });

  return {
    get length() {
      return since.length;
    },
    get liveFiles() {
      return totals[FILES]!;
    },
    get liveBytes() {
      return totals[BYTES]!;
    },
    expect: index.expect,
    add: (version, file) => append(version, file, 0),
    remove: (version, tombstone) =>
      append(version, tombstone, TOMBSTONE | (tombstone.extendedFileMetadata ? EXTENDED : 0)),
    *files(version, matches, mayHold, filters = []) {
      const isLive = (row: number) => isLiveAt(row, version);
      const end = since.length;
      if (matches === undefined && mayHold === undefined && filters.length === 0) {
        // Of all files at once most are asked, and an object that asks later is the larger one.
        for (let row = 0; row < end; row++) if (isLive(row)) yield addAt(row, stats.get(row));
        return;
      }
      const live = kept.of(version, end, isLive);
      let chosen = matches === undefined ? live.rows : rowsOfPartitions(live, partitionValues, matches);
      for (const filter of filters) chosen = bounds.reaching(filter, chosen, end, stats.get);
      for (const row of chosen) {
        if (mayHold === undefined) yield fileAt(row);
        else {
          const text = stats.get(row);
          if (mayHold(text, partitionValues[partitions.get(row)]!)) yield addAt(row, text);
        }
      }
    },
    newestFiles(version, count) {
      const newest: number[] = [];
      for (let row = 0, end = since.length; row < end; row++) {
        if (!isLiveAt(row, version)) continue;
        const time = times.get(row);
        if (newest.length === count && !(time > times.get(newest.at(-1) ?? row))) continue;
        const place = newest.findIndex((other) => times.get(other) < time);
        newest.splice(place < 0 ? newest.length : place, 0, row);
        if (newest.length > count) newest.pop();
      }
      return newest.map(fileAt);
    },
    *tombstones(version) {
      const end = since.length;
      for (let row = 0; row < end; row++)
        if (isCurrent(row, version) && isTombstone(row)) yield removeAt(row);
    },
    liveRows(version) {
      let total = 0n;
      const end = since.length;
      for (let row = records.length; row < end; row++) records.push(lookUp(row));
      for (let row = 0; row < end; row++) {
        if (!isLiveAt(row, version)) continue;
        const rows = records.get(row);
        if (rows === UNSAID) return undefined;
        total += BigInt(rows);
      }
      return total;
    },
    rewritten(expiredBeforeMs) {
      const fresh = fileRows(root);
      for (let row = 0; row < since.length; row++) {
        if (until.get(row) !== Number.POSITIVE_INFINITY) continue;
        if (!isTombstone(row)) fresh.add(since.get(row), addAt(row, stats.held(row)));
        else if (!((times.get(row) || 0) <= expiredBeforeMs)) fresh.remove(since.get(row), removeAt(row));
      }
      return fresh;
    },
  };
}

/** Fields that most files lack, kept as JSON. */
type Extra = Pick<
  Add,
  "tags" | "deletionVector" | "baseRowId" | "defaultRowCommitVersion" | "clusteringProvider"
>;

function writeExtra(file: LiveFile | Remove): string | undefined {
  const { tags, clusteringProvider } = file as LiveFile;
  const { deletionVector, baseRowId, defaultRowCommitVersion } = file;
  const isBare =
    tags === undefined &&
    deletionVector === undefined &&
    baseRowId === undefined &&
    defaultRowCommitVersion === undefined &&
    clusteringProvider === undefined;
  return isBare
    ? undefined
    : stringifyJson({ tags, deletionVector, baseRowId, defaultRowCommitVersion, clusteringProvider });
}

function readExtra(text: string): Extra {
  const extra = parseJson(text) as Extra;
  return {
    ...extra,
    ...(extra.baseRowId === undefined ? {} : { baseRowId: BigInt(extra.baseRowId) }),
    ...(extra.defaultRowCommitVersion === undefined
      ? {}
      : { defaultRowCommitVersion: BigInt(extra.defaultRowCommitVersion) }),
    ...(extra.deletionVector === undefined
      ? {}
      : {
          deletionVector: {
            ...extra.deletionVector,
            cardinality: BigInt(extra.deletionVector.cardinality),
          },
        }),
  };
}
