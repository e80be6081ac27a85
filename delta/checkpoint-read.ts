/** Reads checkpoint files: classic, one part of several, or V2 (PROTOCOL.md, "Checkpoints"). */

import { type Data, MapRow, type RecordBatch, StructRow, tableFromIPC, Vector } from "apache-arrow";
import { ParquetFile } from "parquet-wasm";
import { LabError } from "../core/errors.ts";
import type { Action, PartitionValues, Remove } from "./actions.ts";
import { statsFromStruct } from "./checkpoint-stats.ts";
import { toAction } from "./commit-file.ts";
import type { LiveFile } from "./file-rows.ts";
import { parseJson } from "./json.ts";

/** A row of a checkpoint. A sidecar is a file of `_sidecars/` that holds the file actions. */
export type CheckpointRow =
  | { add: LiveFile }
  | { remove: Remove }
  | { sidecar: string }
  | Exclude<Action, { add: unknown } | { remove: unknown }>;

/** Rows decoded at once: bounds what a checkpoint of millions of files holds in memory. */
const WINDOW = 32_768;

/** Partitions remembered while a batch is read. */
const MOST_KNOWN = 10_000;

const ACTIONS = ["txn", "add", "remove", "metaData", "protocol", "domainMetadata", "sidecar"];

/** The rows of a checkpoint file, some at a time. CORRUPT_LOG where it cannot be read. */
export async function* readCheckpoint(bytes: Uint8Array, path: string): AsyncGenerator<CheckpointRow[]> {
  try {
    if (path.endsWith(".json")) yield readJsonRows(bytes);
    else yield* readParquetRows(bytes);
  } catch (cause) {
    if (cause instanceof LabError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LabError("CORRUPT_LOG", `checkpoint ${path} cannot be read: ${why}`, {
      details: { path },
      cause,
    });
  }
}

function readJsonRows(bytes: Uint8Array): CheckpointRow[] {
  const rows: CheckpointRow[] = [];
  for (const line of Buffer.from(bytes).toString("utf8").split("\n")) {
    if (line.trim() === "") continue;
    const json = parseJson(line) as Record<string, unknown>;
    const sidecar = json.sidecar as { path?: unknown } | null | undefined;
    if (sidecar) rows.push({ sidecar: String(sidecar.path) });
    const action = toAction(json);
    if (action) rows.push(action as CheckpointRow);
  }
  return rows;
}

async function* readParquetRows(bytes: Uint8Array): AsyncGenerator<CheckpointRow[]> {
  const file = await ParquetFile.fromFile(new Blob([bytes as Uint8Array<ArrayBuffer>]));
  try {
    const columns = neededColumns(file);
    const total = file.metadata().fileMetadata().numRows();
    for (let offset = 0; offset < total && columns.length > 0; offset += WINDOW) {
      const part = await file.read({ columns, limit: WINDOW, offset });
      for (const batch of tableFromIPC(part.intoIPCStream()).batches) yield rowsOf(batch);
    }
  } finally {
    file.free();
  }
}

/** Columns to decode: all of our actions, but typed copies of statistics only where the text is missing. */
function neededColumns(file: ParquetFile): string[] {
  const { fields } = tableFromIPC(file.schema().intoIPCStream()).schema;
  return fields
    .filter((field) => ACTIONS.includes(field.name))
    .flatMap((field) => {
      const children = (field.type.children as { name: string }[]).map((child) => child.name);
      const unused = ["partitionValues_parsed", ...(children.includes("stats") ? ["stats_parsed"] : [])];
      return children.filter((name) => !unused.includes(name)).map((name) => `${field.name}.${name}`);
    });
}

function rowsOf(batch: RecordBatch): CheckpointRow[] {
  const rows: CheckpointRow[] = [];
  const numRows = batch.numRows;
  for (const action of ACTIONS) {
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
      size: Number(size?.get(row)),
      modificationTime: Number(time?.get(row)),
      dataChange: false,
    };
    const text = stats(row) ?? statsFromStruct(parsed, row);
    if (text !== undefined) add.stats = text;
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
    if (action === "sidecar") return { sidecar: String(body.path) };
    return toAction({ [action]: body }) as CheckpointRow | undefined;
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
