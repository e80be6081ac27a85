/** Records of rows, which the engine hands on in columns. */

import type { ColumnChunk, RowBytes } from "../engine/column-chunks.ts";
import type { ExactRecord } from "../kafka/ports.ts";
import type { LakeRecord } from "./lake.ts";
import type { Origin } from "./origin.ts";
import { LAST_INDEX } from "./place.ts";
import { changeOf, type Rows } from "./rows.ts";
import type { ValuePlan } from "./value.ts";

/** What the columns are, in their order. */
const AT = {
  partition: 0,
  generation: 1,
  offset: 2,
  index: 3,
  ms: 4,
  isOriginal: 5,
  key: 6,
  headers: 7,
  value: 8,
  told: 9,
};
/** Records that are made together: what is kept of one keeps all of these. */
const PIECE_BYTES = 4 << 20;

/** What `recordsOf` takes, as columns over `chosen AS c` and the rows of its files. `told` is SQL of what became of a row. */
export function recordColumns(origin: Origin, plan: ValuePlan, told: string | undefined): string[] {
  return [
    `${origin.partition}::INTEGER AS part`,
    `${origin.generation}::INTEGER AS gen`,
    `${origin.offset}::BIGINT AS off`,
    "c.idx::INTEGER AS idx",
    `coalesce(floor(${origin.micros} / 1000), -1)::DOUBLE AS ms`,
    `(${plan.isOriginal})::INTEGER AS original`,
    `${origin.key} AS "key"`,
    `${headersOf(origin.headers)} AS headers`,
    `${plan.value} AS "value"`,
    ...(told === undefined ? [] : [`encode(${told}) AS told`]),
  ];
}

/** Headers in one piece: of each the length of its name, the name, the length of its value, or -1 for none, and the value; lengths end in a colon. */
function headersOf(headers: string): string {
  // With a dot a column of the table that is called h would come first.
  const [name, value] = ["struct_extract(h, 'key')", "struct_extract(h, 'value')"];
  const header = `encode(concat(strlen(${name}), ':', ${name}, coalesce(octet_length(${value}), -1), ':')) || coalesce(${value}, ''::BLOB)`;
  const each = `list_transform(list_filter(${headers}, lambda h: h IS NOT NULL), lambda h: ${header})`;
  return `CASE WHEN len(${headers}) > 0 THEN list_reduce(${each}, lambda a, b: a || b, ''::BLOB) END`;
}

/** The records of a chunk, some at a time. */
export function* recordsOf(
  chunk: ColumnChunk,
  { topic, rows }: { topic: string; rows: Pick<Rows, "isChange" | "told"> },
): Generator<LakeRecord[]> {
  const [partitions, generations, indexes] = [
    chunk.ints(AT.partition),
    chunk.ints(AT.generation),
    chunk.ints(AT.index),
  ];
  const [offsets, times, originals] = [
    chunk.longs(AT.offset),
    chunk.doubles(AT.ms),
    chunk.ints(AT.isOriginal),
  ];
  for (const { from, to } of piecesOf(chunk)) {
    const bytes = (column: number) => chunk.bytes(column, from, to);
    const [keys, headers, values] = [bytes(AT.key), bytes(AT.headers), bytes(AT.value)];
    const told = rows.told === undefined ? undefined : bytes(AT.told);
    const records: LakeRecord[] = [];
    for (let row = from; row < to; row++) {
      const n = row - from;
      const isOriginal = originals[row] === 1;
      const index = indexes[row]!;
      const record: LakeRecord = {
        topic,
        partition: partitions[row]!,
        generation: generations[row]!,
        offset: offsets[row]!,
        index: isOriginal ? LAST_INDEX : index,
        timestampMs: times[row]!,
        key: bytesAt(keys, n),
        headers: headersAt(headers, n),
        value: bytesAt(values, n),
        isOriginal,
      };
      if (rows.isChange) record.change = changeOf(index, told && bytesAt(told, n)!.toString());
      records.push(record);
    }
    yield records;
  }
}

function* piecesOf(chunk: ColumnChunk): Generator<{ from: number; to: number }> {
  const [values, keys, headers] = [chunk.lengths(AT.value), chunk.lengths(AT.key), chunk.lengths(AT.headers)];
  let [from, bytes] = [0, 0];
  for (let row = 0; row < chunk.rows; row++) {
    bytes += values[row]! + keys[row]! + headers[row]!;
    if (bytes < PIECE_BYTES && row + 1 < chunk.rows) continue;
    yield { from, to: row + 1 };
    [from, bytes] = [row + 1, 0];
  }
}

function bytesAt({ bytes, starts, ends }: RowBytes, n: number): Buffer | null {
  const start = starts[n]!;
  return start < 0 ? null : bytes.subarray(start, ends[n]);
}

const NO_HEADERS: ExactRecord["headers"] = [];
const COLON = 0x3a;

function headersAt({ bytes, starts, ends }: RowBytes, n: number): ExactRecord["headers"] {
  let at = starts[n]!;
  const end = ends[n]!;
  if (at < 0 || at === end) return NO_HEADERS;
  const headers: (readonly [string, Buffer | null])[] = [];
  const length = () => {
    const colon = bytes.indexOf(COLON, at);
    const found = Number(bytes.toString("latin1", at, colon));
    at = colon + 1;
    return found;
  };
  while (at < end) {
    const nameEnd = length() + at;
    const name = bytes.toString("utf8", at, nameEnd);
    at = nameEnd;
    const valueBytes = length();
    headers.push([name, valueBytes < 0 ? null : bytes.subarray(at, at + valueBytes)]);
    at += Math.max(0, valueBytes);
  }
  return headers;
}
