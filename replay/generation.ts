/** Of which generation of a topic the offsets of a version are. */

import type { Table } from "../delta/table.ts";
import { labInfoOf } from "../engine/lab-info.ts";

/** Commits that are looked at for the topic's generation. */
const COMMITS_LOOKED_AT = 200;

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
