/** Steps of `lab up` that touch Kafka, the store, or our own program. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isLabError, LabError } from "../core/errors.ts";
import { tableNameOf } from "../ingest/identity.ts";
import type { LabStream } from "./lab-yaml.ts";
import { tableUriOf } from "./stream-options.ts";

/** Makes the topics that are missing. BROKER_UNREACHABLE, KAFKA_DENIED. */
export async function createTopics(
  brokers: readonly string[],
  topics: readonly { topic: string; partitions: number }[],
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  const { connectKafka } = await import("../kafka/client.ts");
  options.signal.throwIfAborted();
  const kafka = connectKafka({ brokers, clientId: "lab-up", connectTimeoutMs: options.timeoutMs });
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
export async function makeBucket(bucket: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const { ensureBucket } = await import("../delta/store/s3.ts");
  const { s3Settings } = await import("../delta/store/s3-settings.ts");
  await ensureBucket(bucket, s3Settings({}, env), signal);
}

/** `orders version 62` for each table that is there. */
export async function tableVersions(
  streams: readonly LabStream[],
  store: string,
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const { openStore } = await import("../delta/store/open.ts");
  const { openTable } = await import("../delta/open.ts");
  const signal = AbortSignal.timeout(5000);
  const found: string[] = [];
  for (const { topic, table } of streams) {
    const name = table ?? tableNameOf(topic);
    const opened = await openStore(tableUriOf(name, store), { signal, env });
    try {
      const { version } = await (await openTable(opened, signal)).latest(signal);
      found.push(`${name} version ${version}`);
    } catch (error) {
      if (!isLabError(error, "NOT_A_TABLE")) throw error;
    } finally {
      await opened.close();
    }
  }
  return found;
}

/** Path of `bin/lab.js`, from the sources and from `dist/`. */
export function labProgram(): string {
  for (const path of ["../bin/lab.js", "../../bin/lab.js"]) {
    const program = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(program)) return program;
  }
  throw new LabError("INTERNAL", "bin/lab.js is not beside the program");
}
