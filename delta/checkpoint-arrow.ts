/** Reads checkpoints of any Parquet form through Apache Arrow: slower and larger than `checkpoint-columns`, which reads the usual ones. */

import { setImmediate } from "node:timers/promises";
import { type Data, MapRow, type RecordBatch, StructRow, tableFromIPC, Vector } from "apache-arrow";
import { readParquet, readSchema } from "parquet-wasm";
import type { PartitionValues } from "./actions.ts";
import { CHECKPOINT_ACTIONS, type CheckpointRow, toRow } from "./checkpoint-row.ts";
import { statsFromStruct } from "./checkpoint-stats.ts";
import { toAction } from "./commit-file.ts";
import type { LiveFile } from "./file-rows.ts";

/** Rows decoded at once: bounds what a checkpoint of millions of files holds in memory. */
const WINDOW = 32_768;

/** Partitions remembered while a batch is read. */
const MOST_KNOWN = 10_000;

/**
 * Through the reader that works at once: where a damaged file makes the decoder give up, that is an error here, while from the one that
 * works in the background it would end the process, and no promise.
 */
export async function* readThroughArrow(bytes: Uint8Array): AsyncGenerator<CheckpointRow[]> {
  const { always, statsCopy } = neededColumns(bytes);
  let columns = always;
  if (columns.length === 0) return;
  for (let offset = 0; ; offset += WINDOW) {
    let batches = readWindow(bytes, columns, offset);
    if (statsCopy !== undefined && columns === always && batches.some(lacksStats)) {
      columns = [...always, statsCopy];
      batches = readWindow(bytes, columns, offset);
    }
    for (const batch of batches) yield rowsOf(batch);
    if (batches.reduce((rows, batch) => rows + batch.numRows, 0) < WINDOW) return;
    // Others have their turn before the next one.
    await setImmediate();
  }
}

function readWindow(bytes: Uint8Array, columns: string[], offset: number): RecordBatch[] {
  const table = readParquet(bytes, { columns, offset, limit: WINDOW, batchSize: WINDOW });
  return tableFromIPC(table.intoIPCStream()).batches;
}

/** Columns to decode: all of our actions. The typed copy of the statistics is for adds that lack the text. */
function neededColumns(bytes: Uint8Array): { always: string[]; statsCopy: string | undefined } {
  const { fields } = tableFromIPC(readSchema(bytes).intoIPCStream()).schema;
  const all = fields
    .filter((field) => CHECKPOINT_ACTIONS.includes(field.name))
    .flatMap((field) =>
      (field.type.children as { name: string }[]).map((child) => `${field.name}.${child.name}`),
    );
  const copies = ["add.partitionValues_parsed", "add.stats_parsed"];
  return {
    always: all.filter((name) => !copies.includes(name)),
    statsCopy: all.find((name) => name === "add.stats_parsed"),
  };
}

/** Whether some add has no statistics as text; some writers leave the column there, and empty. */
function lacksStats(batch: RecordBatch): boolean {
  const paths = batch.getChild("add")?.getChild("path");
  const stats = batch.getChild("add")?.getChild("stats");
  for (let row = 0; row < batch.numRows; row++) if (paths?.isValid(row) && !stats?.isValid(row)) return true;
  return false;
}

function rowsOf(batch: RecordBatch): CheckpointRow[] {
  const rows: CheckpointRow[] = [];
  const numRows = batch.numRows;
  for (const action of CHECKPOINT_ACTIONS) {
    const vector = batch.getChild(action);
    if (!vector) continue;
    const read = action === "add" ? addReader(vector) : plainReader(action, vector);
    for (let row = 0; row < numRows; row++) {
      if (!vector.isValid(row)) continue;
      const found = read(row);
      if (found) rows.push(found);
    }
  }
  return rows;
}

/** Adds are most of a checkpoint: read column by column, without Arrow's views of rows. */
function addReader(vector: Vector): (row: number) => CheckpointRow | undefined {
  const child = (name: string): Vector | null => vector.getChild(name);
  const path = textReader(child("path"));
  const partitionValues = mapReader(child("partitionValues"));
  const [size, time] = [child("size"), child("modificationTime")];
  const stats = textReader(child("stats"));
  const parsed = child("stats_parsed");
  const rest = ["tags", "deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider"]
    .map((name) => [name, child(name)] as const)
    .filter(([, column]) => column !== null && column.nullCount < column.length);
  return (row) => {
    const name = path(row);
    // A row whose struct is there with nothing in it: some writers mark absence only in the leaves.
    if (name === undefined) return undefined;
    const add: LiveFile = {
      path: name.toString(),
      partitionValues: partitionValues(row),
      size: Number(size?.get(row) ?? Number.NaN),
      modificationTime: Number(time?.get(row) ?? Number.NaN),
      dataChange: false,
    };
    if (!(add.size >= 0) || Number.isNaN(add.modificationTime))
      throw new TypeError(`the add of ${add.path} has no size or time`);
    const text = stats(row) ?? statsFromStruct(parsed, row);
    if (typeof text === "string") add.stats = text;
    else if (text) add.stats = { bytes: text, start: 0, length: text.length };
    const extras = rest.flatMap(([key, column]) =>
      column!.isValid(row) ? [[key, plain(column!.get(row))]] : [],
    );
    if (extras.length === 0) return { add };
    // The commit reader knows the types of the rare fields.
    const { add: typed } = toAction({ add: { ...add, stats: null, ...Object.fromEntries(extras) } }) as {
      add: LiveFile;
    };
    return { add: { ...typed, ...add } };
  };
}

function plainReader(action: string, vector: Vector): (row: number) => CheckpointRow | undefined {
  return (row) => {
    const body = plain(vector.get(row)) as Record<string, unknown>;
    if (Object.values(body).every((value) => value === null || value === undefined)) return undefined;
    return toRow({ [action]: body });
  };
}

/** The UTF-8 bytes of a text column without making strings of them, where its layout allows. */
function textReader(column: Vector | null): (row: number) => string | Buffer | undefined {
  const data = column?.data.length === 1 ? column.data[0] : undefined;
  const [offsets, values] = [data?.valueOffsets, data?.values];
  if (!column || !(offsets instanceof Int32Array) || !(values instanceof Uint8Array))
    return (row) => column?.get(row) ?? undefined;
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return (row) => (column.isValid(row) ? bytes.subarray(offsets[row]!, offsets[row + 1]!) : undefined);
}

/** Maps of text to text, as objects of their own that nobody changes; equal ones are mostly the same object. */
function mapReader(column: Vector | null): (row: number) => PartitionValues {
  const none: PartitionValues = {};
  const data = column?.data.length === 1 ? column.data[0] : undefined;
  const entries = data?.children[0];
  if (!column || !data || !entries) return () => none;
  const [keys, values] = entries.children.map((part) => textReader(new Vector([part as Data])));
  const offsets = data.valueOffsets as Int32Array;
  const known = new Map<string, PartitionValues>();
  return (row) => {
    const [from, to] = [offsets[row]!, offsets[row + 1]!];
    if (from === to) return none;
    const pairs: [string, string | null][] = [];
    for (let at = from; at < to; at++) pairs.push([String(keys!(at)), values!(at)?.toString() ?? null]);
    const text = JSON.stringify(pairs);
    const found = known.get(text) ?? Object.fromEntries(pairs);
    if (known.size < MOST_KNOWN) known.set(text, found);
    return found;
  };
}

/** Arrow's row, map and list views as plain objects and arrays, as JSON.parse would give them. */
function plain(value: unknown): unknown {
  if (value instanceof MapRow || value instanceof StructRow) {
    return Object.fromEntries(Object.entries(value.toJSON()).map(([key, item]) => [key, plain(item)]));
  }
  return value instanceof Vector ? [...value].map(plain) : value;
}
