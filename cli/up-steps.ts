/** Steps of `lab up` that touch Kafka, the store, or our own program. */

import { asLabError, isLabError, type LabError } from "../core/errors.ts";
import { inParallel } from "../core/in-parallel.ts";
import type { S3Settings } from "../delta/store/s3-settings.ts";
import type { Store } from "../delta/store/store.ts";
import { tableNameOf } from "../ingest/identity.ts";
import type { KafkaAccess } from "./kafka-settings.ts";
import type { LabStream } from "./lab-yaml.ts";
import { tableUriOf } from "./stream-options.ts";
import type { PlannedChild } from "./up-plan.ts";

/** Makes the topics that are missing. BROKER_UNREACHABLE, KAFKA_DENIED, KAFKA_TLS. */
export async function createTopics(
  access: KafkaAccess,
  topics: readonly { topic: string; partitions: number }[],
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  const { connectKafka } = await import("../kafka/client.ts");
  options.signal.throwIfAborted();
  const kafka = connectKafka({ ...access, clientId: "lab-up", connectTimeoutMs: options.timeoutMs });
  const admin = await kafka.admin();
  try {
    for (const { topic, partitions } of topics) {
      options.signal.throwIfAborted();
      await admin.createTopic(topic, { partitions });
    }
  } finally {
    await admin.close();
  }
}

/** How many of the processes that start together start at a time. */
const STARTS_AT_ONCE = 4;

/**
 * Starts the children in their order, each ready before the next; those that are many alike a few at a time. One of these that cannot
 * start is told to `onFailure` and left, unless none of them can.
 */
export async function startInTurns(
  children: readonly PlannedChild[],
  start: (child: PlannedChild) => Promise<void>,
  options: { signal: AbortSignal; onFailure: (name: string, error: LabError) => void },
): Promise<void> {
  const many = children.filter(({ isOneOfMany }) => isOneOfMany);
  const failures: unknown[] = [];
  for (const child of children) {
    if (child === many[0]) {
      await inParallel(many, STARTS_AT_ONCE, async (one) => {
        try {
          await start(one);
        } catch (error) {
          options.signal.throwIfAborted();
          failures.push(error);
          options.onFailure(one.name, asLabError(error));
        }
      });
      if (failures.length === many.length) throw failures[0];
    } else if (!many.includes(child)) await start(child);
  }
}

/** Makes the bucket of a server that was started here. */
export async function makeBucket(bucket: string, s3: S3Settings, signal: AbortSignal): Promise<void> {
  const { ensureBucket } = await import("../delta/store/s3.ts");
  await ensureBucket(bucket, s3, signal);
}

const READS_AT_ONCE = 8;

/**
 * Returns a function that reads `orders version 62` for each table that is there. The stores are opened now, so that nothing has to be
 * loaded while the lab stops: Ctrl+C in a terminal also reaches the helper process that compiles our sources.
 */
export async function tableVersions(
  streams: readonly LabStream[],
  store: string,
  s3: S3Settings,
): Promise<() => Promise<string[]>> {
  const { openStore } = await import("../delta/store/open.ts");
  const { openTable } = await import("../delta/open.ts");
  const names = [...new Set(streams.map(({ topic, table }) => table ?? tableNameOf(topic)))];
  const neverAborted = new AbortController().signal;
  const opened = await Promise.all(
    names.map((name) => openStore(tableUriOf(name, store), { signal: neverAborted, s3 })),
  );
  return async () => {
    const signal = AbortSignal.timeout(5000);
    const found = await inParallel([...names.entries()], READS_AT_ONCE, async ([n, name]) => {
      const at = opened[n] as Store;
      try {
        const { version } = await (await openTable(at, signal)).latest(signal);
        return [`${name} version ${version}`];
      } catch (error) {
        if (!isLabError(error, "NOT_A_TABLE")) throw error;
        return [];
      } finally {
        await at.close();
      }
    });
    return found.flat();
  };
}
