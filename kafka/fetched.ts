/** What the client hands over, in our words. */

import type { FetchedBatch, RawRecord } from "./ports.ts";

/** The client's batch as it is at run time; its declared type lacks what the protocol calls attributes. */
export type RawBatch = {
  topic: string;
  partition: number;
  fetchedOffset: string;
  messages: readonly RawMessage[];
  lastOffset(): string;
};

export type RawMessage = {
  offset: string;
  timestamp: string;
  key: Buffer | null;
  value: Buffer | null;
  headers?: Readonly<Record<string, Buffer | null | readonly (Buffer | null)[]>>;
  batchContext?: { timestampType?: number };
};

const LOG_APPEND_TIME = 1;

/**
 * A fetched range as batches that each have one kind of timestamp: one batch, unless the topic's setting was changed within the range.
 * They lie end to end from the fetched offset to one past the last offset scanned.
 */
export function toFetched(raw: RawBatch, generation: number): FetchedBatch[] {
  const { topic, partition } = raw;
  const batches: FetchedBatch[] = [];
  let fetchedOffset = BigInt(raw.fetchedOffset);
  for (let from = 0; from < raw.messages.length || batches.length === 0; ) {
    const timestampType = timestampTypeOf(raw.messages[from]);
    let to = from;
    while (to < raw.messages.length && timestampTypeOf(raw.messages[to]) === timestampType) to++;
    const isLast = to === raw.messages.length;
    const records = raw.messages.slice(from, to).map(toRecord);
    const nextOffset = (isLast ? BigInt(raw.lastOffset()) : records.at(-1)!.offset) + 1n;
    batches.push({ topic, partition, generation, fetchedOffset, nextOffset, timestampType, records });
    fetchedOffset = nextOffset;
    from = to;
  }
  return batches;
}

/** Doubled names stand side by side, where the first of them stood: the client keeps no other order between names. */
export function toRecord(message: RawMessage): RawRecord {
  return {
    offset: BigInt(message.offset),
    timestampMs: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: toHeaders(message.headers),
  };
}

const NO_HEADERS: RawRecord["headers"] = [];

function toHeaders(headers: RawMessage["headers"]): RawRecord["headers"] {
  if (headers === undefined) return NO_HEADERS;
  const names = Object.keys(headers);
  if (names.length === 0) return NO_HEADERS;
  return names.flatMap((name) => {
    const value = headers[name] ?? null;
    return isList(value) ? value.map((each) => [name, each] as const) : [[name, value] as const];
  });
}

function isList(value: Buffer | null | readonly (Buffer | null)[]): value is readonly (Buffer | null)[] {
  return Array.isArray(value);
}

function timestampTypeOf(message: RawMessage | undefined): FetchedBatch["timestampType"] {
  return message?.batchContext?.timestampType === LOG_APPEND_TIME ? "append" : "create";
}
