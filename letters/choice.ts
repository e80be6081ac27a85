/** The letters of one decision: chosen by a filter, held against the rows that are in the table. */

import type { Add } from "../delta/actions.ts";
import { parseJson } from "../delta/json.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { hasKafkaColumn } from "../ingest/schemas.ts";
import type { Desk } from "./desk.ts";
import { conditionOf, type LetterFilter, type LetterState, stateCondition } from "./filter.ts";
import type { Opened } from "./tables.ts";

/** A chosen record. */
export type Chosen = {
  /** Its number in table `chosen`. */
  place: number;
  topic: string;
  partition: number;
  offset: bigint;
  /** Null where no column can hold it. */
  timestampMs: number | null;
  state: LetterState;
  /** False: of a state that was not asked for; it is looked at only because a row of it may be in the table all the same. */
  isWanted: boolean;
  /** A row of this record is in the table. */
  isInTable: boolean;
  /** Generations of all rows at its offset. */
  generations: readonly number[];
};

/**
 * (Re)makes table `chosen` from `records`: what the filter asks for, and dropped letters beside it, as a replay that was killed may
 * have written rows of them just before they were dropped.
 */
export async function choose(desk: Desk, filter: LetterFilter, signal: AbortSignal): Promise<void> {
  const order = `topic, "partition", "offset", first_at`;
  const limit = filter.limit === undefined ? "" : `LIMIT ${filter.limit}`;
  await desk.run(
    `CREATE OR REPLACE TEMP TABLE chosen AS
     WITH matching AS (SELECT *, ${stateCondition(filter)} AS wanted FROM records WHERE ${conditionOf(filter)}),
       asked AS (SELECT * FROM matching WHERE wanted ORDER BY ${order} ${limit})
     SELECT CAST(row_number() OVER (ORDER BY ${order}) AS INTEGER) - 1 AS place, *
     FROM (FROM asked UNION ALL FROM matching WHERE NOT wanted AND state = 'dropped')`,
    { signal },
  );
}

/** Reads `chosen`, and of the rows of these tables those that may be of its records; a table without `_kafka` has none. */
export async function readChosen(
  desk: Desk,
  tables: readonly Opened[],
  signal: AbortSignal,
): Promise<Chosen[]> {
  if (await viewWritten(desk, tables, signal)) {
    await desk.run(
      `CREATE OR REPLACE TEMP TABLE present AS
       SELECT c.place, bool_or(w."timestamp" = c."timestamp") AS is_in, list(DISTINCT w.generation) AS generations
       FROM chosen AS c JOIN (
         SELECT _kafka.topic AS topic, _kafka."partition" AS "partition", _kafka."offset" AS "offset",
           _kafka."timestamp" AS "timestamp", _kafka.generation AS generation FROM written) AS w
         ON w.topic = c.topic AND w."partition" = c."partition" AND w."offset" = c."offset"
       GROUP BY c.place`,
      { signal },
    );
  } else {
    await desk.run(
      "CREATE OR REPLACE TEMP TABLE present (place INTEGER, is_in BOOLEAN, generations INTEGER[])",
      { signal },
    );
  }
  const read = `SELECT c.place, c.topic, c."partition", c."offset", epoch_ms(c."timestamp"), c.state, c.wanted,
      coalesce(p.is_in, false), p.generations
    FROM chosen AS c LEFT JOIN present AS p ON p.place = c.place ORDER BY c.place`;
  const all: Chosen[] = [];
  for await (const row of desk.stream(read, signal)) {
    const [place, topic, partition, offset, ms, state, isWanted, isInTable, generations] = row;
    all.push({
      place: place as number,
      topic: topic as string,
      partition: partition as number,
      offset: offset as bigint,
      timestampMs: ms === null ? null : Number(ms),
      state: state as LetterState,
      isWanted: isWanted as boolean,
      isInTable: isInTable as boolean,
      generations: ((generations ?? []) as (number | null)[]).map((one) => one ?? 0),
    });
  }
  return all;
}

/** Makes view `written`, of `_kafka` alone, over the rows that may be of chosen records; false where there are none. */
async function viewWritten(desk: Desk, tables: readonly Opened[], signal: AbortSignal): Promise<boolean> {
  await desk.run("DROP VIEW IF EXISTS written", { signal });
  const views: string[] = [];
  for (const opened of tables) {
    if (!hasKafkaColumn(opened.snapshot.schema)) continue;
    const adds = await filesOfChosen(desk, opened, signal);
    if (adds.length === 0) continue;
    const name = `written_${views.length}`;
    await desk.view(name, opened, adds, signal);
    views.push(name);
  }
  // By name: tables that keep the values' bytes have a field more.
  const place = ["topic", "partition", "offset", "timestamp", "timestamp_type", "generation"]
    .map((field) => `"${field}" := _kafka."${field}"`)
    .join(", ");
  const selects = views.map((name) => `SELECT struct_pack(${place}) AS _kafka FROM ${name}`);
  if (views.length > 0) await desk.run(`CREATE VIEW written AS ${selects.join(" UNION ALL ")}`, { signal });
  return views.length > 0;
}

/** How the topic's records got their times, by partition, as the rows beside them have it; `readChosen` was asked before. */
export async function timestampTypes(
  desk: Desk,
  signal: AbortSignal,
): Promise<(topic: string, partition: number) => "create" | "append"> {
  const [view] = await desk.rows("SELECT 1 AS found FROM duckdb_views() WHERE view_name = 'written'", {
    signal,
  });
  const rows = view
    ? await desk.rows(
        `SELECT _kafka.topic AS topic, _kafka."partition" AS p, any_value(_kafka.timestamp_type) AS type FROM written GROUP BY ALL`,
        { signal },
      )
    : [];
  const appended = new Set(rows.filter((row) => row.type === "append").map((row) => `${row.topic}-${row.p}`));
  return (topic, partition) => (appended.has(`${topic}-${partition}`) ? "append" : "create");
}

/** The files of a table that can hold one of the chosen records, by their statistics. */
async function filesOfChosen(desk: Desk, { snapshot }: Opened, signal: AbortSignal): Promise<Add[]> {
  const byPartition = new Map<number, bigint[]>();
  const offsets = `SELECT DISTINCT "partition", "offset" FROM chosen ORDER BY 1, 2`;
  for await (const [partition, offset] of desk.stream(offsets, signal)) {
    const list = byPartition.get(partition as number) ?? [];
    list.push(offset as bigint);
    byPartition.set(partition as number, list);
  }
  return [
    ...snapshot.filesWhere(
      () => true,
      (stats) => mayHold(stats, byPartition),
    ),
  ];
}

/** `chosen`: offsets in ascending order. Statistics that say nothing rule nothing out. */
export function mayHold(stats: string | undefined, chosen: ReadonlyMap<number, readonly bigint[]>): boolean {
  const bounds = boundsOf(stats);
  for (const [partition, offsets] of chosen) {
    if (bounds.partition && (partition < bounds.partition[0] || partition > bounds.partition[1])) continue;
    if (!bounds.offset) return offsets.length > 0;
    const [first, last] = bounds.offset;
    if (firstFrom(offsets, first) <= last) return true;
  }
  return false;
}

/** The first of ascending offsets that is not below `first`; infinity where there is none. */
function firstFrom(offsets: readonly bigint[], first: number | bigint): bigint | number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! < first) low = middle + 1;
    else high = middle;
  }
  return offsets[low] ?? Number.POSITIVE_INFINITY;
}

type Bounds = [first: number | bigint, last: number | bigint] | undefined;

function boundsOf(stats: string | undefined): { partition: Bounds; offset: Bounds } {
  try {
    const { minValues, maxValues } = parseJson(stats ?? "{}") as Record<
      "minValues" | "maxValues",
      Record<string, Record<string, unknown>> | undefined
    >;
    const between = (name: string): Bounds => {
      const [min, max] = [minValues, maxValues].map((values) => values?.[KAFKA_FIELD.name]?.[name]);
      return isWhole(min) && isWhole(max) ? [min, max] : undefined;
    };
    return { partition: between("partition"), offset: between("offset") };
  } catch {
    return { partition: undefined, offset: undefined };
  }
}

const isWhole = (value: unknown): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint";
