/** How far a version of a table had come in a topic: what the transactions of ingesters say. */

import type { Snapshot } from "../delta/table.ts";

/** `<app>/<topic>-<partition>`, or, as kafka-delta-ingest has it, `<app>-<partition>`. */
const WITH_TOPIC = /^[^/]+\/(.+)-(\d+)$/;
const WITHOUT_TOPIC = /^[^/]+-(\d+)$/;
/** Ids of Spark's streams, some of which end like a partition. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The last offset of each partition that a version had settled: as a row, a letter, or left out on purpose. */
export function settledOffsets(snapshot: Pick<Snapshot, "txns">, topic: string): Map<number, bigint> {
  const settled = new Map<number, bigint>();
  const note = (partition: number, offset: bigint) => {
    if (offset > (settled.get(partition) ?? -1n)) settled.set(partition, offset);
  };
  let hasTopics = false;
  for (const [id, { version }] of snapshot.txns()) {
    const found = WITH_TOPIC.exec(id);
    if (found === null) continue;
    hasTopics = true;
    if (found[1] === topic) note(Number(found[2]), version);
  }
  if (hasTopics) return settled;
  for (const [id, { version }] of snapshot.txns()) {
    const found = UUID.test(id) ? null : WITHOUT_TOPIC.exec(id);
    if (found !== null) note(Number(found[1]), version);
  }
  return settled;
}
