/** The fetcher's way to the brokers: a cluster object of its own, made anew where it does not lead anywhere. */

import { type Cluster, connectCluster, disconnect } from "../cluster.ts";
import { newClient } from "../connection.ts";
import type { KafkaOptions } from "../ports.ts";
import type { AnswerMemory } from "./answer-memory.ts";
import type { FetchAnswer, FetchRequest } from "./fetch-api.ts";
import { handOverWhole } from "./hand-over.ts";
import type { TopicLayout } from "./metadata-api.ts";
import { sendFetch, sendMetadata } from "./send.ts";
import { socketsWith } from "./whole-answers.ts";

/** Every call rejects with the client's errors. One fetch at a time for each node. */
export type FetchWire = {
  /** Where the topics are now, by any broker that answers. */
  layout(topics: readonly string[]): Promise<TopicLayout[]>;
  fetch(node: number, request: FetchRequest): Promise<FetchAnswer>;
  /** Waits for what is on its way. */
  close(): Promise<void>;
};

/** Connects at the first call, and anew after each failure: a connection on which nothing came in time is not given up by the client. */
export function openFetchWire(options: KafkaOptions, memory: AnswerMemory): FetchWire {
  let current: Promise<Cluster> | null = null;

  async function use<T>(call: (cluster: Cluster) => Promise<T>): Promise<T> {
    current ??= connectCluster(newClient(options, socketsWith(memory)));
    const mine = current;
    try {
      return await call(await mine);
    } catch (error) {
      if (current === mine) {
        current = null;
        // What others are waiting for on it still comes: it is closed behind them.
        void disconnect(mine);
      }
      throw error;
    }
  }

  return {
    layout: (topics) =>
      use(async (cluster) => sendMetadata(await cluster.brokerPool.findConnectedBroker(), topics)),
    fetch: (nodeId, request) =>
      use(async (cluster) => {
        const broker = await cluster.findBroker({ nodeId });
        handOverWhole(broker);
        return sendFetch(broker, request);
      }),
    async close() {
      const mine = current;
      current = null;
      if (mine !== null) await disconnect(mine);
    },
  };
}
