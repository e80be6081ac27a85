/** How far versions of a table had come in a topic: what the ingester's transactions say. */

import type { Snapshot, Table } from "../delta/table.ts";
import { labInfoOf } from "../engine/lab-info.ts";

/** `<app>/<topic>-<partition>`, or, as kafka-delta-ingest has it, `<app>-<partition>`. */
const WITH_TOPIC = /^[^/]+\/(.+)-(\d+)$/;
const WITHOUT_TOPIC = /^[^/]+-(\d+)$/;
/** Ids of Spark's streams, some of which end like a partition. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Commits that are looked at for the topic's generation. */
const COMMITS_LOOKED_AT = 200;

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

/** The generation of a topic that a version's offsets are of, by the newest commit up to it that says so; null where none does. */
export async function generationAt(
  table: Table,
  options: { topic: string; version: number; signal: AbortSignal },
): Promise<number | null> {
  const { topic, version, signal } = options;
  for (let at = version; at >= 0 && at > version - COMMITS_LOOKED_AT; at--) {
    const actions = await table.commitActions(at, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (at === version) throw error;
      return null;
    });
    if (actions === null) return null;
    const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
    const lab = labInfoOf(info);
    if (lab?.partitions.some((one) => one.topic === topic)) return lab.generation;
  }
  return null;
}
