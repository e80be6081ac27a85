/** Ranges of versions in words that mean something to people: their times, and the Kafka offsets they settled. */

import { historyEntry } from "../delta/history.ts";
import { readCommits } from "../delta/load.ts";
import { listLog } from "../delta/log-list.ts";
import type { Store } from "../delta/store/store.ts";
import { fileTimes } from "../delta/time-travel.ts";
import { type OffsetRange, offsetsOf } from "../engine/lab-info.ts";
import type { VersionRange } from "./version-ranges.ts";

export type DescribedVersions = {
  from: number;
  to: number;
  /** Times of the first and the last of them, in ms; null where their commit files are gone. */
  fromMs: number | null;
  toMs: number | null;
  /** What these versions settled of each Kafka partition, where an ingester wrote it down. */
  offsets: OffsetRange[];
};

/** Reads the commits of the ranges. */
export async function describeVersions(
  store: Store,
  ranges: readonly VersionRange[],
  signal: AbortSignal,
): Promise<DescribedVersions[]> {
  if (ranges.length === 0) return [];
  const { commits } = await listLog(store, 0, signal);
  const times = new Map(fileTimes(commits).map(({ version, timestampMs }) => [version, timestampMs]));
  const described: DescribedVersions[] = [];
  for (const [from, to] of ranges) {
    const offsets = new Map<string, OffsetRange>();
    const found: DescribedVersions = { from, to, fromMs: null, toMs: null, offsets: [] };
    const inside = commits.filter(({ version }) => version >= from && version <= to);
    for await (const { version, actions } of readCommits(store, inside, signal)) {
      const { timestampMs, commitInfo } = historyEntry(version, actions, times.get(version)!);
      if (version === from) found.fromMs = timestampMs;
      if (version === to) found.toMs = timestampMs;
      for (const range of offsetsOf(commitInfo)) {
        const key = `${range.topic}-${range.partition}`;
        offsets.set(key, { ...range, first: offsets.get(key)?.first ?? range.first });
      }
    }
    described.push({ ...found, offsets: [...offsets.values()] });
  }
  return described;
}
