/** The broker of a command that does not start one. */

import { lockOwner } from "../services/folder-lock.ts";
import { parseBrokers } from "../services/kafka-address.ts";
import { readRunFile, runFilePath } from "../services/run-file.ts";

export const KAFKA_PART = "kafka";
export const DEFAULT_BROKER = "localhost:9092";

/**
 * The addresses that `choice` names. `auto`, `docker` and `jvm` mean the broker of the lab that runs on `dataDir`, or the usual
 * address where none runs. CONFIG_INVALID for what is no address.
 */
export async function findBrokers(choice: string, dataDir: string): Promise<string[]> {
  const isLadder = ["auto", "docker", "jvm"].includes(choice);
  const address = isLadder ? ((await runningBroker(dataDir)) ?? DEFAULT_BROKER) : choice;
  parseBrokers(address);
  return address.split(",").map((part) => part.trim());
}

async function runningBroker(dataDir: string): Promise<string | null> {
  if ((await lockOwner(dataDir)) === null) return null;
  return (await readRunFile(runFilePath(dataDir, KAFKA_PART)))?.address ?? null;
}
