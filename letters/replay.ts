/**
 * Dead letters into the table: one commit that holds, or promises to routed tables, the rows of all chosen letters which are not there yet, and
 * raises a transaction that every replay raises, so that of two at once one decides again. Then the rows of routed tables, and the states of
 * letters; where that is not reached, the next replay or drop makes up for it.
 */

import { LabError } from "../core/errors.ts";
import { KEY_PROPERTY } from "../engine/hidden-rows.ts";
import { hasKafkaColumn } from "../ingest/schemas.ts";
import { type Chosen, choose, readChosen, timestampTypes } from "./choice.ts";
import { commitRows } from "./commit.ts";
import { type Desk, type DeskOptions, openDesk } from "./desk.ts";
import { type EncodedAll, type EncodeLetters, encodeLetters, removeStaged } from "./encode.ts";
import type { LetterFilter } from "./filter.ts";
import { recordOutcomes } from "./outcomes.ts";
import { type Placement, place, readGenerations, settledOffset } from "./placement.ts";
import { keepPromise, openRowTables, REPLAY_OPERATION } from "./promise.ts";
import type { LetterTables, Opened } from "./tables.ts";

export type ReplayOptions = DeskOptions & {
  /** Prefix of the txn ids. */
  app: string;
  filter: LetterFilter;
  encode: EncodeLetters;
  /** Only tells what would come of it. */
  isDryRun?: boolean;
  /** Raw value bytes that are encoded together; default 32 MiB. */
  batchBytes?: number;
  now?: () => number;
  /** Told when it is committed, and nothing after that is done. */
  onCommitted?: () => void;
  /** Letters that were encoded, and how many there are to be. */
  onProgress?: (done: number, total: number) => void;
};

export type ReplayResult = {
  /** The version of the table that holds or promises the rows; null where there was nothing to write, or with a dry run. */
  version: number | null;
  /** Letters whose rows this replay wrote, or would write, and how many rows they are. */
  replayed: number;
  rows: number;
  /** Whose rows were in the table already: their state is made up for. */
  present: number;
  /** Left out by the transform: dropped. */
  filtered: number;
  /** No rows this time either: they stay open. */
  bad: number;
  /** Not settled by the ingester yet: left alone. */
  pending: number;
  /** What is wrong with those that are bad. */
  reasons: { stage: string; code: string; letters: number; example: string }[];
  /** More than one where another replay, or a change of the table's schema, came first. */
  decisions: number;
};

const BATCH_BYTES = 32 << 20;
/** Each loses to another replay, or to a writer that changed the table's schema. */
const MOST_DECISIONS = 20;

/**
 * TABLE_NOT_FOUND where there is no table, UNSUPPORTED_FEATURE where its rows do not say which record they are of, COMMIT_CONFLICT after
 * many lost decisions; and what encoding throws.
 */
export async function replayLetters(
  tables: LetterTables,
  options: ReplayOptions,
  signal: AbortSignal,
): Promise<ReplayResult> {
  const desk = await openDesk(tables, options);
  try {
    let reason = "";
    for (let decisions = 1; decisions <= MOST_DECISIONS; decisions++) {
      const decided = await replayOnce(desk, tables, options, signal);
      if (decided.kind === "done") return { ...decided.result, decisions };
      reason = decided.reason;
    }
    throw new LabError(
      "COMMIT_CONFLICT",
      `other writers were first ${MOST_DECISIONS} times, last: ${reason}`,
      {
        hint: "try again when the other writer has finished",
      },
    );
  } finally {
    await desk.close();
  }
}

type Decided = { kind: "done"; result: Omit<ReplayResult, "decisions"> } | { kind: "lost"; reason: string };

async function replayOnce(
  desk: Desk,
  tables: LetterTables,
  options: ReplayOptions,
  signal: AbortSignal,
): Promise<Decided> {
  const looked = await desk.look(signal);
  const rows = requireRows(looked.rows);
  await choose(desk, options.filter, signal);
  const { app, isDryRun = false } = options;
  const chosen = await readChosen(desk, await openRowTables(tables, rows, { app, isDryRun }, signal), signal);
  const placements = await placeChosen(chosen, rows, app, signal);
  const encoded = await encodeChosen(desk, { chosen, placements, rows, options, signal });
  const result = { ...resultOf(chosen, placements, encoded), version: null };
  if (isDryRun) {
    await removeStaged(encoded.files);
    return { kind: "done", result };
  }
  const committed = await commitRows(tables, rows, encoded, app, signal);
  if (committed?.kind === "lost") return committed;
  const version = committed?.version ?? null;
  // What is committed is finished and told, also by one who is asked to stop.
  const finishing = committed ? new AbortController().signal : signal;
  if (committed) {
    options.onCommitted?.();
    const { promised } = committed;
    await keepPromise(tables.routed, committed.rows, { app, promised }, finishing);
  }
  const present = chosen.filter((one) => one.isInTable && one.state !== "replayed").map((one) => one.place);
  const outcomes = {
    replayed: [
      { version: rows.snapshot.version, places: present },
      { version: version ?? rows.snapshot.version, places: encoded.written },
    ],
    dropped: encoded.filtered,
    bad: encoded.bad,
  };
  const written = { nowMs: (options.now ?? Date.now)(), operation: REPLAY_OPERATION, signal: finishing };
  await recordOutcomes(desk, tables, looked.letters, outcomes, written);
  return { kind: "done", result: { ...result, version } };
}

function requireRows(rows: Opened | null): Opened {
  if (!rows)
    throw new LabError("TABLE_NOT_FOUND", "the table that the letters belong to does not exist", {
      hint: "the first message that is a row makes it: let the ingester run; if the table was removed, its letters have nowhere to go",
    });
  if (rows.snapshot.metadata.configuration[KEY_PROPERTY] !== undefined)
    throw new LabError(
      "UNSUPPORTED_FEATURE",
      `the table ${rows.table.store.root} has one row a key: a letter is a change, and no row to be added`,
      {
        hint: "send what was put right to the topic, where the stream takes it in its order; then drop the letter",
      },
    );
  if (hasKafkaColumn(rows.snapshot.schema)) return rows;
  throw new LabError(
    "UNSUPPORTED_FEATURE",
    `the table ${rows.table.store.root} has no column _kafka: nobody could tell whether a letter is in it already`,
    { hint: "ingest with --metadata on into a table of its own, and replay there" },
  );
}

async function placeChosen(
  chosen: readonly Chosen[],
  { table, snapshot }: Opened,
  app: string,
  signal: AbortSignal,
): Promise<Map<number, Placement>> {
  const topics = new Set(chosen.filter((one) => !one.isInTable).map((one) => one.topic));
  const known =
    topics.size > 0
      ? await readGenerations(table, { app, topics, signal })
      : { generation: () => 0, commits: [] };
  const settled = (topic: string, partition: number) => settledOffset(snapshot, { app, topic, partition });
  return place(chosen, { ...known, settled });
}

async function encodeChosen(
  desk: Desk,
  input: {
    chosen: readonly Chosen[];
    placements: ReadonlyMap<number, Placement>;
    rows: Opened;
    options: ReplayOptions;
    signal: AbortSignal;
  },
): Promise<EncodedAll> {
  const { chosen, placements, rows, options, signal } = input;
  const generations = new Map<number, number>();
  for (const { isWanted, place } of chosen) {
    const placement = placements.get(place);
    if (isWanted && placement?.kind === "write") generations.set(place, placement.generation);
  }
  const timestampType = await timestampTypes(desk, signal);
  return encodeLetters(
    desk,
    [...generations.keys()],
    {
      snapshot: rows.snapshot,
      encode: options.encode,
      missing: { generation: (place) => generations.get(place)!, timestampType },
      batchBytes: options.batchBytes ?? BATCH_BYTES,
      onProgress: (done) => options.onProgress?.(done, generations.size),
    },
    signal,
  );
}

function resultOf(
  chosen: readonly Chosen[],
  placements: ReadonlyMap<number, Placement>,
  { files, written, filtered, bad }: EncodedAll,
): Omit<ReplayResult, "version" | "decisions"> {
  const reasons = new Map<string, ReplayResult["reasons"][number]>();
  for (const { stage, code, message } of bad) {
    const one = reasons.get(`${stage} ${code}`) ?? { stage, code, letters: 0, example: message };
    reasons.set(`${stage} ${code}`, { ...one, letters: one.letters + 1 });
  }
  return {
    replayed: written.length,
    rows: files.reduce((sum, file) => sum + file.rows, 0),
    present: chosen.filter((one) => one.isInTable).length,
    filtered: filtered.length,
    bad: bad.length,
    pending: chosen.filter((one) => one.isWanted && placements.get(one.place)?.kind === "pending").length,
    reasons: [...reasons.values()].sort((a, b) => b.letters - a.letters),
  };
}
