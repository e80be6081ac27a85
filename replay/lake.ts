/** Rows of a table as the records that they came from, in Kafka's order, with bounded memory whatever the table's size. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { locateFiles } from "../engine/data-files.ts";
import type { FileCache } from "../engine/file-cache.ts";
import { type Engine, openEngine, quoteText } from "../engine/instance.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
import { createRelation, type DataFiles } from "../engine/scan.ts";
import type { ExactRecord } from "../kafka/ports.ts";
import { explainFailure } from "./failure.ts";
import { indexFiles } from "./file-index.ts";
import { type Origin, originOf } from "./origin.ts";
import { before, comparePlaces, END, LAST_INDEX, type Place, type Progress } from "./place.ts";
import { bufferOf, planValue, type ValueForm, type ValuePlan } from "./value.ts";
import { beginWindows, chooseRows, endWindow, nextWindow, type Window } from "./windows.ts";

/** A record of the topic that the table was made from, as it goes back. */
export type LakeRecord = ExactRecord &
  Place & {
    topic: string;
    /**
     * True where the value is the message's own, byte by byte: then it stands for all rows of the message. False where it was made again of the
     * row's columns: it says the same, and may be written otherwise.
     */
    isOriginal: boolean;
  };

export type LakeOptions = {
  /** What the files are read as; a snapshot serves. */
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">;
  store: Store;
  adds: Iterable<Add>;
  /** Of which topic; default: the one that all rows come from. */
  topic?: string | undefined;
  value?: ValueForm | undefined;
  work: LakeWork;
  signal: AbortSignal;
};

/** What reading may use of the machine. */
export type LakeWork = {
  /** A folder for what is spilled: one of its own is made in it and removed at the end. */
  scratchDir: string;
  /** Of the engine. */
  memoryLimitBytes: number;
  threads: number;
  /** For tables that are not in local folders. Opened when first needed. */
  cache: () => Promise<FileCache>;
  /** Records that are sorted together, about; default: as the memory allows. */
  windowRows?: number;
};

export type Lake = {
  /** Whose records are read; empty where there are none, and none was asked for. */
  readonly topic: string;
  /** All that there are rows of. */
  readonly topics: readonly string[];
  /** Partitions that there are rows of, ascending. */
  readonly partitions: readonly number[];
  /** Rows of the topic. */
  readonly rows: number;
  /** Rows that name no record, because others wrote them: they are not read. */
  readonly withoutOrigin: number;
  /** The time of the oldest row in ms, about; null where no row has one. */
  readonly oldestMs: number | null;
  /** The newest generation of each partition, and the oldest. */
  readonly generations: ReadonlyMap<number, { oldest: number; newest: number }>;
  /** For each partition the place before its first record that is not older than `timestampMs`; END where there is none. */
  before(timestampMs: number, signal: AbortSignal): Promise<Map<number, Place>>;
  /**
   * All records behind `after`, each once, by watermark: partitions keep their order, generation by generation, and no record comes while another partition has
   * an earlier one. An empty list between two others: what comes next takes a while. Can be called once. DATA_FILE_MISSING, CORRUPT_LOG.
   */
  records(after: Progress, signal: AbortSignal): AsyncGenerator<LakeRecord[]>;
  close(): Promise<void>;
};

/** Files of a window are read in the memory that is given, with room for their sort; files hold rows packed. */
const WINDOW_PART = 24;
const PACKED = 3;
const WINDOW_ROWS = { least: 20_000, most: 400_000 };
/** A window that holds less than this part of what it should makes the next one larger. */
const POOR = 16;

/**
 * Looks into the files for what they hold of which partition. ORIGIN_MISSING where rows do not say where they come from, USAGE where they are of several
 * topics and none is named. The caller closes it.
 */
export async function openLake(options: LakeOptions): Promise<Lake> {
  const { table, store, work, signal } = options;
  const origin = originOf(table.schema, store.root);
  await mkdir(work.scratchDir, { recursive: true });
  const folder = await mkdtemp(join(work.scratchDir, "lab-lake-"));
  const { memoryLimitBytes, threads } = work;
  const tempDir = join(folder, "spill");
  const engine = await openEngine({ memoryLimitBytes, threads, tempDir, keepsFiles: false });
  const close = async () => {
    engine.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // Without statistics, which are the most of it: the list lives as long as the lake does.
    const adds: Add[] = [];
    const isRawWhole: boolean[] = [];
    const indexed: Add[] = [];
    let bytes = 0;
    for (const add of options.adds) {
      const { stats: _, ...lean } = add;
      adds.push(lean);
      indexed.push(add);
      isRawWhole.push(hasWholeRaw(add));
      bytes += add.size;
    }
    const cache = store.localPath === undefined ? await work.cache() : undefined;
    const locate = (places: readonly number[]) =>
      locateFiles(
        store,
        places.map((place) => adds[place]!),
        cache,
        signal,
      );
    await indexFiles({ engine, table, origin, adds: indexed, locate, signal });
    indexed.length = 0;
    const found = await chooseTopic(engine, options.topic, store.root, signal);
    const windowRows = work.windowRows ?? rowsOfWindow(memoryLimitBytes, bytes, found.rows);
    const reading = { engine, table, origin, locate, signal, topic: found.topic };
    return {
      ...found,
      before: (timestampMs) => startsAt(reading, timestampMs),
      records: (after, signal) =>
        readWindows({ ...reading, signal, after, windowRows, isRawWhole, form: options.value ?? "auto" }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Reading = Pick<LakeOptions, "table" | "signal"> & {
  engine: Engine;
  origin: Origin;
  topic: string;
  locate(places: readonly number[]): Promise<DataFiles>;
};

async function chooseTopic(engine: Engine, asked: string | undefined, root: string, signal: AbortSignal) {
  const lines = await engine.rows(
    `SELECT CASE WHEN lo IS NULL THEN NULL ELSE topic END AS topic, sum(n)::BIGINT AS n FROM entries GROUP BY 1 ORDER BY 1`,
    { signal },
  );
  const topics = lines.flatMap(({ topic }) => (topic === null ? [] : [String(topic)]));
  const withoutOrigin = Number(lines.find(({ topic }) => topic === null)?.n ?? 0);
  const [only] = topics;
  if (only === undefined && asked === undefined && withoutOrigin > 0)
    throw new LabError("ORIGIN_MISSING", `no row of ${root} names the Kafka record it comes from`, {
      hint: "rows that lab ingest wrote do, unless --metadata is off",
      details: { table: root, rows: withoutOrigin },
    });
  if (asked === undefined && topics.length > 1)
    throw new LabError("USAGE", `rows of ${root} come from several topics: ${topics.join(", ")}`, {
      hint: `name one: --topic ${only}; offsets of different topics have no order`,
      details: { topics },
    });
  const topic = asked ?? only ?? "";
  await engine.run(`DELETE FROM entries WHERE lo IS NULL OR topic <> ${quoteText(topic)}`, { signal });
  const partitions = await engine.rows(
    `SELECT part, min(gen) AS oldest, max(gen) AS newest, sum(n)::BIGINT AS n, min(tlo) AS tlo FROM entries GROUP BY part ORDER BY part`,
    { signal },
  );
  const times = partitions.flatMap(({ tlo }) => (tlo === null ? [] : [Number((tlo as bigint) / 1000n)]));
  return {
    topic,
    topics,
    withoutOrigin,
    partitions: partitions.map(({ part }) => Number(part)),
    rows: partitions.reduce((sum, { n }) => sum + Number(n), 0),
    oldestMs: times.length === 0 ? null : Math.min(...times),
    generations: new Map(
      partitions.map(({ part, oldest, newest }) => [
        Number(part),
        { oldest: Number(oldest), newest: Number(newest) },
      ]),
    ),
  };
}

/** Makes view `candidates` over files of a window. */
async function viewCandidates(
  { engine, table, origin, topic, signal }: Reading,
  data: DataFiles,
): Promise<void> {
  await createRelation(engine, { name: "window", table, data, withPlaces: true, signal });
  await engine.run(
    `CREATE OR REPLACE TEMP VIEW candidates AS
     SELECT "lab file", "lab row", ${origin.partition} AS part, ${origin.generation} AS gen, ${origin.offset} AS off,
       ${origin.index} AS idx, ${origin.micros} AS us
     FROM "window" WHERE ${origin.topic} = ${quoteText(topic)} AND ${origin.partition} IS NOT NULL AND ${origin.offset} IS NOT NULL`,
    { signal },
  );
}

async function startsAt(reading: Reading, timestampMs: number): Promise<Map<number, Place>> {
  const { engine, signal } = reading;
  const micros = Math.floor(timestampMs) * 1000;
  const files = await engine.rows(`SELECT DISTINCT file FROM entries WHERE thi >= ${micros} ORDER BY file`, {
    signal,
  });
  const starts = new Map<number, Place>();
  for (const { part } of await engine.rows("SELECT DISTINCT part FROM entries", { signal }))
    starts.set(Number(part), END);
  const GROUP = 500;
  for (let from = 0; from < files.length; from += GROUP) {
    const data = await reading.locate(files.slice(from, from + GROUP).map(({ file }) => Number(file)));
    try {
      await viewCandidates(reading, data);
      const found = await engine.rows(
        `SELECT part, min({gen: gen, off: off}) AS first FROM candidates WHERE us >= ${micros} GROUP BY part`,
        { signal },
      );
      for (const { part, first } of found) {
        const { gen, off } = first as { gen: number; off: bigint };
        const start = before(gen, off);
        const known = starts.get(Number(part))!;
        if (comparePlaces(start, known) < 0) starts.set(Number(part), start);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw await explainFailure(error, data);
    } finally {
      await data.close();
    }
  }
  return starts;
}

type WindowsOptions = Reading & {
  after: Progress;
  windowRows: number;
  isRawWhole: readonly boolean[];
  form: ValueForm;
};

async function* readWindows(options: WindowsOptions): AsyncGenerator<LakeRecord[]> {
  const { engine, after, signal, windowRows } = options;
  await beginWindows(engine, after, signal);
  for (let wanted = windowRows; ; ) {
    const window = await nextWindow(engine, wanted, signal);
    if (window === null) return;
    const data = await options.locate(window.files);
    try {
      let rows = 0;
      for await (const records of readWindow(options, window, data)) {
        rows += records.length;
        yield records;
      }
      wanted = rows < windowRows / POOR ? wanted * 2 : windowRows;
      await endWindow(engine, window, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw await explainFailure(error, data);
    } finally {
      await data.close();
    }
    yield [];
  }
}

async function* readWindow(
  options: WindowsOptions,
  window: Window,
  data: DataFiles,
): AsyncGenerator<LakeRecord[]> {
  const { engine, table, origin, topic, signal, isRawWhole, form } = options;
  await viewCandidates(options, data);
  if ((await chooseRows(engine, window, signal)) === 0) return;
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
    `${origin.index} AS idx`,
    `coalesce(floor(${origin.micros} / 1000), -1)::DOUBLE AS ms`,
    `${origin.key} AS "key"`,
    `CASE WHEN len(${origin.headers}) > 0 THEN ${origin.headers} END AS headers`,
    ...plan.select,
  ];
  const { columns, chunks } = await stream(
    engine,
    `SELECT ${select.join(", ")} FROM chosen AS c
     JOIN "window" AS w ON w."lab file" = list_position([${places.join(", ")}], c.file) - 1 AND w."lab row" = c."row" ORDER BY c.n`,
    signal,
  );
  const toRecord = recordReader(plan, columns, topic);
  let last: LakeRecord | undefined;
  for await (const rows of chunks) {
    const records: LakeRecord[] = [];
    for (const row of rows) {
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

function recordReader(plan: ValuePlan, columns: readonly Column[], topic: string) {
  const readValue = plan.read(columns, FIXED);
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
    };
  };
}

/** Whether statistics say that each row of a file has its raw value. */
function hasWholeRaw({ stats }: Add): boolean {
  const count = stats === undefined ? undefined : (JSON.parse(stats) as RawStats).nullCount?._kafka?.value;
  return count === 0;
}

type RawStats = { nullCount?: { _kafka?: { value?: number } } };

function rowsOfWindow(memoryBytes: number, fileBytes: number, rows: number): number {
  const rowBytes = Math.max(1, (fileBytes * PACKED) / Math.max(1, rows));
  const fitting = Math.floor(((memoryBytes / WINDOW_PART) * PACKED) / rowBytes);
  return Math.max(WINDOW_ROWS.least, Math.min(WINDOW_ROWS.most, fitting));
}
