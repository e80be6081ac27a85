/**
 * Which offsets and times each file holds of each partition: a table `entries` in the engine, from the files' statistics where these
 * say it all, else by reading the four narrow columns that do.
 */

import type { Add } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import { mappingMode } from "../engine/column-mapping.ts";
import { type Engine, quoteText } from "../engine/instance.ts";
import { createRelation, type DataFiles } from "../engine/scan.ts";
import { explainFailure } from "./failure.ts";
import type { Origin } from "./origin.ts";
import type { Rows } from "./rows.ts";

export type IndexOptions = {
  engine: Engine;
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">;
  origin: Origin;
  rows: Rows;
  /** A file is named by its place here. */
  adds: readonly Add[];
  /** Finds files by their places. */
  locate(places: readonly number[]): Promise<DataFiles>;
  signal: AbortSignal;
};

/** Files that are looked into together: what a remote store has to hand over before the first may go again. */
const GROUP_FILES = 500;
const GROUP_BYTES = 1024 ** 3;
/** Statistics of texts are cut at this length. */
const CUT_TEXT = 32;

/**
 * Makes `entries(file, topic, part, gen, lo, hi, n, tlo, thi, untimed)`: one line for each file, topic, generation and partition; offsets and times
 * (microseconds) with both ends included; `untimed` where some rows have no time. Rows that name no record are lines with NULL as their offsets.
 */
export async function indexFiles(options: IndexOptions): Promise<void> {
  const { engine, table, rows, adds, signal } = options;
  await engine.run(
    `CREATE TEMP TABLE entries (file INTEGER, topic VARCHAR, part INTEGER, gen INTEGER,
       lo BIGINT, hi BIGINT, n BIGINT, tlo BIGINT, thi BIGINT, untimed BOOLEAN)`,
    { signal },
  );
  // Statistics speak of all rows of a file, by the names that these have in it.
  const isPlain = mappingMode(table) === "none" && rows.areWhole;
  const told: string[] = [];
  let group: number[] = [];
  let bytes = 0;
  for (const [place, add] of adds.entries()) {
    const entry = isPlain ? entryOf(add) : undefined;
    if (entry !== undefined) {
      told.push(`(${place}, ${entry})`);
      if (told.length >= GROUP_FILES) await insert(engine, told, signal);
      continue;
    }
    group.push(place);
    bytes += add.size;
    if (group.length < GROUP_FILES && bytes < GROUP_BYTES) continue;
    await readGroup(options, group);
    group = [];
    bytes = 0;
  }
  if (told.length > 0) await insert(engine, told, signal);
  if (group.length > 0) await readGroup(options, group);
}

async function insert(engine: Engine, lines: string[], signal: AbortSignal): Promise<void> {
  await engine.run(`INSERT INTO entries VALUES ${lines.join(", ")}`, { signal });
  lines.length = 0;
}

async function readGroup(options: IndexOptions, places: readonly number[]): Promise<void> {
  const { engine, table, origin, rows, signal } = options;
  const data = await options.locate(places);
  try {
    await createRelation(engine, { name: "to_index", table, data, withPlaces: true, signal });
    const files = `[${places.join(", ")}]::INTEGER[]`;
    await engine.run(
      `INSERT INTO entries
       SELECT (${files})["lab file" + 1], topic, part, gen, min(off), max(off), count(*), min(us), max(us), bool_or(us IS NULL)
       FROM (SELECT "lab file", ${origin.topic} AS topic, ${origin.partition} AS part, ${origin.generation} AS gen,
               CASE WHEN ${origin.topic} IS NOT NULL AND ${origin.partition} IS NOT NULL THEN ${origin.offset} END AS off,
               ${origin.micros} AS us FROM ${rows.of("to_index", places)})
       GROUP BY "lab file", topic, part, gen, off IS NULL`,
      { signal },
    );
  } catch (error) {
    signal.throwIfAborted();
    throw await explainFailure(error, data);
  } finally {
    await data.close();
  }
}

type Stats = {
  numRecords?: number;
  tightBounds?: boolean;
  minValues?: { _kafka?: Bounds };
  maxValues?: { _kafka?: Bounds };
  nullCount?: { _kafka?: { offset?: number; timestamp?: number } };
};
type Bounds = {
  topic?: unknown;
  partition?: unknown;
  offset?: unknown;
  generation?: unknown;
  timestamp?: unknown;
};

/** The line of a file all of whose rows are of one partition, without its place; undefined where statistics do not say it for sure. */
export function entryOf({ stats, deletionVector }: Add): string | undefined {
  if (stats === undefined || deletionVector !== undefined) return undefined;
  const { numRecords, tightBounds, minValues, maxValues, nullCount } = JSON.parse(stats) as Stats;
  const [min, max] = [minValues?._kafka, maxValues?._kafka];
  if (numRecords === undefined || tightBounds === false || nullCount?._kafka?.offset !== 0) return undefined;
  if (nullCount._kafka.timestamp !== 0) return undefined;
  if (min === undefined || max === undefined) return undefined;
  const { topic, partition, generation } = min;
  if (typeof topic !== "string" || topic.length >= CUT_TEXT || topic !== max.topic) return undefined;
  if (partition !== max.partition || generation !== max.generation) return undefined;
  const numbers = [partition, generation, min.offset, max.offset];
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  const [from, to] = [Date.parse(String(min.timestamp)), Date.parse(String(max.timestamp))];
  if (Number.isNaN(from) || Number.isNaN(to)) return undefined;
  // Times are cut down to milliseconds, the later one too.
  const micros = `${from * 1000}, ${(to + 1) * 1000}`;
  return [quoteText(topic), partition, generation, min.offset, max.offset, numRecords, micros, false].join(
    ", ",
  );
}
