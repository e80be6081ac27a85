/**
 * Fetch, versions 4 (Kafka 0.11) to 13 (3.1, and spoken by 4.x): the last that the brokers of today and those of years ago have in common
 * is 4; from 13 on a topic goes by its id, so that one that was deleted and made anew is not taken for the old one. No fetch session.
 */

import { createReader, createWriter } from "./wire.ts";

export const FETCH = { apiKey: 1, apiName: "Fetch", oldest: 4, newest: 13 } as const;
/** From this version on topics go by their ids, and by nothing else. */
export const BY_ID = 13;
const FLEXIBLE = 12;
const READ_COMMITTED = 1;

export type FetchRequest = {
  /** How long the broker may wait for `minBytes` to come, in ms. */
  maxWaitMs: number;
  /** Of the whole answer; default 1: for anything at all. */
  minBytes?: number;
  /** Of the whole answer; a first batch that is larger comes whole. */
  maxBytes: number;
  topics: readonly FetchTopic[];
};
export type FetchTopic = {
  name: string;
  /** 32 hex digits; null where the broker gave none, which rules out the versions that need it. */
  id: string | null;
  partitions: readonly { partition: number; fetchOffset: bigint; maxBytes: number }[];
};

export type AbortedTransaction = { producerId: bigint; firstOffset: bigint };
export type FetchedPartition = {
  topic: string;
  partition: number;
  /** Of the protocol; 0 is well. */
  errorCode: number;
  lastStableOffset: bigint;
  /** The transactions within the answer's range that were aborted, in no order. */
  aborted: readonly AbortedTransaction[];
  /** Another broker that wants to be asked for this partition instead; null: go on here. */
  preferredNode: number | null;
  /** Record batches as the log has them; the last may be cut off. A view into the answer. */
  records: Buffer;
};
export type FetchAnswer = {
  /** How long the broker asks us to send nothing, in ms. */
  throttleMs: number;
  /** Of the answer as a whole; 0 is well. */
  errorCode: number;
  partitions: FetchedPartition[];
};

/** The body of a request. A flexible one begins with the tagged fields that end the request's header. */
export function encodeFetch(version: number, request: FetchRequest): Buffer {
  const out = createWriter(version >= FLEXIBLE);
  out.end();
  out.int32(-1);
  out.int32(request.maxWaitMs);
  out.int32(request.minBytes ?? 1);
  out.int32(request.maxBytes);
  out.int8(READ_COMMITTED);
  if (version >= 7) {
    out.int32(0);
    out.int32(-1);
  }
  out.list(request.topics, (topic) => {
    if (version >= BY_ID) out.uuid(topic.id ?? "");
    else out.string(topic.name);
    out.list(topic.partitions, ({ partition, fetchOffset, maxBytes }) => {
      out.int32(partition);
      if (version >= 9) out.int32(-1);
      out.int64(fetchOffset);
      if (version >= FLEXIBLE) out.int32(-1);
      if (version >= 5) out.int64(-1n);
      out.int32(maxBytes);
      out.end();
    });
    out.end();
  });
  if (version >= 7) out.list([], () => {});
  if (version >= 11) out.string("");
  out.end();
  return out.bytes();
}

/** `topics` are those of the request: an answer by ids is told by them. KAFKA_PROTOCOL where it is no such answer. */
export function decodeFetch(version: number, answer: Buffer, topics: readonly FetchTopic[]): FetchAnswer {
  const from = createReader(answer, version >= FLEXIBLE);
  from.end();
  const throttleMs = from.int32();
  const errorCode = version >= 7 ? from.int16() : 0;
  if (version >= 7) from.int32();
  const partitions: FetchedPartition[] = [];
  from.list(() => {
    const topic = version >= BY_ID ? nameOf(from.uuid(), topics) : (from.string() ?? "");
    from.list(() => {
      const partition = from.int32();
      const code = from.int16();
      from.int64();
      const lastStableOffset = from.int64();
      if (version >= 5) from.int64();
      const aborted = from.list(() => {
        const transaction = { producerId: from.int64(), firstOffset: from.int64() };
        from.end();
        return transaction;
      });
      const preferred = version >= 11 ? from.int32() : -1;
      const records = from.piece();
      from.end();
      partitions.push({
        topic,
        partition,
        errorCode: code,
        lastStableOffset,
        aborted,
        preferredNode: preferred < 0 ? null : preferred,
        records,
      });
    });
    from.end();
  });
  from.end();
  return { throttleMs, errorCode, partitions };
}

function nameOf(id: string, topics: readonly FetchTopic[]): string {
  return topics.find((topic) => topic.id === id)?.name ?? "";
}
