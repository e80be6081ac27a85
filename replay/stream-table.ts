/** A table as a stream for programs: what it holds, then what each new version brings. */

import { isLabError, LabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import type { Action, Add } from "../delta/actions.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { changedFilesOf } from "./changed-files.ts";
import { type LakeOptions, type LakeRecord, type LakeWork, openLake } from "./lake.ts";
import { LAST_INDEX, type Place } from "./place.ts";
import type { ChangedParts } from "./rows.ts";
import type { ValueForm } from "./value.ts";

/**
 * Where a reader stands: within the rows of a whole version ("all"), or within what a version added or changed ("added"). `reached` is the last record
 * read of each partition in it. A plain value: keep it beside what was done with the records, and go on from it.
 */
export type TablePosition = {
  tableId: string;
  version: number;
  stage: "all" | "added";
  /** Of which kind of stream: `rewrites: "changes"`, or another. */
  of: "rows" | "changes";
  reached: ReadonlyMap<number, Place>;
};

export type TableBatch = {
  version: number;
  /** In Kafka's order within the version; may be empty. */
  records: LakeRecord[];
  /** Rows of the version that name no record, because others wrote them, and were left: told with its last batch, which has no records. */
  withoutOrigin: number;
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
  /**
   * What versions are that took rows out or changed them.
   * - "fail" (default): the end, with TABLE_REWRITTEN
   * - "skip": nothing, rows they added included
   * - "changes": told. Each record of the stream has its `change` then, and a value that is made of columns: a kept one says nothing of a change.
   */
  rewrites?: "fail" | "skip" | "changes";
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
 * USAGE for a position in another table, or in another kind of stream, and for rows of several topics; ORIGIN_MISSING; DATA_FILE_MISSING, also where changes are
 * asked for and a vacuum took the files that a version took out.
 */
export async function* streamTable(
  table: Table,
  options: StreamTableOptions,
): AsyncGenerator<TableBatch, void, undefined> {
  const { follow = false, signal } = options;
  const first = await table.latest(signal);
  const { rewrites = "fail" } = options;
  const of = rewrites === "changes" ? "changes" : "rows";
  let position = startOf(options.from ?? "start", first, of);
  let { topic } = options;
  let withoutOrigin = 0;
  const read = async function* (
    table_: LakeOptions["table"],
    adds: Iterable<Add>,
    changes?: ChangedParts,
  ): AsyncGenerator<TableBatch> {
    const { work, value } = options;
    const lake = await openLake({
      ...{ table: table_, store: table.store, adds, topic, value, changes, work, signal },
    });
    try {
      requireOneTopic(lake.topics, topic, options.topic);
      if (lake.topic !== "") topic = lake.topic;
      withoutOrigin = lake.withoutOrigin;
      for await (const records of lake.records(position.reached, signal)) {
        position = { ...position, reached: moved(position.reached, records) };
        if (records.length > 0) yield { version: position.version, records, withoutOrigin: 0, position };
      }
    } finally {
      await lake.close();
    }
  };
  const ended = (): TableBatch => {
    const { version } = position;
    position = behind(position);
    const batch = { version, records: [], withoutOrigin, position };
    withoutOrigin = 0;
    return batch;
  };
  if (position.stage === "all") {
    const snapshot = await retry(() => table.at({ version: position.version }, signal), { signal });
    yield* read(snapshot, snapshot.files(), of === "changes" ? { kind: "brought" } : undefined);
    yield ended();
  }
  for (;;) {
    const newest = follow ? await retry(() => table.latest(signal), { signal }) : first;
    while (position.version <= newest.version) {
      const { version } = position;
      const actions = await retry(() => actionsOf(table, version, signal), { signal });
      if (changesRows(actions) && mayRead(actions, version, options)) {
        const snapshot = await retry(() => table.at({ version }, signal), { signal });
        if (of === "rows") yield* read(snapshot, addedFiles(actions));
        else {
          const changed = await retry(() => changedFilesOf(table, snapshot, actions, signal), { signal });
          yield* read(changed.table, changed.adds, changed.parts);
        }
      }
      yield ended();
    }
    if (!follow) return;
    await sleep(options.pollMs ?? 500, signal);
  }
}

function startOf(
  from: NonNullable<StreamTableOptions["from"]>,
  newest: Snapshot,
  of: TablePosition["of"],
): TablePosition {
  const tableId = newest.metadata.id;
  const nothing = { tableId, of, reached: new Map() };
  if (from === "start") return { ...nothing, version: newest.version, stage: "all" };
  if (from === "now") return { ...nothing, version: newest.version + 1, stage: "added" };
  if (!("stage" in from)) return { ...nothing, version: from.version, stage: "added" };
  if (from.tableId === tableId && (from.of === of || from.reached.size === 0)) return { ...from, of };
  if (from.tableId === tableId)
    throw new LabError("USAGE", `the position is one in a stream of ${from.of}, and this is one of ${of}`, {
      hint: 'go on as it began, with rewrites: "changes" or without, to the end of the version; or begin again',
      details: { of, positionOf: from.of },
    });
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

const behind = ({ tableId, of, version }: TablePosition): TablePosition => ({
  ...{ tableId, of, version: version + 1, stage: "added" },
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

function changesRows(actions: readonly Action[]): boolean {
  return actions.some(
    (action) =>
      "cdc" in action ||
      ("add" in action && action.add.dataChange) ||
      ("remove" in action && action.remove.dataChange),
  );
}

/** Whether the version is one that the stream tells; TABLE_REWRITTEN where it must. */
function mayRead(
  actions: readonly Action[],
  version: number,
  { rewrites = "fail", onSkip }: StreamTableOptions,
): boolean {
  const isRewrite = actions.some((action) => "remove" in action && action.remove.dataChange);
  if (!isRewrite || rewrites === "changes") return true;
  if (rewrites === "skip") {
    onSkip?.(version);
    return false;
  }
  const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
  throw new LabError(
    "TABLE_REWRITTEN",
    `version ${version} (${info?.operation ?? "unknown"}) took rows out or changed them`,
    {
      hint: 'ask for the changes (rewrites: "changes"), read on without what it did (rewrites: "skip"), or begin again at the start',
      details: { version, operation: info?.operation },
    },
  );
}

function addedFiles(actions: readonly Action[]): Add[] {
  return actions.flatMap((action) => ("add" in action && action.add.dataChange ? [action.add] : []));
}

/** The place behind everything up to an offset. */
export function placeAt(generation: number, offset: bigint): Place {
  return { generation, offset, index: LAST_INDEX };
}
