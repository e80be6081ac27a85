/** kafkajs's producer for one topic: a topic that is deleted must not fail the others, as it does within one producer. */

import kafkajs, { type Producer } from "kafkajs";
import { newClient } from "./connection.ts";
import { classify, WRITER } from "./failures.ts";
import type { KafkaOptions, OutgoingRecord, SinkOptions } from "./ports.ts";

export type TopicWriter = {
  /**
   * One record batch. Rejects with a LabError. With `idempotent`, a repeat of the same records after an outage is stored once, provided
   * that nothing else was written to the partition in between.
   */
  write(partition: number, records: readonly OutgoingRecord[]): Promise<bigint>;
  close(): Promise<void>;
};

const ACKS = { all: -1, leader: 1, none: 0 } as const;
const UNKNOWN_OFFSET = -1n;

export function createTopicWriter(kafka: KafkaOptions, options: SinkOptions, topic: string): TopicWriter {
  const { CompressionTypes } = kafkajs;
  const compression = options.compression === "gzip" ? CompressionTypes.GZIP : CompressionTypes.None;
  let opening: Promise<Producer> | null = null;

  async function open(): Promise<Producer> {
    const producer = newClient(kafka).producer({
      idempotent: options.idempotent,
      allowAutoTopicCreation: false,
      metadataMaxAge: 10_000,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
    try {
      await producer.connect();
      return producer;
    } catch (error) {
      await producer.disconnect().catch(() => {});
      throw error;
    }
  }

  return {
    async write(partition, records) {
      try {
        opening ??= open().catch((error) => {
          opening = null;
          throw error;
        });
        const producer = await opening;
        const messages = records.map((record) => toMessage(record, partition));
        const [answer] = await producer.send({ topic, acks: ACKS[options.acks], compression, messages });
        return answer?.baseOffset === undefined ? UNKNOWN_OFFSET : BigInt(answer.baseOffset);
      } catch (error) {
        throw classify(error, { ...kafka, topic, rights: WRITER });
      }
    },
    async close() {
      const producer = await opening?.catch(() => null);
      await producer?.disconnect().catch(() => {});
    },
  };
}

type Message = Parameters<Producer["send"]>[0]["messages"][number];

function toMessage(record: OutgoingRecord, partition: number): Message {
  const { key, value, timestampMs, headers } = record;
  return {
    partition,
    key,
    value,
    ...(timestampMs === undefined ? {} : { timestamp: String(timestampMs) }),
    ...(headers === undefined ? {} : { headers: headers as NonNullable<Message["headers"]> }),
  };
}
