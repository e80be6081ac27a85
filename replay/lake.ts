/** Rows of a table as the records that they came from, in Kafka's order, with bounded memory whatever the table's size. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { locateFiles } from "../engine/data-files.ts";
import type { FileCache } from "../engine/file-cache.ts";
import { visibleRows } from "../engine/hidden-rows.ts";
import { type Engine, openEngine, quoteText } from "../engine/instance.ts";
import type { ExactRecord } from "../kafka/ports.ts";
import { explainFailure } from "./failure.ts";
import { indexFiles } from "./file-index.ts";
import { type Origin, originOf } from "./origin.ts";
import { before, comparePlaces, END, type Place, type Progress } from "./place.ts";
import { type Reading, readWindows, viewCandidates } from "./read-windows.ts";
import {
  allRows,
  CHANGE_COLUMN,
  type ChangedParts,
  type ChangeType,
  changedRows,
  type Rows,
} from "./rows.ts";
import type { ValueForm } from "./value.ts";

/** A record of the topic that the table was made from, as it goes back. */
export type LakeRecord = ExactRecord &
  Place & {
    topic: string;
    /**
     * True where the value is the message's own, byte by byte: then it stands for all rows of the message. False where it was made again of the
     * row's columns: it says the same, and may be written otherwise.
     */
    isOriginal: boolean;
    /** In a lake of changes: what became of the row. Then each value is made of columns, and `index` is even where a row went, odd where it came. */
    change?: ChangeType;
  };

export type LakeOptions = {
  /** What the files are read as; a snapshot serves. */
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">;
  store: Store;
  adds: Iterable<Add>;
  /** Of which topic; default: the one that all rows come from. */
  topic?: string | undefined;
  value?: ValueForm | undefined;
  /** `adds` are what a version changed, as `changed-files.ts` finds it, not what a version holds. */
  changes?: ChangedParts | undefined;
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
  /** The times of the oldest row and the newest in ms, about; null where no row has one. */
  readonly oldestMs: number | null;
  readonly newestMs: number | null;
  /** The newest generation of each partition, and the oldest. */
  readonly generations: ReadonlyMap<number, { oldest: number; newest: number }>;
  /** For each partition the place before its first record that is not older than `timestampMs`; END where there is none. */
  before(timestampMs: number, signal: AbortSignal): Promise<Map<number, Place>>;
  /** What is behind `after`, by partition; partitions of which nothing is are left out. */
  behind(after: Progress, signal: AbortSignal): Promise<Map<number, RowsBehind>>;
  /** Of values that the table kept the largest one behind `after`, with its key; null where it kept none. */
  largest(after: Progress, signal: AbortSignal): Promise<{ bytes: number; place: string } | null>;
  /**
   * All records behind `after`, each once, by watermark: partitions keep their order, generation by generation, and no record comes while another partition has
   * an earlier one. An empty list between two others: what comes next takes a while. Can be called once. DATA_FILE_MISSING, CORRUPT_LOG.
   */
  records(after: Progress, signal: AbortSignal): AsyncGenerator<LakeRecord[]>;
  close(): Promise<void>;
};

/** Rows of a partition: how many, and the first and last of them. */
export type RowsBehind = {
  rows: number;
  first: { generation: number; offset: bigint };
  last: { generation: number; offset: bigint };
};

/** Files of a window are read in the memory that is given, with room for their sort; files hold rows packed. */
const WINDOW_PART = 16;
const PACKED = 3;
const WINDOW_ROWS = { least: 20_000, most: 400_000 };
/**
 * Looks into the files for what they hold of which partition. ORIGIN_MISSING where rows do not say where they come from, USAGE where they are of several
 * topics and none is named. The caller closes it.
 */
export async function openLake(options: LakeOptions): Promise<Lake> {
  const { table, store, work, signal } = options;
  await mkdir(work.scratchDir, { recursive: true });
  const folder = await mkdtemp(join(work.scratchDir, "lab-lake-"));
  const { memoryLimitBytes, threads } = work;
  const tempDir = join(folder, "spill");
  const engine = await openEngine({ memoryLimitBytes, threads, tempDir, keepsFiles: false });
  // How many rows files have is a guess there, and a wrong one puts the large side of a join into memory: tables join here as they are written, the small one last.
  await engine.run("SET disabled_optimizers = 'join_order,build_side_probe_side'", { signal });
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
    const { origin, rows } = await rowsOf(engine, options);
    await indexFiles({ engine, table, origin, rows, adds: indexed, locate, signal });
    indexed.length = 0;
    const found = await chooseTopic(engine, options.topic, store.root, signal);
    const windowRows = work.windowRows ?? rowsOfWindow(memoryLimitBytes, bytes, found.rows);
    const reading = { engine, table, origin, rows, locate, signal, topic: found.topic };
    return {
      ...found,
      before: (timestampMs, signal) => startsAt({ ...reading, signal }, timestampMs),
      behind: (after, signal) => rowsBehind({ ...reading, signal }, after),
      largest: (after, signal) => largestKept({ ...reading, signal }, after),
      records: (after, signal) =>
        readWindows({ ...reading, signal, after, windowRows, isRawWhole, form: options.value ?? "auto" }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The rows that are read, and where they say they come from. */
async function rowsOf(
  engine: Engine,
  { table, store, changes, signal }: LakeOptions,
): Promise<{ origin: Origin; rows: Rows }> {
  const shown = visibleRows(table);
  const whole = originOf(table.schema, store.root);
  // What the table keeps for itself came with no message.
  const origin = { ...whole, columns: whole.columns.filter(({ name }) => name !== shown?.column) };
  if (changes === undefined) return { origin, rows: allRows(origin, shown) };
  // A kept value says nothing of what became of its row.
  const columns = origin.columns.filter(({ name }) => changes.kind !== "told" || name !== CHANGE_COLUMN);
  const made = { ...origin, columns, raw: undefined };
  return { origin: made, rows: await changedRows(engine, made, { changes, shown }, signal) };
}

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
    `SELECT part, min(gen) AS oldest, max(gen) AS newest, sum(n)::BIGINT AS n, min(tlo) AS tlo, max(thi) AS thi FROM entries GROUP BY part ORDER BY part`,
    { signal },
  );
  const times = (name: "tlo" | "thi") =>
    partitions.flatMap(({ [name]: us }) => (us === null ? [] : [Number((us as bigint) / 1000n)]));
  const timed = times("tlo").length > 0;
  return {
    topic,
    topics,
    withoutOrigin,
    partitions: partitions.map(({ part }) => Number(part)),
    rows: partitions.reduce((sum, { n }) => sum + Number(n), 0),
    oldestMs: timed ? Math.min(...times("tlo")) : null,
    newestMs: timed ? Math.max(...times("thi")) : null,
    generations: new Map(
      partitions.map(({ part, oldest, newest }) => [
        Number(part),
        { oldest: Number(oldest), newest: Number(newest) },
      ]),
    ),
  };
}

const GROUP = 500;

/** The rows of a query over `candidates`, asked of the files that `where` takes of `entries`, some at a time. */
async function* overFiles(reading: Reading, where: string, query: string): AsyncGenerator<Row> {
  const { engine, signal } = reading;
  const files = await engine.rows(`SELECT DISTINCT file FROM entries WHERE ${where} ORDER BY file`, {
    signal,
  });
  for (let from = 0; from < files.length; from += GROUP) {
    const places = files.slice(from, from + GROUP).map(({ file }) => Number(file));
    const data = await reading.locate(places);
    try {
      await viewCandidates(reading, places, data);
      yield* await engine.rows(query, { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw await explainFailure(error, data);
    } finally {
      await data.close();
    }
  }
}

type Row = Awaited<ReturnType<Engine["rows"]>>[number];
type Found = { gen: number; off: bigint };

async function startsAt(reading: Reading, timestampMs: number): Promise<Map<number, Place>> {
  const { engine, signal } = reading;
  const micros = Math.floor(timestampMs) * 1000;
  const starts = new Map<number, Place>();
  for (const { part } of await engine.rows("SELECT DISTINCT part FROM entries", { signal }))
    starts.set(Number(part), END);
  const query = `SELECT part, min({gen: gen, off: off}) AS first FROM candidates WHERE us >= ${micros} GROUP BY part`;
  for await (const { part, first } of overFiles(reading, `thi >= ${micros}`, query)) {
    const { gen, off } = first as Found;
    const start = before(gen, off);
    const known = starts.get(Number(part))!;
    if (comparePlaces(start, known) < 0) starts.set(Number(part), start);
  }
  return starts;
}

/** SQL over candidates: what is behind these places. */
function isBehind(after: Progress): string {
  const cases = [...after].map(
    ([partition, { generation, offset, index }]) =>
      `WHEN ${partition} THEN (gen, off, idx) > (${generation}, ${offset}, ${index})`,
  );
  return cases.length === 0 ? "true" : `CASE part ${cases.join(" ")} ELSE true END`;
}

async function rowsBehind(reading: Reading, after: Progress): Promise<Map<number, RowsBehind>> {
  const all = new Map<number, RowsBehind>();
  const query = `SELECT part, count(*) AS n, min({gen: gen, off: off}) AS first, max({gen: gen, off: off}) AS last
    FROM candidates WHERE ${isBehind(after)} GROUP BY part`;
  const place = ({ gen, off }: Found) => ({ generation: gen, offset: off, index: 0 });
  for await (const found of overFiles(reading, "true", query)) {
    const [part, rows] = [Number(found.part), Number(found.n)];
    const [first, last] = [place(found.first as Found), place(found.last as Found)];
    const known = all.get(part);
    all.set(part, {
      rows: rows + (known?.rows ?? 0),
      first: known && comparePlaces({ index: 0, ...known.first }, first) < 0 ? known.first : first,
      last: known && comparePlaces({ index: 0, ...known.last }, last) > 0 ? known.last : last,
    });
  }
  return new Map([...all].sort(([a], [b]) => a - b));
}

async function largestKept(reading: Reading, after: Progress) {
  const { raw, key } = reading.origin;
  if (raw === undefined) return null;
  let largest: { bytes: number; place: string } | null = null;
  const query = `SELECT max({bytes: octet_length(${raw}) + coalesce(octet_length(${key}), 0), part: part, off: off}) AS most
    FROM "window" AS w JOIN candidates AS c ON w."lab file" = c."lab file" AND w."lab row" = c."lab row"
    WHERE ${raw} IS NOT NULL AND ${isBehind(after)}`;
  for await (const { most } of overFiles(reading, "true", query)) {
    if (most === null) continue;
    const { bytes, part, off } = most as { bytes: bigint; part: number; off: bigint };
    if (largest === null || Number(bytes) > largest.bytes)
      largest = { bytes: Number(bytes), place: `${reading.topic}-${part} offset ${off}` };
  }
  return largest;
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
