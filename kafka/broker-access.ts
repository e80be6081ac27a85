/**
 * Metadata, offsets and single fetches straight from the brokers, through the client's inner cluster object.
 *
 * The public admin cannot read a record, keeps partition counts for ever, and fails for every topic once one it was asked about is
 * deleted.
 */

import { LabError } from "../core/errors.ts";
import { type Cluster, connectCluster, disconnect } from "./cluster.ts";
import { newClient } from "./connection.ts";
import { classify, type Rights } from "./failures.ts";
import type { FetchedPartition } from "./fetch/fetch-api.ts";
import type { TopicLayout } from "./fetch/metadata-api.ts";
import { protocolError, sendFetch, sendMetadata } from "./fetch/send.ts";
import type { KafkaOptions, Position } from "./ports.ts";

export type BrokerAccess = {
  /** Fails as an outage unless some broker answers. */
  ping(): Promise<void>;
  topics(): Promise<string[]>;
  /** TOPIC_MISSING where there is no such topic. */
  partitions(topic: string): Promise<number[]>;
  /** By timestamp in ms, or EARLIEST, or LATEST (the last stable offset); -1 where no record is that young. */
  offsets(topic: string, timestampMs: number): Promise<Map<number, bigint>>;
  /** Null where the offset is not in the log (below its start, or beyond its end). */
  scan(position: Position): Promise<FetchedPartition | null>;
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
const OUT_OF_RANGE = 1;

/** Connects at the first call, and anew after an outage. Every call rejects with a LabError. */
export function openBrokerAccess(options: KafkaOptions): BrokerAccess {
  let current: Promise<Cluster> | null = null;
  let scanning: Promise<unknown> = Promise.resolve();

  async function use<T>(
    on: { topic?: string; group?: string },
    call: (cluster: Cluster) => Promise<T>,
    rights: Rights = { topic: "DESCRIBE" },
  ): Promise<T> {
    current ??= connectCluster(newClient(options));
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

  async function layout(cluster: Cluster, topic: string): Promise<TopicLayout> {
    const [found] = await sendMetadata(await cluster.brokerPool.findConnectedBroker(), [topic]);
    if (found === undefined)
      throw new LabError("KAFKA_PROTOCOL", `the broker says nothing of topic ${topic}`);
    if (found.errorCode !== 0) throw protocolError(found.errorCode);
    return found;
  }

  const scanOnce = ({ topic, partition, nextOffset }: Position): Promise<FetchedPartition | null> =>
    use(
      { topic },
      async (cluster) => {
        const { id, leaders } = await layout(cluster, topic);
        const nodeId = leaders.get(partition);
        if (nodeId === undefined)
          throw new LabError("TOPIC_MISSING", `topic ${topic} has no partition ${partition}`);
        const asked = { partition, fetchOffset: nextOffset, maxBytes: SCAN_BYTES };
        const { partitions } = await sendFetch(await cluster.findBroker({ nodeId }), {
          maxWaitMs: SCAN_WAIT_MS,
          maxBytes: SCAN_BYTES,
          topics: [{ name: topic, id, partitions: [asked] }],
        });
        const [found] = partitions;
        if (found === undefined || found.errorCode === OUT_OF_RANGE) return null;
        if (found.errorCode !== 0) throw protocolError(found.errorCode);
        return found;
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
      use({ topic }, async (cluster) =>
        [...(await layout(cluster, topic)).leaders.keys()].sort((a, b) => a - b),
      ),

    offsets: (topic, timestampMs) =>
      use({ topic }, async (cluster) => {
        const { leaders: led } = await layout(cluster, topic);
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
