/** Which messages of some windows stand in a table, as a row or a dead letter: their stamps are among their headers. */

import { isLabError } from "../core/errors.ts";
import { isStruct } from "../delta/schema.ts";
import type { Snapshot } from "../delta/table.ts";
import type { NamedTable } from "../query/catalog.ts";
import type { Query } from "../query/query.ts";
import { type Run, SKEW_MS } from "./findings.ts";
import { AUDIT_HEADER, decodeStamp, encodeRun, windowOf } from "./header.ts";
import { sqlName, sqlText } from "./sql.ts";

/** A message that is there. */
export type Seen = {
  /** Its place in its window, from 0. */
  sequence: number;
  partition: number;
  offset: bigint;
  /** How often this record stands in the table. */
  times: number;
};

export type CellKey = Run & { windowMs: number };

/** Names a cell among those of all origins. */
export const cellKey = ({ origin, epoch, windowMs }: CellKey) => `${epoch}/${windowMs}/${origin}`;

/** By `cellKey`, for each of `cells`; undefined where the table's rows do not say where they come from. */
export async function readSeen(
  query: Query,
  table: NamedTable,
  topic: string,
  cells: readonly CellKey[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Seen[]> | undefined> {
  const snapshot = await table.table.latest(signal);
  if (!saysWhence(snapshot)) return undefined;
  const found = new Map<string, Seen[]>(cells.map((cell) => [cellKey(cell), []]));
  const known = new Set<string>();
  const take = ({ partition, offset, times, stamp: bytes }: Stamped) => {
    const stamp = decodeStamp(bytes);
    if (stamp === null) return;
    const cell = found.get(cellKey({ ...stamp, windowMs: windowOf(stamp.eventTimeMs) }));
    const place = `${partition}/${offset}`;
    // A letter that was replayed is a row, too.
    if (cell === undefined || known.has(place)) return;
    known.add(place);
    cell.push({ sequence: stamp.windowSequence, partition, offset, times });
  };
  await readStamps(query, rowsSql(table.name, snapshot, topic, cells), take, signal);
  try {
    await readStamps(query, lettersSql(table.name, topic, cells), take, signal);
  } catch (error) {
    if (!isLabError(error, "TABLE_NOT_FOUND", "NOT_A_TABLE")) throw error;
  }
  return found;
}

type Stamped = { partition: number; offset: bigint; times: number; stamp: Buffer };

/** One at a time: a run may have sent far more than the windows that are asked about. */
async function readStamps(
  query: Query,
  sql: string,
  take: (place: Stamped) => void,
  signal: AbortSignal,
): Promise<void> {
  const running = await query.start(sql, { signal });
  try {
    for await (const chunk of running.chunks)
      for (const [partition, offset, times, stamp] of chunk)
        take({
          ...{ partition: Number(partition), offset: BigInt(String(offset)), times: Number(times) },
          stamp: Buffer.from(String(stamp), "hex"),
        });
  } finally {
    await running.close();
  }
}

/** Rows of a routed stream are in other tables. */
function saysWhence({ schema, metadata }: Snapshot): boolean {
  if (metadata.configuration["lab.routes"] !== undefined) return false;
  const type = schema.fields.find(({ name }) => name === "_kafka")?.type;
  return type !== undefined && isStruct(type) && type.fields.some(({ name }) => name === "headers");
}

/** A message may have become several rows, which `_kafka_index` tells apart. */
function rowsSql(name: string, { schema }: Snapshot, topic: string, cells: readonly CellKey[]): string {
  const hasIndex = schema.fields.some((field) => field.name === "_kafka_index");
  const hasGeneration = JSON.stringify(schema.fields.at(-1)).includes('"generation"');
  const apart = [hasGeneration ? "_kafka.generation" : "0", hasIndex ? "_kafka_index" : "0"];
  return stampsSql({
    from: sqlName(name),
    ...{ topic, cells, place: '_kafka."partition", _kafka."offset"', of: "_kafka." },
    apart: apart.join(", "),
  });
}

function lettersSql(name: string, topic: string, cells: readonly CellKey[]): string {
  const from = sqlName(`${name}__dead_letters`);
  return stampsSql({ from, topic, cells, place: '"partition", "offset"', of: "", apart: "0, 0" });
}

function stampsSql(what: {
  from: string;
  topic: string;
  cells: readonly CellKey[];
  place: string;
  of: string;
  apart: string;
}): string {
  const { from, topic, cells, place, of, apart } = what;
  const runs = [...new Set(cells.map((cell) => encodeRun(cell).toString("hex").toUpperCase()))];
  // Nothing is sent before its run begins, or before it happens.
  const sinceMs = Math.min(...cells.map(({ epoch, windowMs }) => Math.max(epoch, windowMs))) - SKEW_MS;
  // With a dot a column of the table that is called h would come first.
  const header = `list_filter(${of}headers, lambda h: struct_extract(h, 'key') = ${sqlText(AUDIT_HEADER)})`;
  return `
    SELECT p, o, max(n), stamp FROM (
      SELECT p, o, generation, i, stamp, count(*) AS n FROM (
        SELECT ${place}, ${apart}, hex(${header}[1].value) FROM ${from}
        WHERE ${of}topic = ${sqlText(topic)} AND ${of}"timestamp" >= TIMESTAMPTZ '${new Date(sinceMs).toISOString()}'
      ) AS found(p, o, generation, i, stamp)
      WHERE ${runs.map((run) => `starts_with(stamp, '${run}')`).join(" OR ")}
      GROUP BY ALL
    ) AS counted GROUP BY p, o, stamp`;
}
