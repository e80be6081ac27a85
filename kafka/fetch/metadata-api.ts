/** Metadata, versions 4 (Kafka 0.11) and 12 (3.1, with the topics' ids): who leads which partition. */

import { createReader, createWriter } from "./wire.ts";

export const METADATA = { apiKey: 3, apiName: "Metadata", oldest: 4, newest: 12 } as const;
const NO_ID = "0".repeat(32);

export type TopicLayout = {
  name: string;
  /** 32 hex digits; null where the broker gives none. */
  id: string | null;
  /** Of the protocol; 0 is well. */
  errorCode: number;
  /** By partition; -1 while there is none. */
  leaders: Map<number, number>;
};
export type MetadataAnswer = { throttleMs: number; topics: TopicLayout[] };
type Version = typeof METADATA.oldest | typeof METADATA.newest;

/** The body of a request that makes no topic. A flexible one begins with the tagged fields that end the request's header. */
export function encodeMetadata(version: Version, topics: readonly string[]): Buffer {
  const isFlexible = version === METADATA.newest;
  const out = createWriter(isFlexible);
  out.end();
  out.list(topics, (name) => {
    if (isFlexible) out.uuid(NO_ID);
    out.string(name);
    out.end();
  });
  out.int8(0);
  if (isFlexible) out.int8(0);
  out.end();
  return out.bytes();
}

/** KAFKA_PROTOCOL where it is no such answer. */
export function decodeMetadata(version: Version, answer: Buffer): MetadataAnswer {
  const isFlexible = version === METADATA.newest;
  const from = createReader(answer, isFlexible);
  const passInts = () => void from.list(from.int32);
  from.end();
  const throttleMs = from.int32();
  from.list(() => {
    from.int32();
    from.string();
    from.int32();
    from.string();
    from.end();
  });
  from.string();
  from.int32();
  const topics = from.list((): TopicLayout => {
    const errorCode = from.int16();
    const name = from.string() ?? "";
    const id = isFlexible ? from.uuid() : NO_ID;
    from.int8();
    const leaders = new Map<number, number>();
    from.list(() => {
      from.int16();
      const partition = from.int32();
      leaders.set(partition, from.int32());
      if (isFlexible) from.int32();
      passInts();
      passInts();
      if (isFlexible) passInts();
      from.end();
    });
    if (isFlexible) from.int32();
    from.end();
    return { name, id: id === NO_ID ? null : id, errorCode, leaders };
  });
  from.end();
  return { throttleMs, topics };
}
