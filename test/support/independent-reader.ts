/** What a topic really holds, by Apache Kafka's own Java consumer. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../core/cache-folder.ts";
import { kafkaClassPath } from "../../services/kafka-jars.ts";

export type ReadRecord = {
  partition: number;
  offset: bigint;
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  /** In their order, doubled names among them. */
  headers: [name: string, value: Buffer | null][];
};

/** Every record that a read-committed reader sees now, in no particular order of partitions. */
export async function readTopic(brokers: readonly string[], topic: string): Promise<ReadRecord[]> {
  const classPath = await kafkaClassPath({
    cacheDir: cacheFolder(),
    say: () => {},
    signal: new AbortController().signal,
  });
  const program = fileURLToPath(new URL("../referees/Consume.java", import.meta.url));
  const args = ["-XX:TieredStopAtLevel=1", "-cp", classPath, program, brokers.join(","), topic];
  const child = spawn("java", args, { stdio: ["ignore", "pipe", "pipe"] });
  const parts: Buffer[] = [];
  let err = "";
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    err += part;
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0) throw new Error(`the Java consumer ended with ${status}: ${err.slice(-2000)}`);
  const bytes = (text: string) => (text === "-" ? null : Buffer.from(text, "base64"));
  return Buffer.concat(parts)
    .toString("latin1")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [partition = "", offset = "", timestamp = "", key = "-", value = "-", headers = ""] =
        line.split("\t");
      return {
        partition: Number(partition),
        offset: BigInt(offset),
        timestampMs: Number(timestamp),
        key: bytes(key),
        value: bytes(value),
        headers: headers
          .split(",")
          .filter((header) => header !== "")
          .map((header) => {
            // Base64 may end in the sign that parts them.
            const [, name = "", content = "-"] = /^([A-Za-z0-9+/]*={0,2})=(.*)$/.exec(header) ?? [];
            return [String(bytes(name)), bytes(content)];
          }),
      };
    });
}
