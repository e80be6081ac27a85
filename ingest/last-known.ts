/** What the newest commits of a table say of a topic: its generation, and the marks of last settled records. */

import type { Table } from "../delta/table.ts";

export type LastKnown = {
  generation: number;
  fingerprints: Map<number, string>;
  /** Whether one of them is of this app and topic. */
  hasCommits: boolean;
};

/** How many commits are looked at; a partition quiet for longer goes without a mark. */
const COMMITS_LOOKED_AT = 200;

export async function lastKnown(
  table: Table,
  options: { app: string; topic: string; partitions: readonly number[]; signal: AbortSignal },
): Promise<LastKnown> {
  const known: LastKnown = { generation: 0, fingerprints: new Map(), hasCommits: false };
  const missing = new Set(options.partitions);
  for await (const entry of table.history({ limit: COMMITS_LOOKED_AT, signal: options.signal })) {
    // The generation is the topic's, also where none of the partitions was read before.
    if (missing.size === 0 && known.hasCommits) break;
    const lab = readLabInfo(entry.commitInfo?.lab);
    if (lab?.app !== options.app) continue;
    const ours = lab.partitions.filter((item) => item.topic === options.topic);
    if (ours.length === 0) continue;
    if (!known.hasCommits) known.generation = lab.generation;
    known.hasCommits = true;
    for (const { partition, fingerprint } of ours) {
      if (missing.delete(partition) && fingerprint !== "") known.fingerprints.set(partition, fingerprint);
    }
  }
  return known;
}

type LabInfo = {
  app: string;
  generation: number;
  partitions: { topic: string; partition: number; fingerprint: string }[];
};

/** Other engines may write anything under that name: what does not fit is not ours. */
function readLabInfo(value: unknown): LabInfo | null {
  if (typeof value !== "object" || value === null) return null;
  const lab = value as Record<string, unknown>;
  const { app, generation, partitions } = lab;
  if (typeof app !== "string" || !Array.isArray(partitions)) return null;
  // Moved by the user's word: what older commits say of these is of a topic that is gone.
  const moved = Array.isArray(lab.moved) ? lab.moved : [];
  const items = [...partitions, ...moved].flatMap((item: unknown) => {
    const { topic, partition, fingerprint } = (item ?? {}) as Record<string, unknown>;
    if (typeof topic !== "string") return [];
    return [
      {
        topic,
        partition: Number(partition),
        fingerprint: typeof fingerprint === "string" ? fingerprint : "",
      },
    ];
  });
  return { app, generation: Number(generation ?? 0), partitions: items };
}
