/**
 * The requests of a transaction, over connections that kafkajs makes (address, TLS, SASL). Its own producer cannot send headers in their
 * order, starts no producer id before the first transaction, and hides which request of a commit failed.
 */

import produceResponse from "kafkajs/src/protocol/requests/produce/v7/response.js";
import { isLabError, LabError } from "../core/errors.ts";
import { retry } from "../core/retry.ts";
import { type Broker, type Cluster, createCluster } from "./cluster.ts";
import { newClient } from "./connection.ts";
import { classify } from "./failures.ts";
import {
  type EncodedPartition,
  type LeaderConnections,
  type Offer,
  offerToLeaders,
  sendToLeaders,
} from "./leader-sends.ts";
import type { KafkaOptions, TransactionOptions } from "./ports.ts";

/** One producer in the eyes of the brokers. Every call rejects with a LabError. */
export type TransactionBroker = {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** Partition ids of a topic. TOPIC_MISSING. */
  partitions(topic: string): Promise<number[]>;
  /** Takes partitions into the transaction, once each, before records are sent to them. */
  join(topic: string, partitions: readonly number[]): Promise<void>;
  /** One batch a partition, sent once. Several offers may be on their way: leaders take them in their order or not at all. Never rejects. */
  offer(topic: string, partitions: readonly EncodedPartition[]): Promise<Offer>;
  /** One batch a partition, waiting while leaders change. */
  produce(topic: string, partitions: readonly EncodedPartition[]): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
  close(): Promise<void>;
};

type InnerBroker = Broker & {
  versions: Readonly<Record<number, { maxVersion: number } | undefined>>;
  connectionPool: { send(request: unknown): Promise<ProduceAnswer> };
  initProducerId(request: object): Promise<{ producerId: string; producerEpoch: number }>;
  addPartitionsToTxn(request: object): Promise<unknown>;
  endTxn(request: object): Promise<unknown>;
};
type InnerCluster = Cluster & {
  findGroupCoordinator(request: { groupId: string; coordinatorType: number }): Promise<Broker>;
};
type ProduceAnswer = { topics: { partitions: { partition: number; errorCode: number }[] }[] };

export const DEFAULT_TIMEOUT_MS = 60_000;
const TRANSACTION = 1;
const PRODUCE = 0;
/** Of Kafka 2.1 and later. */
const PRODUCE_VERSION = 7;
const ALL_ACKS = -1;
const ACK_TIMEOUT_MS = 30_000;
/** How long the coordinator may take to end what was before. */
const PATIENCE_MS = 30_000;
const PRODUCER_FENCED = 90;

/** Another holds the id, or the coordinator ended the transaction as it took too long: both are the same to older requests. */
const FENCED = new Set(["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"]);
/** What the broker knows of the transaction is not what was done: begun anew from what was committed, nothing is lost. */
const LOST = new Set([
  "OUT_OF_ORDER_SEQUENCE_NUMBER",
  "DUPLICATE_SEQUENCE_NUMBER",
  "UNKNOWN_PRODUCER_ID",
  "INVALID_PRODUCER_ID_MAPPING",
  "INVALID_TXN_STATE",
  "NOT_COORDINATOR_FOR_GROUP",
]);
/** The coordinator is about to be able to. */
const SOON = new Set([
  "CONCURRENT_TRANSACTIONS",
  "GROUP_LOAD_IN_PROGRESS",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
]);

/** Makes the id ours: what an earlier holder left open has ended when this resolves. */
export async function openTransactionBroker(
  kafka: KafkaOptions,
  options: TransactionOptions,
): Promise<TransactionBroker> {
  const { transactionalId, timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  const cluster = createCluster(newClient(kafka)) as InnerCluster;
  const leaders = new Map<string, Map<number, number>>();
  let coordinator: InnerBroker;
  let id: { producerId: string; producerEpoch: number };

  async function asking<T>(topic: string | undefined, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      throw failureOf(cause, kafka, transactionalId, topic);
    }
  }

  /** Waits out what passes by itself, which the client takes for a failure. */
  const patiently = <T>(call: () => Promise<T>, isRetryable: (error: unknown) => boolean) =>
    retry(call, { signal, firstMs: 20, maxMs: 500, deadlineMs: timeoutMs + PATIENCE_MS, isRetryable });

  async function leadersOf(topic: string): Promise<Map<number, number>> {
    const known = leaders.get(topic);
    if (known !== undefined) return known;
    const broker = await cluster.brokerPool.findConnectedBroker();
    const { topicMetadata } = await broker.metadata([topic]);
    const found = topicMetadata.find((entry) => entry.topic === topic)?.partitionMetadata ?? [];
    const led = new Map(found.map(({ partitionId, leader }) => [partitionId, leader]));
    leaders.set(topic, led);
    return led;
  }

  const connectionsOf = (topic: string): LeaderConnections => ({
    leaders: () => leadersOf(topic),
    forgetLeaders: () => void leaders.delete(topic),
    async send(nodeId, encoded) {
      const broker = (await cluster.findBroker({ nodeId })) as InnerBroker;
      const request = produceRequest(transactionalId, topic, encoded, broker);
      const { topics } = await broker.connectionPool.send(request);
      return topics.flatMap((entry) => entry.partitions);
    },
    patiently,
  });

  const end = (transactionResult: boolean) =>
    asking(undefined, () =>
      patiently(() => coordinator.endTxn({ transactionalId, ...id, transactionResult }), isSoon),
    ).then(() => undefined);

  try {
    await asking(undefined, async () => {
      await cluster.connect();
      await cluster.refreshMetadata();
    });
    const initialized = () =>
      asking(undefined, async () => {
        const request = { groupId: transactionalId, coordinatorType: TRANSACTION };
        coordinator = (await cluster.findGroupCoordinator(request)) as InnerBroker;
        return coordinator.initProducerId({ transactionalId, transactionTimeout: timeoutMs });
      });
    id = await patiently(initialized, (error) => isSoon(error) || (isLabError(error) && error.retryable));
  } catch (error) {
    await cluster.disconnect().catch(() => {});
    throw error;
  }

  return {
    producerId: BigInt(id.producerId),
    producerEpoch: id.producerEpoch,
    partitions: (topic) =>
      asking(topic, async () => [...(await leadersOf(topic)).keys()].sort((a, b) => a - b)),
    async join(topic, partitions) {
      const topics = [{ topic, partitions: [...partitions] }];
      const ask = () => coordinator.addPartitionsToTxn({ transactionalId, ...id, topics });
      await asking(topic, () => patiently(ask, isSoon));
    },
    async offer(topic, partitions) {
      const offer = await offerToLeaders(connectionsOf(topic), partitions);
      if (offer.failure === undefined) return offer;
      return { ...offer, failure: failureOf(offer.failure, kafka, transactionalId, topic) };
    },
    async produce(topic, partitions) {
      await asking(topic, () => sendToLeaders(connectionsOf(topic), partitions));
    },
    commit: () => end(true),
    abort: () => end(false),
    async close() {
      await cluster.disconnect().catch(() => {});
    },
  };
}

/** Written by hand, as kafkajs has no way to send batches that are encoded already. */
function produceRequest(
  transactionalId: string,
  topic: string,
  partitions: readonly EncodedPartition[],
  broker: InnerBroker,
): object {
  const { maxVersion = 0 } = broker.versions[PRODUCE] ?? {};
  if (maxVersion < PRODUCE_VERSION)
    throw new LabError(
      "KAFKA_PROTOCOL",
      "the broker is older than Kafka 2.1, and is not written to in transactions",
    );
  const parts: Buffer[] = [
    text(transactionalId),
    int16(ALL_ACKS),
    int32(ACK_TIMEOUT_MS),
    int32(1),
    text(topic),
  ];
  parts.push(int32(partitions.length));
  for (const { partition, batch } of partitions) parts.push(int32(partition), int32(batch.length), batch);
  const bytes = Buffer.concat(parts);
  return {
    request: {
      apiKey: PRODUCE,
      apiVersion: PRODUCE_VERSION,
      apiName: "Produce",
      // The shape of the client's own encoder, as far as it is looked at.
      encode: async () => ({ buf: bytes, buffer: bytes }),
    },
    response: { decode: produceResponse.decode, parse: async (answer: unknown) => answer },
  };
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int16(bytes.length), bytes]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function typeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { type, code, cause } = error as { type?: unknown; code?: unknown; cause?: unknown };
  if (code === PRODUCER_FENCED) return "PRODUCER_FENCED";
  return typeof type === "string" ? type : cause === undefined ? "" : typeOf(cause);
}

function isSoon(error: unknown): boolean {
  return SOON.has(typeOf(error));
}

function failureOf(cause: unknown, kafka: KafkaOptions, transactionalId: string, topic?: string): LabError {
  const type = typeOf(cause);
  const details = { transactionalId };
  if (FENCED.has(type))
    return new LabError(
      "PRODUCER_FENCED",
      `another producer writes as ${transactionalId}, or a transaction took too long`,
      {
        hint: "let the other one work; where there is none, start again: it goes on from what was committed",
        details,
        cause,
      },
    );
  if (LOST.has(type))
    return new LabError(
      "TRANSACTION_LOST",
      `the broker lost the transaction of ${transactionalId}: ${type}`,
      {
        details,
        cause,
      },
    );
  return classify(cause, {
    ...kafka,
    ...(topic === undefined ? {} : { topic }),
    rights: { topic: "WRITE", cluster: "IDEMPOTENT_WRITE" },
  });
}
