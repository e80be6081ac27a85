/** Records that the lab's own producer does not write: in transactions, and under keys of a compacted topic. */

import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../../core/cache-folder.ts";
import { kafkaClassPath } from "../../services/kafka-jars.ts";
import { readTopic } from "../support/independent-reader.ts";
import { kafkaTool } from "../support/kafka-tools.ts";
import { until } from "../support/until.ts";

type Target = { brokers: readonly string[]; topic: string; between(from: number, to: number): number };

/** Apache's transactional producer (Transact.java); resolves when it is through. */
export async function transact(
  target: Target,
  options: {
    partitions?: number;
    transactions: number;
    each: number;
    abortedPercent: number;
    pauseMs: number;
    endsAborted: boolean;
  },
): Promise<{ committed: number; aborted: number }> {
  const { partitions = 3, transactions, each, abortedPercent, pauseMs, endsAborted } = options;
  const classPath = await kafkaClassPath({
    cacheDir: cacheFolder(),
    say: () => {},
    signal: new AbortController().signal,
  });
  const program = fileURLToPath(new URL("./Transact.java", import.meta.url));
  const numbers = [partitions, transactions, each, abortedPercent, target.between(0, 2 ** 31), pauseMs].map(
    String,
  );
  const args = [
    "-XX:TieredStopAtLevel=1",
    "-cp",
    classPath,
    program,
    target.brokers.join(","),
    target.topic,
    ...numbers,
  ];
  const { stdout } = await promisify(execFile)("java", [...args, ...(endsAborted ? ["end-aborted"] : [])]);
  const committed = Number(stdout.trim());
  return { committed, aborted: transactions - committed / each };
}

/** Many values under few keys; returns once the broker has compacted them, and lets it compact no further. */
export async function compactedRecords(target: Target): Promise<void> {
  const broker = target.brokers[0] as string;
  const keyed = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => {
      const id = from + n;
      return `key-${id % 97}\t${JSON.stringify({ id, text: `message ${id}` })}\n`;
    }).join("");
  const properties = ["--property", "parse.key=true"];
  let written = 0;
  // A segment is closed by the first record after its time is over, and only closed ones are compacted.
  for (let n = 0; n < 3; n++) {
    await kafkaTool(
      "producer",
      broker,
      ["--topic", target.topic, ...properties],
      keyed(written, written + 1_500),
    );
    written += 1_500;
    await delay(700);
  }
  await kafkaTool("producer", broker, ["--topic", target.topic, ...properties], keyed(written, written + 97));
  written += 97;
  await until(
    "compaction",
    async () => (await readTopic(target.brokers, target.topic)).length < written / 2,
    {
      deadlineMs: 60_000,
    },
  );
  const off = [
    "--alter",
    "--entity-type",
    "topics",
    "--entity-name",
    target.topic,
    "--add-config",
    "cleanup.policy=delete",
  ];
  await kafkaTool("configs", broker, off);
  await transact(target, {
    partitions: 2,
    transactions: 4,
    each: 10,
    abortedPercent: 100,
    pauseMs: 0,
    endsAborted: true,
  });
}
