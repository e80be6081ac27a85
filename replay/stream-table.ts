/** A table as a stream for programs: what it holds, then what each new version brings. */

import { isLabError, LabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import type { Action, Add } from "../delta/actions.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { type LakeRecord, type LakeWork, openLake } from "./lake.ts";
import { LAST_INDEX, type Place } from "./place.ts";
import type { ValueForm } from "./value.ts";

/**
 * Where a reader stands: within the rows of a whole version ("all"), or within those that a version added ("added"). `reached` is the last record read of
 * each partition in it. A plain value: keep it beside what was done with the records, and go on from it.
 */
export type TablePosition = {
  tableId: string;
  version: number;
  stage: "all" | "added";
  reached: ReadonlyMap<number, Place>;
};

export type TableBatch = {
  version: number;
  /** In Kafka's order within the version; may be empty. */
  records: LakeRecord[];
  /** Where a reader stands that has all of them. */
  position: TablePosition;
};

export type StreamTableOptions = {
  /**
   * - "start": all rows of the newest version, then what later ones add
   * - "now": what later versions add
   * - version: what this version and later ones added
   * - a position: what is behind it
   */
  from?: "start" | "now" | { version: number } | TablePosition;
  /** Goes on for ever, looking for new versions; false: ends with the version that is the newest at the start. */
  follow?: boolean;
  /** Of which topic; default: the one that all rows come from. */
  topic?: string;
  value?: ValueForm;
  /** What versions are that took rows out or changed them: the end with TABLE_REWRITTEN, or nothing, rows they added included. */
  rewrites?: "fail" | "skip";
  /** Told of each version that is skipped. */
  onSkip?: (version: number) => void;
  /** Pause between looks, in ms; default 500. */
  pollMs?: number;
  work: LakeWork;
  signal: AbortSignal;
};

/**
 * Records of a table as they are committed. Rewrites that change no rows (optimize) bring nothing. Each version is read in its own schema; columns that a file
 * lacks are null. Outages of the store are waited out. TABLE_REWRITTEN; VERSION_EXPIRED where the log was cleaned up before a version was read;
 * USAGE for a position in another table and for rows of several topics; ORIGIN_MISSING, DATA_FILE_MISSING.
 */
export async function* streamTable(
  table: Table,
  options: StreamTableOptions,
): AsyncGenerator<TableBatch, void, undefined> {
  const { follow = false, signal } = options;
  const first = await table.latest(signal);
  let position = startOf(options.from ?? "start", first);
  let { topic } = options;
  const read = async function* (snapshot: Snapshot, adds: Iterable<Add>): AsyncGenerator<TableBatch> {
    const { work, value } = options;
    const lake = await openLake({ table: snapshot, store: table.store, adds, topic, value, work, signal });
    try {
      requireOneTopic(lake.topics, topic, options.topic);
      if (lake.topic !== "") topic = lake.topic;
      for await (const records of lake.records(position.reached, signal)) {
        position = { ...position, reached: moved(position.reached, records) };
        if (records.length > 0) yield { version: position.version, records, position };
      }
    } finally {
      await lake.close();
    }
  };
  if (position.stage === "all") {
    const snapshot = await retry(() => table.at({ version: position.version }, signal), { signal });
    yield* read(snapshot, snapshot.files());
    position = behind(position);
    yield { version: snapshot.version, records: [], position };
  }
  for (;;) {
    const newest = follow ? await retry(() => table.latest(signal), { signal }) : first;
    while (position.version <= newest.version) {
      const { version } = position;
      const actions = await retry(() => actionsOf(table, version, signal), { signal });
      const adds = addedFiles(actions, options.rewrites ?? "fail", version);
      if (adds === "skip") options.onSkip?.(version);
      else if (adds.length > 0) {
        const snapshot = await retry(() => table.at({ version }, signal), { signal });
        yield* read(snapshot, adds);
      }
      position = behind(position);
      yield { version, records: [], position };
    }
    if (!follow) return;
    await sleep(options.pollMs ?? 500, signal);
  }
}

function startOf(from: NonNullable<StreamTableOptions["from"]>, newest: Snapshot): TablePosition {
  const tableId = newest.metadata.id;
  const nothing = { tableId, reached: new Map() };
  if (from === "start") return { ...nothing, version: newest.version, stage: "all" };
  if (from === "now") return { ...nothing, version: newest.version + 1, stage: "added" };
  if (!("stage" in from)) return { ...nothing, version: from.version, stage: "added" };
  if (from.tableId === tableId) return from;
  throw new LabError("USAGE", `the position is one in table ${from.tableId}, and this is table ${tableId}`, {
    hint: "the table was made anew, or it is another one: begin at its start",
    details: { tableId, positionIn: from.tableId },
  });
}

function requireOneTopic(
  found: readonly string[],
  known: string | undefined,
  asked: string | undefined,
): void {
  const other = found.find((one) => one !== known);
  if (asked !== undefined || known === undefined || other === undefined) return;
  throw new LabError("USAGE", `rows of another topic came: ${other}, after those of ${known}`, {
    hint: `name one of them: topic ${known}; offsets of different topics have no order`,
    details: { topics: [known, other] },
  });
}

const behind = ({ tableId, version }: TablePosition): TablePosition => ({
  ...{ tableId, version: version + 1, stage: "added" },
  reached: new Map(),
});

/** The places after some more records. */
export function moved(
  reached: ReadonlyMap<number, Place>,
  records: readonly LakeRecord[],
): Map<number, Place> {
  const next = new Map(reached);
  for (const { partition, generation, offset, index } of records)
    next.set(partition, { generation, offset, index });
  return next;
}

async function actionsOf(table: Table, version: number, signal: AbortSignal): Promise<Action[]> {
  try {
    return await table.commitActions(version, signal);
  } catch (error) {
    if (!isLabError(error, "VERSION_NOT_FOUND", "OBJECT_MISSING")) throw error;
    throw new LabError(
      "VERSION_EXPIRED",
      `the log no longer holds version ${version}, which was not read yet`,
      {
        hint: "rows are missing from here on: begin again at the start, and keep the log longer (delta.logRetentionDuration)",
        details: { version },
        cause: error,
      },
    );
  }
}

function addedFiles(actions: readonly Action[], rewrites: "fail" | "skip", version: number): Add[] | "skip" {
  const isRewrite = actions.some((action) => "remove" in action && action.remove.dataChange);
  if (!isRewrite)
    return actions.flatMap((action) => ("add" in action && action.add.dataChange ? [action.add] : []));
  if (rewrites === "skip") return "skip";
  const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
  throw new LabError(
    "TABLE_REWRITTEN",
    `version ${version} (${info?.operation ?? "unknown"}) took rows out or changed them`,
    {
      hint: 'read on without what it did (rewrites: "skip"), or begin again at the start',
      details: { version, operation: info?.operation },
    },
  );
}

/** The place behind everything up to an offset. */
export function placeAt(generation: number, offset: bigint): Place {
  return { generation, offset, index: LAST_INDEX };
}
