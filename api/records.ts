/** Rows as the Kafka records that they came from: those of the table, and on from there those of the live topic. */

import { tmpdir } from "node:os";
import { LabError } from "../core/errors.ts";
import type { Table } from "../delta/table.ts";
import type { KafkaOptions } from "../kafka/ports.ts";
import type { HybridPosition } from "../replay/hybrid.ts";
import type { LakeRecord, LakeWork } from "../replay/lake.ts";
import { progressFromJson, progressToJson } from "../replay/place.ts";
import { streamTable, type TablePosition } from "../replay/stream-table.ts";

/** `value` is the message's own where `isOriginal`, else it was made again of columns. `change` is there where changes were asked for. */
export type KafkaRecord = Pick<
  LakeRecord,
  | "topic"
  | "partition"
  | "offset"
  | "timestampMs"
  | "key"
  | "value"
  | "headers"
  | "generation"
  | "isOriginal"
  | "change"
>;

/** `position` is a text: keep it beside what was done with the records, and begin there. */
export type RecordBatch = { records: KafkaRecord[]; version: number; position: string };

export type RecordsOptions = {
  /** All there is (default) or what comes from now on, what a version and later ones brought, or what is behind a position. */
  from?: "start" | "now" | { version: number } | { position: string };
  /** Go on for ever with what new versions bring; else end with the newest one. */
  follow?: boolean;
  /** Of which topic, where rows come from several. */
  topic?: string;
  /** What versions are that took rows out or changed them: the end with TABLE_REWRITTEN (default), passed over, or told row by row. */
  rewrites?: "fail" | "skip" | "changes";
  signal?: AbortSignal;
};

export type HybridRecordsOptions = {
  topic: string;
  kafka: Pick<KafkaOptions, "brokers" | "sasl" | "tls"> & Partial<KafkaOptions>;
  from?: { position: string };
  signal?: AbortSignal;
};

type Around = { work: LakeWork; signal: AbortSignal };

/** What reading may use unless the caller says otherwise. */
const MEMORY_BYTES = 512 * 1024 * 1024;

export function workOf(
  limits: { memoryLimitBytes?: number; threads?: number } | undefined,
  cache: LakeWork["cache"],
): LakeWork {
  return {
    scratchDir: tmpdir(),
    memoryLimitBytes: limits?.memoryLimitBytes ?? MEMORY_BYTES,
    threads: limits?.threads ?? 2,
    cache,
  };
}

export async function* tableRecords(
  table: Table,
  options: RecordsOptions,
  { work, signal }: Around,
): AsyncGenerator<RecordBatch> {
  const { from = "start", follow, topic, rewrites } = options;
  const begin =
    typeof from === "object" && "position" in from ? (parsePosition(from.position) as TablePosition) : from;
  const wish = {
    ...(follow === undefined ? {} : { follow }),
    ...(topic === undefined ? {} : { topic }),
    ...(rewrites === undefined ? {} : { rewrites }),
  };
  const stream = streamTable(table, { ...wish, from: begin, work, signal });
  for await (const { records, version, position } of stream)
    yield { records, version, position: positionText(position) };
}

export async function* tableThenTopic(
  table: Table,
  { topic, kafka, from }: HybridRecordsOptions,
  { work, signal }: Around,
): AsyncGenerator<RecordBatch> {
  // Loaded here: who only reads tables needs no Kafka client.
  const { connectKafka } = await import("../kafka/client.ts");
  const { hybridRecords } = await import("../replay/hybrid.ts");
  const connected = connectKafka({
    clientId: "delta-stream-lab",
    connectTimeoutMs: 30_000,
    ...kafka,
  });
  const begin = from === undefined ? {} : { from: parsePosition(from.position) as HybridPosition };
  const stream = hybridRecords({ table, kafka: connected, topic, ...begin, work, signal });
  for await (const { records, position } of stream)
    yield { records, version: position.version, position: positionText(position) };
}

function positionText(position: TablePosition | HybridPosition): string {
  return JSON.stringify({ ...position, reached: progressToJson(position.reached) });
}

/** USAGE for a text that is no position. */
function parsePosition(text: string): TablePosition | HybridPosition {
  try {
    const { reached, ...rest } = JSON.parse(text) as TablePosition & { reached: unknown };
    if (typeof rest.tableId === "string" && Number.isSafeInteger(rest.version))
      return { ...rest, reached: progressFromJson(reached) };
  } catch {
    // no position either
  }
  throw new LabError("USAGE", `no position: ${text.slice(0, 80)}`, {
    hint: "give one as a batch had it, unchanged",
  });
}
