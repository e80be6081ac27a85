/** What is to be done with each chosen record: pure, but for reading which commits settled it where a topic was made anew. */

import type { Snapshot, Table } from "../delta/table.ts";
import { appId } from "../ingest/identity.ts";
import type { Chosen } from "./choice.ts";

/** What a commit of the ingester says of a range of records. */
export type Settled = {
  topic: string;
  partition: number;
  first: bigint;
  last: bigint;
  minTimestampMs: number;
  maxTimestampMs: number;
  generation: number;
};

export type Placement =
  /** It is in the table already. */
  | { kind: "present" }
  /** The ingester has not settled it: it ended between letters and rows, and goes on there. */
  | { kind: "pending" }
  /** To be written, with this `_kafka.generation`. */
  | { kind: "write"; generation: number };

/** The last settled offset of a partition, in either form of txn ids; undefined where there is none. */
export function settledOffset(
  snapshot: Pick<Snapshot, "txn">,
  { app, topic, partition }: { app: string; topic: string; partition: number },
): bigint | undefined {
  return snapshot.txn(appId(app, topic, partition)) ?? snapshot.txn(appId(app, topic, partition, "kdi"));
}

/**
 * Where each record goes. Its generation is that of the commit that settled it: a topic that was made anew has other records at the same
 * offsets. Where the log does not go back as far, it is the newest one that no row at that offset has.
 */
export function place(
  chosen: readonly Chosen[],
  known: {
    settled: (topic: string, partition: number) => bigint | undefined;
    /** Of the newest commit of a topic; 0 where there is none. */
    generation: (topic: string) => number;
    /** Of all commits of topics that were made anew, newest first. */
    commits: readonly Settled[];
  },
): Map<number, Placement> {
  const placements = new Map<number, Placement>();
  const byPartition = new Map<string, Settled[]>();
  for (const one of known.commits) {
    const key = `${one.topic}-${one.partition}`;
    byPartition.set(key, [...(byPartition.get(key) ?? []), one]);
  }
  /** Generations that rows, or records placed before, have at an offset. */
  const taken = new Map<string, Set<number>>();
  // Of two records at one offset the newer one has the newer generation.
  for (const record of [...chosen].reverse()) {
    const { topic, partition, offset } = record;
    const key = `${topic}-${partition}@${offset}`;
    const others = taken.get(key) ?? new Set(record.generations);
    taken.set(key, others);
    const newest = known.generation(topic);
    const commit = byPartition.get(`${topic}-${partition}`)?.find((one) => covers(one, record));
    const settled = known.settled(topic, partition);
    if (record.isInTable) placements.set(record.place, { kind: "present" });
    else if (commit) placements.set(record.place, { kind: "write", generation: commit.generation });
    else if (settled === undefined || offset > settled) placements.set(record.place, { kind: "pending" });
    else {
      let generation = newest;
      while (generation > 0 && others.has(generation)) generation--;
      others.add(generation);
      placements.set(record.place, { kind: "write", generation });
    }
  }
  return placements;
}

function covers(commit: Settled, { offset, timestampMs }: Chosen): boolean {
  const isAtThatTime =
    timestampMs === null || (commit.minTimestampMs <= timestampMs && timestampMs <= commit.maxTimestampMs);
  return commit.first <= offset && offset <= commit.last && isAtThatTime;
}

/** As far as the ingester itself looks for the generation of a topic. */
const COMMITS_LOOKED_AT = 200;

/**
 * The generation of each topic, and for those that were made anew every commit that is still in the log; the log is not read further than
 * to the newest commit of each topic where none was.
 */
export async function readGenerations(
  table: Table,
  options: { app: string; topics: ReadonlySet<string>; signal: AbortSignal },
): Promise<{ generation: (topic: string) => number; commits: Settled[] }> {
  const generations = new Map<string, number>();
  const commits: Settled[] = [];
  let looked = 0;
  for await (const entry of table.history({ signal: options.signal })) {
    for (const one of settledBy(entry.commitInfo?.lab, options.app)) {
      if (!options.topics.has(one.topic)) continue;
      if (!generations.has(one.topic)) generations.set(one.topic, one.generation);
      commits.push(one);
    }
    looked++;
    const isKnown = generations.size === options.topics.size || looked >= COMMITS_LOOKED_AT;
    if (isKnown && [...generations.values()].every((generation) => generation === 0))
      return { generation: () => 0, commits: [] };
  }
  const isAnew = ({ topic }: Settled) => (generations.get(topic) ?? 0) > 0;
  return { generation: (topic) => generations.get(topic) ?? 0, commits: commits.filter(isAnew) };
}

/** Other engines may write anything under that name: what does not fit is not ours. */
function settledBy(lab: unknown, app: string): Settled[] {
  const { app: ours, generation, partitions } = (lab ?? {}) as Record<string, unknown>;
  if (ours !== app || !Array.isArray(partitions)) return [];
  return partitions.flatMap((item: unknown) => {
    const { topic, partition, first, last, minTimestamp, maxTimestamp } = (item ?? {}) as Record<
      string,
      unknown
    >;
    if (typeof topic !== "string" || !isOffset(first) || !isOffset(last)) return [];
    return [
      {
        topic,
        partition: Number(partition),
        first: BigInt(first),
        last: BigInt(last),
        minTimestampMs: Number(minTimestamp),
        maxTimestampMs: Number(maxTimestamp),
        generation: Number(generation ?? 0),
      },
    ];
  });
}

const isOffset = (value: unknown): value is string => typeof value === "string" && /^\d+$/.test(value);
