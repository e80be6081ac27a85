/** Transactions on the broker in memory: who holds an id, and the fencing of who held it before. */

import { isLabError, LabError } from "../core/errors.ts";
import { RAISE_LIMIT } from "./failures.ts";
import type { FakeCluster, FakeTopic } from "./fake-cluster.ts";
import type { Transaction } from "./fake-log.ts";
import type { TransactionalSink, TransactionOptions } from "./ports.ts";
import { recordBytes } from "./record-batch.ts";

type Holder = { end(state: "committed" | "aborted"): void };

/** Ids and who holds them, for one broker. */
export function createFakeTransactions(cluster: FakeCluster, defaultLimit: number) {
  const holders = new Map<string, Holder>();

  return async function open({ transactionalId, signal }: TransactionOptions): Promise<TransactionalSink> {
    signal.throwIfAborted();
    await new Promise(setImmediate);
    cluster.requireUp();
    holders.get(transactionalId)?.end("aborted");
    let transaction: Transaction = { state: "open" };
    let touched = new Set<FakeTopic["logs"][number]>();
    let failure: unknown;
    const holder: Holder = {
      end(state) {
        transaction.state = state;
        for (const log of touched) log.mark(transaction);
        transaction = { state: "open" };
        touched = new Set();
        cluster.wakeAll();
      },
    };
    holders.set(transactionalId, holder);

    async function guarded(work: () => void): Promise<void> {
      if (failure !== undefined) throw failure;
      try {
        await new Promise(setImmediate);
        cluster.requireUp();
        if (holders.get(transactionalId) !== holder)
          throw new LabError("PRODUCER_FENCED", `another producer writes as ${transactionalId}`, {
            details: { transactionalId },
          });
        work();
      } catch (error) {
        failure = error;
        throw error;
      }
    }

    return {
      send: (name, records) =>
        guarded(() => {
          const topic = cluster.topic(name);
          const limit = Number(topic.config["max.message.bytes"] ?? defaultLimit);
          for (const record of records) {
            const { partition, key, value, headers } = record;
            const log = topic.logs[partition];
            if (log === undefined)
              throw new LabError("TOPIC_MISSING", `topic ${name} has no partition ${partition}`);
            const bytes = recordBytes(record);
            if (bytes > limit)
              throw new LabError(
                "MESSAGE_TOO_LARGE",
                `topic ${name} does not take a batch of ${bytes} bytes`,
                {
                  hint: RAISE_LIMIT,
                  details: { topic: name, bytes },
                },
              );
            const { timestampMs } = cluster.stamp(topic, { key, value, timestampMs: record.timestampMs });
            log.append([{ timestampMs, key, value, headers }], transaction);
            touched.add(log);
          }
        }),
      commit: () => guarded(() => holder.end("committed")),
      async close() {
        const isOurs = holders.get(transactionalId) === holder;
        if (isOurs && !isLabError(failure, "BROKER_UNREACHABLE")) holder.end("aborted");
        failure ??= new LabError("INTERNAL", "the sink is closed");
      },
    };
  };
}
