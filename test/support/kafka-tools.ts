/** Kafka's own command-line tools: clients that are not ours, to judge what ours did. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { cacheFolder } from "../../core/cache-folder.ts";
import { kafkaClassPath } from "../../services/kafka-jars.ts";

const CLASSES = {
  configs: "kafka.admin.ConfigCommand",
  topics: "org.apache.kafka.tools.TopicCommand",
  consumer: "org.apache.kafka.tools.consumer.ConsoleConsumer",
  producer: "org.apache.kafka.tools.ConsoleProducer",
  "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
  "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
};

/** Runs a tool against `broker` and returns its stdout. `input` becomes its stdin. */
export async function kafkaTool(
  tool: keyof typeof CLASSES,
  broker: string,
  args: readonly string[],
  input = "",
): Promise<string> {
  const signal = AbortSignal.timeout(90_000);
  const classPath = await kafkaClassPath({ cacheDir: cacheFolder(), say: () => {}, signal });
  const all = ["-cp", classPath, CLASSES[tool], "--bootstrap-server", broker, ...args];
  const running = promisify(execFile)("java", ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", ...all], {
    signal,
    maxBuffer: 256 * 1024 * 1024,
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** The first `count` values of a topic in the order of the console consumer, one a line. */
export function consumeValues(broker: string, topic: string, count: number): Promise<string> {
  const limits = ["--max-messages", String(count), "--timeout-ms", "30000"];
  return kafkaTool("consumer", broker, ["--topic", topic, "--from-beginning", ...limits]);
}
