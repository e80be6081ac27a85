/** Steps of `lab up` that touch Kafka, the store, or our own program. */

import { isLabError } from "../core/errors.ts";
import type { S3Settings } from "../delta/store/s3-settings.ts";
import type { Store } from "../delta/store/store.ts";
import { tableNameOf } from "../ingest/identity.ts";
import type { KafkaAccess } from "./kafka-settings.ts";
import type { LabStream } from "./lab-yaml.ts";
import { tableUriOf } from "./stream-options.ts";

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

/** Makes the bucket of a server that was started here. */
export async function makeBucket(bucket: string, s3: S3Settings, signal: AbortSignal): Promise<void> {
  const { ensureBucket } = await import("../delta/store/s3.ts");
  await ensureBucket(bucket, s3, signal);
}

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
  const names = streams.map(({ topic, table }) => table ?? tableNameOf(topic));
  const neverAborted = new AbortController().signal;
  const opened = await Promise.all(
    names.map((name) => openStore(tableUriOf(name, store), { signal: neverAborted, s3 })),
  );
  return async () => {
    const signal = AbortSignal.timeout(5000);
    const found: string[] = [];
    for (const [n, name] of names.entries()) {
      const at = opened[n] as Store;
      try {
        const { version } = await (await openTable(at, signal)).latest(signal);
        found.push(`${name} version ${version}`);
      } catch (error) {
        if (!isLabError(error, "NOT_A_TABLE")) throw error;
      } finally {
        await at.close();
      }
    }
    return found;
  };
}
