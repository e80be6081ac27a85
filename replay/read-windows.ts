/** Records of a lake, window by window: which rows are in it, then those rows in their order. */

import { isLabError } from "../core/errors.ts";
import { type Engine, quoteText } from "../engine/instance.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
import { createRelation, type DataFiles } from "../engine/scan.ts";
import type { ExactRecord } from "../kafka/ports.ts";
import { explainFailure } from "./failure.ts";
import type { LakeOptions, LakeRecord } from "./lake.ts";
import type { Origin } from "./origin.ts";
import { LAST_INDEX, type Progress } from "./place.ts";
import { changeOf, type Rows, withoutUnchanged } from "./rows.ts";
import { bufferOf, planValue, type ValueForm, type ValuePlan } from "./value.ts";
import { beginWindows, chooseRows, endWindow, nextWindow, type Window } from "./windows.ts";

export type Reading = Pick<LakeOptions, "table" | "signal"> & {
  engine: Engine;
  origin: Origin;
  rows: Rows;
  topic: string;
  /** Finds files by their places. */
  locate(places: readonly number[]): Promise<DataFiles>;
};

/** A window that holds less than this part of what it should makes the next one larger. */
const POOR = 16;
/** Smaller windows would open files for next to nothing. */
const LEAST_ROWS = 1_000;
const SHRINK = 4;

export type WindowsOptions = Reading & {
  after: Progress;
  windowRows: number;
  isRawWhole: readonly boolean[];
  form: ValueForm;
};

/**
 * All records behind `after`, window by window; see `Lake.records`. Values may be larger than their files let on: a window that does not fit into memory is
 * cut again, smaller, and so are all behind it.
 */
export async function* readWindows(options: WindowsOptions): AsyncGenerator<LakeRecord[]> {
  const { engine, after, signal } = options;
  await beginWindows(engine, after, signal);
  let most = options.windowRows;
  for (let wanted = most; ; ) {
    const window = await nextWindow(engine, { rows: wanted, isCapped: most < options.windowRows }, signal);
    if (window === null) return;
    const data = await options.locate(window.files);
    let isBegun = false;
    try {
      await viewCandidates(options, window.files, data);
      const count = await chooseRows(engine, window, signal);
      if (count > 0) {
        const read = readWindow(options, window, data);
        for await (const records of options.rows.arePaired ? withoutUnchanged(read) : read) {
          isBegun = true;
          yield records;
        }
      }
      await endWindow(engine, window, signal);
      wanted = count < most / POOR ? wanted * 2 : most;
    } catch (error) {
      signal.throwIfAborted();
      const failure = await explainFailure(error, data);
      const mayShrink = isLabError(failure, "QUERY_LIMIT") && !isBegun && wanted > LEAST_ROWS;
      if (!mayShrink) throw failure;
      most = wanted = Math.ceil(wanted / SHRINK);
    } finally {
      await data.close();
    }
    yield [];
  }
}

/** The rows that were chosen. */
async function* readWindow(
  options: WindowsOptions,
  window: Window,
  data: DataFiles,
): AsyncGenerator<LakeRecord[]> {
  const { engine, table, origin, rows, topic, signal, isRawWhole, form } = options;
  const used = await engine.rows("SELECT DISTINCT file FROM chosen ORDER BY file", { signal });
  const places = used.map(({ file }) => Number(file));
  const files = places.map((place) => data.files[place]!);
  await createRelation(engine, { name: "window", table, data: { ...data, files }, withPlaces: true, signal });
  const plan = planValue(
    origin,
    form,
    places.every((place) => isRawWhole[window.files[place]!]),
  );
  const select = [
    `${origin.partition} AS part`,
    `${origin.generation} AS gen`,
    `${origin.offset} AS off`,
    "c.idx AS idx",
    `coalesce(floor(${origin.micros} / 1000), -1)::DOUBLE AS ms`,
    `${origin.key} AS "key"`,
    `CASE WHEN len(${origin.headers}) > 0 THEN ${origin.headers} END AS headers`,
    ...(rows.told === undefined ? [] : [rows.told]),
    ...plan.select,
  ];
  const { columns, chunks } = await stream(
    engine,
    `SELECT ${select.join(", ")} FROM chosen AS c
     JOIN "window" AS w ON w."lab file" = list_position([${places.join(", ")}], c.file) - 1 AND w."lab row" = c."row" ORDER BY c.n`,
    signal,
  );
  const toRecord = recordReader(plan, columns, { topic, rows });
  let last: LakeRecord | undefined;
  for await (const chunk of chunks) {
    const records: LakeRecord[] = [];
    for (const row of chunk) {
      const record = toRecord(row);
      // Rows of one message stand side by side, and each that kept the value kept all of it.
      if (record.isOriginal && last?.isOriginal && isSameMessage(last, record)) continue;
      records.push(record);
      last = record;
    }
    yield records;
  }
}

function isSameMessage(a: LakeRecord, b: LakeRecord): boolean {
  return a.partition === b.partition && a.generation === b.generation && a.offset === b.offset;
}

const FIXED = 7;
const NO_HEADERS: ExactRecord["headers"] = [];

function recordReader(
  plan: ValuePlan,
  columns: readonly Column[],
  { topic, rows }: { topic: string; rows: Rows },
) {
  const readValue = plan.read(columns, FIXED + (rows.told === undefined ? 0 : 1));
  return (row: Value[]): LakeRecord => {
    const value = readValue(row);
    const [partition, generation, offset, index, timestampMs, key, headers] = row;
    return {
      topic,
      partition: partition as number,
      generation: generation as number,
      offset: offset as bigint,
      index: value.isOriginal ? LAST_INDEX : (index as number),
      timestampMs: timestampMs as number,
      key: bufferOf(key as Uint8Array | null),
      headers:
        headers === null
          ? NO_HEADERS
          : (headers as (Value[] | null)[]).flatMap((header) =>
              header === null
                ? []
                : [[header[0] as string, bufferOf(header[1] as Uint8Array | null)] as const],
            ),
      ...value,
      ...(rows.isChange ? { change: changeOf(index as number, rows.told && (row[FIXED] as string)) } : {}),
    };
  };
}

/** Makes view `candidates` over files of a window, which are named by their places. */
export async function viewCandidates(
  { engine, table, origin, rows, topic, signal }: Reading,
  places: readonly number[],
  data: DataFiles,
): Promise<void> {
  await createRelation(engine, { name: "window", table, data, withPlaces: true, signal });
  await engine.run(
    `CREATE OR REPLACE TEMP VIEW candidates AS
     SELECT "lab file", "lab row", ${origin.partition} AS part, ${origin.generation} AS gen, ${origin.offset} AS off,
       ${rows.index} AS idx, ${origin.micros} AS us
     FROM ${rows.of("window", places)} WHERE ${origin.topic} = ${quoteText(topic)} AND ${origin.partition} IS NOT NULL AND ${origin.offset} IS NOT NULL`,
    { signal },
  );
}
