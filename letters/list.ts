/** What letters there are, how many of which kind, and one of them with its content. */

import type { Desk } from "./desk.ts";
import { conditionOf, type LetterFilter, type LetterState, stateCondition } from "./filter.ts";

export type LetterLine = {
  topic: string;
  partition: number;
  offset: bigint;
  /** Of the record, in ms; null where no column can hold it. */
  timestampMs: number | null;
  stage: string;
  code: string;
  message: string;
  attempt: number;
  /** In ms: of the first and of the newest line of the record. */
  firstAtMs: number;
  lastAtMs: number;
  state: LetterState;
  /** The table's version with its rows, where it is replayed. */
  version: bigint | null;
  /** In ms: when its state was written; null while it is open. */
  stateAtMs: number | null;
};

export type LetterContent = LetterLine & {
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: readonly (readonly [name: string, value: Uint8Array | null])[];
};

/** `letters` of a kind. */
export type LetterKind = { topic: string; stage: string; code: string; state: LetterState; letters: bigint };

const COLUMNS = `r.topic, r."partition", r."offset", epoch_ms(r."timestamp") AS ms, r.stage, r.error_code, r.error_message, r.attempt,
  epoch_ms(r.first_at) AS first_ms, epoch_ms(r.ingested_at) AS last_ms, r.state, r.version, epoch_ms(r."at") AS state_ms`;
const ORDER = `topic, "partition", "offset", first_at`;

/** Letters by topic, partition and offset, and how many there are without the filter's limit. */
export async function listLetters(
  desk: Desk,
  filter: LetterFilter,
  signal: AbortSignal,
): Promise<{ letters: LetterLine[]; total: bigint }> {
  await desk.look(signal);
  const where = `${conditionOf(filter)} AND ${stateCondition(filter)}`;
  const limit = filter.limit === undefined ? "" : `LIMIT ${filter.limit}`;
  const [counted] = await desk.rows(`SELECT count(*) AS total FROM records WHERE ${where}`, { signal });
  const rows = await desk.rows(
    `SELECT ${COLUMNS} FROM records AS r WHERE ${where} ORDER BY ${ORDER} ${limit}`,
    { signal },
  );
  return { letters: rows.map(lineOf), total: counted!.total as bigint };
}

/** How many letters of each kind, most first. */
export async function countLetters(
  desk: Desk,
  filter: LetterFilter,
  signal: AbortSignal,
): Promise<LetterKind[]> {
  await desk.look(signal);
  const rows = await desk.rows(
    `SELECT topic, stage, error_code AS code, state, count(*) AS letters FROM records
     WHERE ${conditionOf(filter)} AND ${stateCondition(filter)} GROUP BY ALL ORDER BY letters DESC, topic, stage, code, state`,
    { signal },
  );
  return rows as LetterKind[];
}

/** The letters at an offset with what they hold: more than one where partitions of several topics, or of one made anew, have it. */
export async function showLetters(
  desk: Desk,
  at: { topic?: string; partition: number; offset: bigint },
  signal: AbortSignal,
): Promise<LetterContent[]> {
  await desk.look(signal);
  const filter: LetterFilter = {
    offsets: [{ partition: at.partition, first: at.offset, last: at.offset }],
    ...(at.topic === undefined ? {} : { topics: [at.topic] }),
  };
  const rows = await desk.rows(
    `SELECT ${COLUMNS}, l."key", l."value", l.headers FROM (FROM records WHERE ${conditionOf(filter)}) AS r
     JOIN lines AS l ON l."lab file" = r.file AND l."lab row" = r."row" ORDER BY ${ORDER}`,
    { signal },
  );
  return rows.map((row) => ({
    ...lineOf(row),
    key: row.key as Uint8Array | null,
    value: row.value as Uint8Array | null,
    headers: ((row.headers ?? []) as { key: string; value: Uint8Array | null }[]).map(
      ({ key, value }) => [key, value] as const,
    ),
  }));
}

function lineOf(row: Awaited<ReturnType<Desk["rows"]>>[number]): LetterLine {
  const number = (value: unknown) => (value === null ? null : Number(value));
  return {
    topic: String(row.topic),
    partition: Number(row.partition),
    offset: row.offset as bigint,
    timestampMs: number(row.ms),
    stage: String(row.stage),
    code: String(row.error_code),
    message: String(row.error_message),
    attempt: Number(row.attempt),
    firstAtMs: Number(row.first_ms),
    lastAtMs: Number(row.last_ms),
    state: row.state as LetterState,
    version: row.version as bigint | null,
    stateAtMs: number(row.state_ms),
  };
}
