/** Writers for property tests: what they do to a table, and a model of what the table must hold for it. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Add, PartitionValues } from "./actions.ts";
import { file, signal } from "./table.fixture.ts";
import type { CommitRequest, Snapshot, Table } from "./table.ts";
import { tombstoneOf } from "./tombstone.ts";

/** Numbers in [0, 1) from a seed. */
export function dice(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** Tries again where opening or reading, which callers retry themselves, meets an outage. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LabError && error.retryable)) throw error;
    }
  }
}

export type Row = { name: string; partition: string; isOdd: boolean };
export type Rows = ReadonlyMap<string, Row>;

/** What a commit does to the rows, given those before it and those that blind appends brought since it looked. */
export type Meaning = { isBlind: boolean; added: readonly Row[]; after(before: Rows, since: Rows): Rows };

export type Decision = { request: Omit<CommitRequest, "readSnapshot">; meaning: Meaning };

/** Rows of each data file ever written: what a store of Parquet files would hold. */
export type Contents = Map<string, readonly Row[]>;

const PARTITIONS = ["x", "y"];

/** The rows of a version, each once. Throws where a file holds what another holds as well. */
export function rowsOf(snapshot: Snapshot, contents: Contents): Rows {
  const rows = new Map<string, Row>();
  for (const add of snapshot.files())
    for (const row of contents.get(add.path)!) {
      if (rows.has(row.name)) throw new Error(`row ${row.name} twice in version ${snapshot.version}`);
      rows.set(row.name, row);
    }
  return rows;
}

const union = (...all: Rows[]): Rows => new Map(all.flatMap((rows) => [...rows]));
const filtered = (rows: Rows, keep: (row: Row) => boolean): Rows =>
  new Map([...rows].filter(([, row]) => keep(row)));

/** What a writer of `name` may do; null where there is nothing to be done. `expected` knows the rows of earlier versions. */
export function writerOf(
  name: string,
  contents: Contents,
  random: () => number,
  rowsAt: (version: number) => Rows,
) {
  let serial = 0;
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const filesOf = (snapshot: Snapshot, partition: string) => [
    ...snapshot.filesWhere((values) => values.p === partition),
  ];
  const write = (partition: string, rows: readonly Row[], dataChange = true): Add => {
    const add = file(`${name}-${serial++}`, { partitionValues: { p: partition }, dataChange });
    contents.set(add.path, rows);
    return add;
  };
  const fresh = (partition: string): Row[] =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, (_, n) => ({
      name: `${name}-${serial++}-${n}`,
      partition,
      isOdd: random() < 0.5,
    }));
  const within = (partition: string) => (values: PartitionValues) => values.p === partition;
  const removed = (add: Add, dataChange = true) => tombstoneOf(add, { nowMs: Date.now(), dataChange });
  const append = (over: Partial<CommitRequest> = {}): Decision => {
    const partition = pick(PARTITIONS);
    const added = fresh(partition);
    const meaning: Meaning = {
      isBlind: true,
      added,
      after: (before) => union(before, new Map(added.map((row) => [row.name, row]))),
    };
    return { request: { operation: "WRITE", adds: [write(partition, added)], ...over }, meaning };
  };
  /** Rows that were there when it looked go where `isGone`; what blind appends brought since stays. */
  const without = (isGone: (row: Row) => boolean): Meaning => ({
    isBlind: false,
    added: [],
    after: (before, since) => filtered(before, (row) => !isGone(row) || since.has(row.name)),
  });

  const deeds: Record<string, (snapshot: Snapshot, table: Table) => Promise<Decision | null>> = {
    append: async () => append(),
    async stream(snapshot) {
      const appId = pick(["app-0", "app-1"]);
      return append({ txns: [{ appId, version: (snapshot.txn(appId) ?? 0n) + 1n }] });
    },
    async deletePartition(snapshot) {
      const partition = pick(PARTITIONS);
      const files = filesOf(snapshot, partition);
      const reads = { partitions: within(partition), files: new Set(files.map((add) => add.path)) };
      const removes = files.map((add) => removed(add));
      return {
        request: { operation: "DELETE", removes, reads },
        meaning: without((row) => row.partition === partition),
      };
    },
    async deleteOdd(snapshot) {
      const partition = pick(PARTITIONS);
      const looked = filesOf(snapshot, partition).filter((add) =>
        contents.get(add.path)!.some((row) => row.isOdd),
      );
      if (looked.length === 0) return null;
      const kept = looked.flatMap((add) => contents.get(add.path)!).filter((row) => !row.isOdd);
      const reads = { partitions: within(partition), files: new Set(looked.map((add) => add.path)) };
      const adds = kept.length > 0 ? [write(partition, kept)] : [];
      return {
        request: { operation: "DELETE", removes: looked.map((add) => removed(add)), adds, reads },
        meaning: without((row) => row.partition === partition && row.isOdd),
      };
    },
    async overwrite(snapshot) {
      const partition = pick(PARTITIONS);
      const added = fresh(partition);
      const adds = [write(partition, added)];
      const removes = [...snapshot.files()].map((add) => removed(add));
      return {
        request: { operation: "WRITE", removes, adds, reads: "table" },
        meaning: {
          isBlind: false,
          added,
          after: (_, since) => union(since, new Map(added.map((row) => [row.name, row]))),
        },
      };
    },
    async compact(snapshot) {
      const partition = pick(PARTITIONS);
      const files = filesOf(snapshot, partition).filter(() => random() < 0.6);
      if (files.length < 2) return null;
      const adds = [
        write(
          partition,
          files.flatMap((add) => contents.get(add.path)!),
          false,
        ),
      ];
      const removes = files.map((add) => removed(add, false));
      return {
        request: { operation: "OPTIMIZE", removes, adds },
        meaning: { isBlind: false, added: [], after: (before) => before },
      };
    },
    async setProperty(snapshot) {
      const configuration = { ...snapshot.metadata.configuration, [`my.${name}`]: String(serial++) };
      return {
        request: { operation: "SET TBLPROPERTIES", metadata: { ...snapshot.metadata, configuration } },
        meaning: { isBlind: false, added: [], after: (before) => before },
      };
    },
    async restore(snapshot, table) {
      const version = Math.floor(random() * (snapshot.version + 1));
      // Versions are cleaned up beside this.
      const old = await table.at({ version }, signal).catch((error: unknown) => {
        if (isLabError(error, "VERSION_NOT_FOUND", "CORRUPT_LOG")) return null;
        throw error;
      });
      if (!old) return null;
      const [then, now] = [old, snapshot].map(
        (one) => new Map([...one.files()].map((add) => [add.path, add])),
      );
      const adds = [...then!.values()]
        .filter((add) => !now!.has(add.path))
        .map((add) => ({ ...add, dataChange: true }));
      const removes = [...now!.values()].filter((add) => !then!.has(add.path)).map((add) => removed(add));
      return {
        request: { operation: "RESTORE", removes, adds, reads: "table" },
        meaning: { isBlind: false, added: [], after: (_, since) => union(rowsAt(version), since) },
      };
    },
  };
  const names = ["append", "append", "stream", "stream", ...Object.keys(deeds).slice(2)];
  return (snapshot: Snapshot, table: Table) => deeds[pick(names)]!(snapshot, table);
}
