/**
 * The client's inner cluster object: brokers, their connections, and who leads what.
 *
 * It is private to kafkajs: the version is pinned, and the shape is relied on here, in broker-access.ts, fetch/send.ts and fetch/hand-over.ts alone.
 */

import type { Kafka as Vendor } from "kafkajs";
import { LabError } from "../core/errors.ts";

export type Broker = {
  listOffsets(request: unknown): Promise<{ responses: { partitions: PartitionOffset[] }[] }>;
  findGroupCoordinator(request: { groupId: string; coordinatorType: number }): Promise<unknown>;
  metadata(topics: string[]): Promise<Metadata>;
  /** By the keys of the protocol's requests. */
  apiVersions(): Promise<VersionRanges>;
  disconnect(): Promise<void>;
  connectionPool: { send<T>(request: RawRequest<T>): Promise<T>; pool: Connection[] };
};
export type Connection = {
  /** Takes what the socket brings. */
  processData(bytes: Buffer): void;
  /** There while it authenticates. */
  authHandlers: object | null;
  requestQueue: {
    fulfillRequest(response: { correlationId: number; payload: Buffer; size: number }): void;
  };
};
export type VersionRanges = Readonly<Record<number, { minVersion: number; maxVersion: number }>>;
export type RawRequest<T> = {
  request: {
    apiKey: number;
    apiName: string;
    apiVersion: number;
    encode(): Promise<{ buf: Buffer; buffer: Buffer }>;
  };
  response: {
    decode(bytes: Buffer): Promise<{ answer: T; clientSideThrottleTime: number }>;
    parse(decoded: { answer: T }): Promise<T>;
  };
};
export type Metadata = {
  topicMetadata: { topic: string; partitionMetadata: { partitionId: number; leader: number }[] }[];
};
export type PartitionOffset = { partition: number; offset: string };
export type Cluster = {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(node: { nodeId: number }): Promise<Broker>;
  brokerPool: { findConnectedBroker(): Promise<Broker> };
};

const READ_COMMITTED = 1;
const CREATE = "private:Kafka:createCluster";

/** A cluster of the client's that is nobody else's. */
export function createCluster(client: Vendor): Cluster {
  const name = Object.getOwnPropertySymbols(client).find((symbol) => symbol.description === CREATE);
  const inner = client as unknown as Record<symbol, (settings: object) => Cluster>;
  if (name === undefined || inner[name] === undefined)
    throw new LabError("INTERNAL", "this version of kafkajs has no inner cluster of the known shape");
  return inner[name]({ allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED });
}

/** Connects a cluster of its own and makes the brokers known. */
export async function connectCluster(client: Vendor): Promise<Cluster> {
  const cluster = createCluster(client);
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
export async function disconnect(connecting: Promise<Cluster>): Promise<void> {
  try {
    await (await connecting).disconnect();
  } catch {
    // nothing is left to be closed
  }
}
