/** A topic as a consumer that reads what was committed sees it. */

import type { Kafka, RawRecord } from "../../kafka/ports.ts";

/** Its records by partition, in order; nothing where there is no such topic. */
export async function readTopic(kafka: Pick<Kafka, "admin">, topic: string): Promise<RawRecord[][]> {
  const { signal } = new AbortController();
  const admin = await kafka.admin();
  const all: RawRecord[][] = [];
  for (const partition of (await admin.partitions(topic)) ?? []) {
    const records: RawRecord[] = [];
    for (let at = 0n; ; ) {
      const found = await admin.recordAt({ topic, partition, nextOffset: at }, signal);
      if (found === null) break;
      records.push(found);
      at = found.offset + 1n;
    }
    all.push(records);
  }
  return all;
}
