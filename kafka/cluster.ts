/**
 * The client's inner cluster object, which answers fetches rightly (committed.ts).
 *
 * It is private to kafkajs: the version is pinned, and the shape is relied on here and in broker-access.ts alone.
 */

import type { Kafka as Vendor } from "kafkajs";
import { LabError } from "../core/errors.ts";
import { type FetchedPartition, markAnswer } from "./committed.ts";

export type Broker = {
  metadata(topics: string[]): Promise<Metadata>;
  listOffsets(request: unknown): Promise<{ responses: { partitions: PartitionOffset[] }[] }>;
  fetch(request: unknown): Promise<FetchAnswer>;
  findGroupCoordinator(request: { groupId: string; coordinatorType: number }): Promise<unknown>;
};
export type PartitionOffset = { partition: number; offset: string };
export type Metadata = {
  topicMetadata: { topic: string; partitionMetadata: { partitionId: number; leader: number }[] }[];
};
export type FetchAnswer = {
  responses: { partitions: (FetchedPartition & { lastStableOffset: string })[] }[];
};
export type Cluster = {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(node: { nodeId: number }): Promise<Broker>;
  brokerPool: { findConnectedBroker(): Promise<Broker> };
};

export type CreateCluster = (settings: object) => Cluster;

const READ_COMMITTED = 1;

/** A cluster of the client's that is nobody else's. */
export function createCluster(client: Vendor): Cluster {
  const settings = { allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED };
  return factoryOf(client).create(settings);
}

/** Makes every consumer of this client see what is committed and nothing else. */
export function readCommittedOnly(client: Vendor): void {
  const { create, replace } = factoryOf(client);
  replace((settings) => {
    const cluster = create(settings);
    const findBroker = cluster.findBroker.bind(cluster);
    const answering = new WeakSet<Broker>();
    cluster.findBroker = async (node) => {
      const broker = await findBroker(node);
      if (!answering.has(broker)) {
        answering.add(broker);
        const fetch = broker.fetch.bind(broker);
        broker.fetch = async (request) => markAnswer(await fetch(request));
      }
      return broker;
    };
    return cluster;
  });
}

function factoryOf(client: Vendor): { create: CreateCluster; replace(create: CreateCluster): void } {
  const inner = client as unknown as Record<symbol, CreateCluster>;
  const name = Object.getOwnPropertySymbols(client).find(
    (symbol) => symbol.description === "private:Kafka:createCluster",
  );
  const create = name === undefined ? undefined : inner[name];
  if (name === undefined || create === undefined)
    throw new LabError("INTERNAL", "this version of kafkajs has no inner cluster of the known shape");
  return {
    create: (settings) => create.call(client, settings),
    replace(other) {
      inner[name] = other;
    },
  };
}
