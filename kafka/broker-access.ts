/**
 * Metadata, offsets and single fetches straight from the brokers, through the client's inner cluster object.
 *
 * The public admin cannot read a record, keeps partition counts for ever, and fails for every topic once one it was asked about is
 * deleted.
 */

import Batch from "kafkajs/src/consumer/batch.js";
import { LabError } from "../core/errors.ts";
import { type Cluster, createCluster } from "./cluster.ts";
import { newClient } from "./connection.ts";
import { classify, type Rights } from "./failures.ts";
import type { RawBatch } from "./fetched.ts";
import type { KafkaOptions, Position } from "./ports.ts";

/** What one fetch request answered. */
export type Scan = {
  batch: RawBatch;
  /** True where the broker sent records, visible or not. */
  isFilled: boolean;
  lastStableOffset: bigint;
};

export type BrokerAccess = {
  /** Fails as an outage unless some broker answers. */
  ping(): Promise<void>;
  topics(): Promise<string[]>;
  /** TOPIC_MISSING where there is no such topic. */
  partitions(topic: string): Promise<number[]>;
  /** By timestamp in ms, or EARLIEST, or LATEST (the last stable offset); -1 where no record is that young. */
  offsets(topic: string, timestampMs: number): Promise<Map<number, bigint>>;
  /** Null where the offset is not in the log (below its start, or beyond its end). */
  scan(position: Position): Promise<Scan | null>;
  /** Rejects with why a group's coordinator cannot be found, KAFKA_DENIED with the right in `rights` among it. */
  findCoordinator(group: string, rights: Rights): Promise<void>;
  close(): Promise<void>;
};

export const LATEST = -1;
export const EARLIEST = -2;
const READ_COMMITTED = 1;
/** The kind of a coordinator. */
const GROUP = 0;
const SCAN_BYTES = 1 << 20;
const SCAN_WAIT_MS = 20;

/** Connects at the first call, and anew after an outage. Every call rejects with a LabError. */
export function openBrokerAccess(options: KafkaOptions): BrokerAccess {
  let current: Promise<Cluster> | null = null;
  let scanning: Promise<unknown> = Promise.resolve();

  async function use<T>(
    on: { topic?: string; group?: string },
    call: (cluster: Cluster) => Promise<T>,
    rights: Rights = { topic: "DESCRIBE" },
  ): Promise<T> {
    current ??= connectCluster(options);
    const mine = current;
    let isConnected = false;
    try {
      const cluster = await mine;
      isConnected = true;
      return await call(cluster);
    } catch (cause) {
      const error = classify(cause, { ...options, ...on, rights });
      if ((error.retryable || !isConnected) && current === mine) {
        current = null;
        void disconnect(mine);
      }
      throw error;
    }
  }

  async function leaders(cluster: Cluster, topic: string): Promise<Map<number, number>> {
    const broker = await cluster.brokerPool.findConnectedBroker();
    const { topicMetadata } = await broker.metadata([topic]);
    const found = topicMetadata.find((entry) => entry.topic === topic)?.partitionMetadata ?? [];
    return new Map(found.map(({ partitionId, leader }) => [partitionId, leader]));
  }

  const scanOnce = ({ topic, partition, nextOffset }: Position): Promise<Scan | null> =>
    use(
      { topic },
      async (cluster) => {
        const nodeId = (await leaders(cluster, topic)).get(partition);
        if (nodeId === undefined)
          throw new LabError("TOPIC_MISSING", `topic ${topic} has no partition ${partition}`);
        const broker = await cluster.findBroker({ nodeId });
        const fetchOffset = String(nextOffset);
        const request = {
          isolationLevel: READ_COMMITTED,
          maxWaitTime: SCAN_WAIT_MS,
          minBytes: 1,
          maxBytes: SCAN_BYTES,
          topics: [{ topic, partitions: [{ partition, fetchOffset, maxBytes: SCAN_BYTES }] }],
        };
        const answer = await broker.fetch(request).catch((error: { type?: string }) => {
          if (error.type === "OFFSET_OUT_OF_RANGE") return null;
          throw error;
        });
        const data = answer?.responses[0]?.partitions[0];
        if (data === undefined) return null;
        return {
          batch: new Batch(topic, fetchOffset, data),
          isFilled: data.messages.length > 0,
          lastStableOffset: BigInt(data.lastStableOffset),
        };
      },
      { topic: "READ" },
    );

  return {
    ping: () => use({}, async (cluster) => void (await cluster.brokerPool.findConnectedBroker())),
    topics: () =>
      use({}, async (cluster) => {
        const broker = await cluster.brokerPool.findConnectedBroker();
        return (await broker.metadata([])).topicMetadata.map(({ topic }) => topic);
      }),
    partitions: (topic) =>
      use({ topic }, async (cluster) => [...(await leaders(cluster, topic)).keys()].sort((a, b) => a - b)),

    offsets: (topic, timestampMs) =>
      use({ topic }, async (cluster) => {
        const led = await leaders(cluster, topic);
        const found = new Map<number, bigint>();
        for (const nodeId of new Set(led.values())) {
          const partitions = [...led.keys()]
            .filter((partition) => led.get(partition) === nodeId)
            .map((partition) => ({ partition, timestamp: timestampMs }));
          const broker = await cluster.findBroker({ nodeId });
          const request = { isolationLevel: READ_COMMITTED, topics: [{ topic, partitions }] };
          const answer = (await broker.listOffsets(request)).responses.flatMap((entry) => entry.partitions);
          for (const { partition, offset } of answer) found.set(partition, BigInt(offset));
        }
        return new Map([...found].sort(([a], [b]) => a - b));
      }),

    findCoordinator: (group, rights) =>
      use(
        { group },
        async (cluster) => {
          const broker = await cluster.brokerPool.findConnectedBroker();
          await broker.findGroupCoordinator({ groupId: group, coordinatorType: GROUP });
        },
        rights,
      ),

    scan(position) {
      // One after the other: the client opens a second connection for fetches at the first of them, and two at once leak one.
      const mine = scanning.then(() => scanOnce(position));
      scanning = mine.catch(() => {});
      return mine;
    },

    async close() {
      const mine = current;
      current = null;
      if (mine !== null) await disconnect(mine);
    },
  };
}

async function connectCluster(options: KafkaOptions): Promise<Cluster> {
  const cluster = createCluster(newClient(options));
  try {
    await cluster.connect();
    // Without a target topic this asks for all: it is what makes the brokers known.
    await cluster.refreshMetadata();
    return cluster;
  } catch (error) {
    await cluster.disconnect().catch(() => {});
    throw error;
  }
}

/** A connection that is broken already must not keep anybody waiting, or fail anybody. */
async function disconnect(connecting: Promise<Cluster>): Promise<void> {
  try {
    await (await connecting).disconnect();
  } catch {
    // nothing is left to be closed
  }
}
