/** Records of a lake, window by window: which rows are in it, then those rows in their order. */

import { isLabError } from "../core/errors.ts";
import { columnChunks } from "../engine/column-chunks.ts";
import { type Engine, quoteText } from "../engine/instance.ts";
import { createRelation, type DataFiles } from "../engine/scan.ts";
import { explainFailure } from "./failure.ts";
import type { LakeOptions, LakeRecord } from "./lake.ts";
import type { Origin } from "./origin.ts";
import type { Progress } from "./place.ts";
import { recordColumns, recordsOf } from "./record-columns.ts";
import { type Rows, withoutUnchanged } from "./rows.ts";
import { planValue, type ValueForm } from "./value.ts";
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
/** Fewer than these have values that no window can hold. */
const LEAST_ROWS = 16;
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
    let count = 0;
    try {
      await viewCandidates(options, window.files, data);
      count = await chooseRows(engine, window, signal);
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
      // A window holds less than was wanted where no more is left.
      const held = count === 0 ? wanted : Math.min(wanted, count);
      const mayShrink = isLabError(failure, "QUERY_LIMIT") && !isBegun && held > LEAST_ROWS;
      if (!mayShrink) throw failure;
      most = wanted = Math.ceil(held / SHRINK);
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
  const chunks = columnChunks(
    engine,
    `SELECT ${recordColumns(origin, plan, rows.told).join(", ")} FROM "window" AS w
     JOIN chosen AS c ON w."lab file" = list_position([${places.join(", ")}], c.file) - 1 AND w."lab row" = c."row" ORDER BY c.n`,
    signal,
  );
  let last: LakeRecord | undefined;
  for await (const chunk of chunks) {
    for (const read of recordsOf(chunk, { topic, rows })) {
      const records: LakeRecord[] = [];
      for (const record of read) {
        // Rows of one message stand side by side, and each that kept the value kept all of it.
        if (record.isOriginal && last?.isOriginal && isSameMessage(last, record)) continue;
        records.push(record);
        last = record;
      }
      yield records;
    }
  }
}

function isSameMessage(a: LakeRecord, b: LakeRecord): boolean {
  return a.partition === b.partition && a.generation === b.generation && a.offset === b.offset;
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
