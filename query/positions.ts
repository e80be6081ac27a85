/** Which Kafka records the rows of a table come from, file by file: files never change, so each is read once. */

import { isLabError } from "../core/errors.ts";
import type { Action, Add } from "../delta/actions.ts";
import { fileKey } from "../delta/file-key.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { KEY_PROPERTY } from "../engine/hidden-rows.ts";
import { offsetsOf } from "../engine/lab-info.ts";
import { stream } from "../engine/result.ts";
import { FILE_PLACE } from "../engine/scan.ts";
import type { Catalog } from "./catalog.ts";
import { momentText } from "./dates.ts";
import { type PlacedKind, type PlacesSql, placesSql } from "./places-sql.ts";
import { openRelations, type Reading } from "./relations.ts";

/**
 * Neighbouring offsets, both ends included, of rows alike: of one `generation`, and with one `mark` (index of the row within its record,
 * attempt of a letter, state of a letter). A record that is there twice with one mark is in two of them.
 */
export type PlacedRange = {
  topic: string;
  partition: number;
  generation: number;
  mark: string;
  first: bigint;
  last: bigint;
};

/** What the rows of a set of files come from; `nameless` rows do not say. */
export type Placed = { ranges: PlacedRange[]; nameless: bigint };

/** A commit that the ingester did not only append with. `removed` and `added`: null where a file of them is gone. */
export type DataChange = { removed: PlacedRange[] | null; added: PlacedRange[] | null };

export type CommitNote = {
  version: number;
  timestamp: string;
  operation: string;
  /** Who wrote it, in its own words. */
  engine: string | null;
  generation: number;
  /** Offsets that it settled, and how many of them are no rows: a transform left them out, or they were merged (`isMerged`). */
  settled: { topic: string; partition: number; first: bigint; last: bigint; skipped: bigint }[];
  change: DataChange | null;
};

export type TablePositions = Placed & {
  version: number;
  /** Another one after the table was made anew. */
  id: string;
  /** Changes are merged into the table: no row is of one record, and only commits tell of them. */
  isMerged: boolean;
  /** Transactions of the version: who settled what. */
  txns: ReadonlyMap<string, bigint>;
  /** Oldest first: versions after the one asked for, as far as the log still has them. */
  commits: CommitNote[];
};

export type RecordPlace = { topic: string; partition: number; offset: bigint };

export type RecordOrigin = {
  /** Null where the history that is left begins later, or says nothing. */
  version: number | null;
  timestamp: string | null;
  operation: string | null;
  /** Files of that version with rows of the record; none where they are gone, or the record became a letter or nothing. */
  broughtBy: string[];
  /** Files of the newest version with rows of it. */
  heldBy: string[];
};

export type PositionReader = {
  /**
   * Of the newest version; null where there is no such table, or none whose rows say where they are from. `after`: the last commit the
   * caller knows, -1 for none. With `addsToo`, commits that only append tell what they added.
   */
  read(
    name: string,
    asked: { kind: PlacedKind; after: number; addsToo: boolean },
    signal: AbortSignal,
  ): Promise<TablePositions | null>;
  /**
   * The commit that brought the rows of a record, and the files that hold them, then and now. Null where no version says that it took the
   * record from Kafka, and no file holds a row of it.
   */
  find(name: string, record: RecordPlace, signal: AbortSignal): Promise<RecordOrigin | null>;
  /** Names of the tables that rows of this one are routed to. */
  routed(name: string, signal: AbortSignal): Promise<string[]>;
};

/** What one statement holds in memory while it looks for neighbours. */
const FILES_AT_ONCE = 256;

export function openPositions(reading: Reading, catalog: Catalog): PositionReader {
  const kept = new Map<string, { id: string; files: Map<string, Placed> }>();

  const holds = (record: RecordPlace, placed: Placed | undefined) =>
    (placed?.ranges ?? []).some(
      ({ topic, partition, first, last }) =>
        topic === record.topic &&
        partition === record.partition &&
        first <= record.offset &&
        record.offset <= last,
    );

  return {
    async find(name, record, signal) {
      const { table } = await catalog.open(name, signal);
      const snapshot = await table.latest(signal);
      const sql = placesSql(snapshot.schema, "rows");
      if (sql === null) return null;
      const known = kept.get(name);
      const files = known?.id === snapshot.metadata.id ? known.files : new Map<string, Placed>();
      const among = async (adds: readonly Add[]) => {
        await readFiles(reading, { table, snapshot, sql, files }, adds, signal);
        return adds.filter((add) => holds(record, files.get(keyOf(table, add)))).map(({ path }) => path);
      };
      const heldBy = await among([...snapshot.files()]);
      for await (const { version, timestampMs, operation, commitInfo } of table.history({ signal })) {
        const isOf = offsetsOf(commitInfo).some(
          ({ topic, partition, first, last }) =>
            topic === record.topic &&
            partition === record.partition &&
            BigInt(first) <= record.offset &&
            record.offset <= BigInt(last),
        );
        if (!isOf) continue;
        const actions = await table.commitActions(version, signal);
        const adds = actions.flatMap((action) => ("add" in action ? [action.add] : []));
        const broughtBy = await among(adds).catch((error: unknown) => {
          if (isLabError(error, "DATA_FILE_MISSING")) return [];
          throw error;
        });
        return { version, timestamp: momentText(timestampMs), operation, broughtBy, heldBy };
      }
      return heldBy.length === 0
        ? null
        : { version: null, timestamp: null, operation: null, broughtBy: [], heldBy };
    },
    async routed(name, signal) {
      const names = await catalog.names(signal);
      return names.filter((one) => one.startsWith(`${name}__`) && !one.includes("__dead_letters"));
    },
    async read(name, { kind, after, addsToo }, signal) {
      const opened = await catalog.find(name, signal);
      if (opened === undefined) return null;
      const { table } = opened;
      const snapshot = await table.latest(signal);
      const sql = placesSql(snapshot.schema, kind);
      const { id, configuration } = snapshot.metadata;
      const txns = new Map([...snapshot.txns().values()].map(({ appId, version }) => [appId, version]));
      if (sql === null) {
        if (kind !== "rows" || configuration[KEY_PROPERTY] === undefined) return null;
        const asked = { after, to: snapshot.version, addsToo: false, isMerged: true, look: noPlaces };
        const commits = await notesAfter(table, asked, signal);
        return { ...(await noPlaces()), version: snapshot.version, id, isMerged: true, txns, commits };
      }
      let known = kept.get(name);
      if (known?.id !== id) known = { id, files: new Map() };
      kept.set(name, known);
      const { files } = known;
      const look = (adds: readonly Add[]) =>
        readFiles(reading, { table, snapshot, sql, files }, adds, signal);

      const live = [...snapshot.files()];
      await look(live);
      const commits = await notesAfter(
        table,
        { after, to: snapshot.version, addsToo, isMerged: false, look },
        signal,
      );
      const all = gather(live.map((add) => files.get(keyOf(table, add))!));
      forget(
        files,
        live.map((add) => keyOf(table, add)),
      );
      return { ...all, version: snapshot.version, id, isMerged: false, txns, commits };
    },
  };
}

const noPlaces = async (): Promise<Placed> => ({ ranges: [], nameless: 0n });

/** Files that an optimize or a delete took are kept for a while: a restore brings them back, and says what it took. */
const KEPT_BEYOND = 2_000;

function forget(files: Map<string, Placed>, live: readonly string[]): void {
  if (files.size <= live.length + KEPT_BEYOND) return;
  const needed = new Set(live);
  for (const key of files.keys()) {
    if (files.size <= live.length + KEPT_BEYOND / 2) return;
    if (!needed.has(key)) files.delete(key);
  }
}

const keyOf = (table: Table, add: Pick<Add, "path" | "deletionVector">) =>
  fileKey(table.store.root, add.path, add.deletionVector);

function gather(some: readonly Placed[]): Placed {
  return {
    ranges: some.flatMap(({ ranges }) => ranges),
    nameless: some.reduce((sum, { nameless }) => sum + nameless, 0n),
  };
}

type Look = { table: Table; snapshot: Snapshot; sql: PlacesSql; files: Map<string, Placed> };

/** Reads those of the files that are not known yet. DATA_FILE_MISSING. */
async function readFiles(
  reading: Reading,
  { table, snapshot, sql, files }: Look,
  adds: readonly Add[],
  signal: AbortSignal,
): Promise<Placed> {
  const unknown = adds.filter((add) => !files.has(keyOf(table, add)));
  for (let start = 0; start < unknown.length; start += FILES_AT_ONCE) {
    const some = unknown.slice(start, start + FILES_AT_ONCE);
    const source = { view: "files", table: snapshot, store: table.store, adds: some, withPlaces: true };
    const relations = await openRelations(reading, [source], { signal });
    try {
      const found: Placed[] = some.map(() => ({ ranges: [], nameless: 0n }));
      const { chunks } = await stream(relations.engine, sql("files", FILE_PLACE), signal);
      for await (const chunk of chunks)
        for (const [file, topic, partition, generation, mark, first, last, nameless] of chunk) {
          const placed = found[Number(file)]!;
          if (topic === null) placed.nameless += BigInt(nameless as bigint);
          else
            placed.ranges.push({
              topic: String(topic),
              partition: Number(partition),
              generation: Number(generation),
              mark: String(mark),
              first: BigInt(first as bigint),
              last: BigInt(last as bigint),
            });
        }
      for (const [n, add] of some.entries()) files.set(keyOf(table, add), found[n]!);
    } catch (error) {
      signal.throwIfAborted();
      throw await relations.explain(error);
    } finally {
      await relations.close();
    }
  }
  return gather(adds.map((add) => files.get(keyOf(table, add))!));
}

async function notesAfter(
  table: Table,
  asked: {
    after: number;
    to: number;
    addsToo: boolean;
    isMerged: boolean;
    look: (adds: readonly Add[]) => Promise<Placed>;
  },
  signal: AbortSignal,
): Promise<CommitNote[]> {
  const notes: CommitNote[] = [];
  if (asked.after >= asked.to) return notes;
  for await (const entry of table.history({ after: asked.after, signal })) {
    const { version, operation, timestampMs, commitInfo } = entry;
    // What came after the snapshot is told with the next one.
    if (version > asked.to) continue;
    const lab = commitInfo?.lab as { v?: unknown; generation?: unknown; partitions?: unknown } | undefined;
    const isOurs = lab?.v === 1 && Array.isArray(lab.partitions);
    const engine = commitInfo?.engineInfo;
    const mayChange = !asked.isMerged && (entry.filesRemoved > 0 || (asked.addsToo && entry.filesAdded > 0));
    notes.push({
      version,
      timestamp: momentText(timestampMs),
      operation,
      engine: typeof engine === "string" ? engine : null,
      generation: isOurs ? Number(lab.generation ?? 0) : 0,
      settled: isOurs
        ? (lab.partitions as Record<string, unknown>[]).map((part) => settledOf(part, asked.isMerged))
        : [],
      change: mayChange ? await changeOf(await table.commitActions(version, signal), asked.look) : null,
    });
  }
  return notes.reverse();
}

function settledOf(part: Record<string, unknown>, isMerged: boolean): CommitNote["settled"][number] {
  const countOf = (name: string) => BigInt(String(part[name] ?? 0));
  return {
    topic: String(part.topic),
    partition: Number(part.partition),
    first: BigInt(String(part.first)),
    last: BigInt(String(part.last)),
    skipped: countOf("skipped") + (isMerged ? countOf("rows") : 0n),
  };
}

/** Null where the commit only wrote rows anew. */
async function changeOf(
  actions: readonly Action[],
  look: (adds: readonly Add[]) => Promise<Placed>,
): Promise<DataChange | null> {
  const added = actions.flatMap((action) => ("add" in action && action.add.dataChange ? [action.add] : []));
  const removed = actions.flatMap((action) =>
    "remove" in action && action.remove.dataChange
      ? [
          {
            path: action.remove.path,
            partitionValues: action.remove.partitionValues ?? {},
            size: action.remove.size ?? 0,
            modificationTime: 0,
            dataChange: true,
            ...(action.remove.deletionVector ? { deletionVector: action.remove.deletionVector } : {}),
          } satisfies Add,
        ]
      : [],
  );
  if (added.length + removed.length === 0) return null;
  const ranges = (adds: readonly Add[]) =>
    look(adds).then(
      (placed) => placed.ranges,
      (error: unknown) => {
        if (isLabError(error, "DATA_FILE_MISSING")) return null;
        throw error;
      },
    );
  return { removed: await ranges(removed), added: await ranges(added) };
}
