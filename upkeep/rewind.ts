/** Kafka positions, and those of roll-ups, as they were in an older version: what `restore --rewind-offsets` writes beside the files. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Txn } from "../delta/actions.ts";
import { readCommits } from "../delta/load.ts";
import { listLog } from "../delta/log-list.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { labInfoOf } from "../engine/lab-info.ts";

export type Rewound = {
  appId: string;
  /** The last settled offset before and after; -1 where nothing is settled. */
  from: bigint;
  to: bigint;
};

/** Transactions that hold the position of a Kafka partition: `lab/orders-0`, or `app-0` as kafka-delta-ingest has it. */
const POSITION = /-\d+$/;
/** Ids of Spark's streams, which count batches: some end like a partition. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** How far another table's log is summed up in this one: the rows that go hold the sums. */
const ROLL_UP = /^[^/]+\/audit-rollup\//;
/** Commits of others that are passed over on the way to one of an ingester. */
const COMMITS_LOOKED_AT = 200;

/**
 * The positions of `target` where they differ from those of `latest`. A partition that had none then goes back to just before the first offset
 * that was read of it since, or to the topic's start where no commit says. TOPIC_RESET where a topic was made anew in between.
 */
export async function rewoundPositions(
  table: Table,
  latest: Snapshot,
  target: Snapshot,
  signal: AbortSignal,
): Promise<Rewound[]> {
  const since = await readSince(table, latest, target, signal);
  const generation = (await generationAt(table, target.version, signal)) ?? since.lowestGeneration;
  if (since.highestGeneration > generation)
    throw new LabError(
      "TOPIC_RESET",
      `a topic was made anew after version ${target.version}: the offsets of that version are of a topic that is gone`,
      {
        hint: "restore without --rewind-offsets; or restore to a version after the topic was made anew",
        details: { version: target.version },
      },
    );
  const rewound: Rewound[] = [];
  for (const appId of new Set([...latest.txns().keys(), ...target.txns().keys()])) {
    const isRollUp = ROLL_UP.test(appId);
    if (!isRollUp && (!POSITION.test(appId) || UUID.test(appId))) continue;
    const from = latest.txn(appId) ?? -1n;
    const first = isRollUp ? 0n : (since.first.get(appId) ?? 0n);
    const to = target.txn(appId) ?? first - 1n;
    if (from !== to) rewound.push({ appId, from, to });
  }
  return rewound;
}

export function txnsOf(rewound: readonly Rewound[]): Txn[] {
  return rewound.map(({ appId, to }) => ({ appId, version: to }));
}

/** What the commits after `target` say: the first offset read by each transaction, and the generations of topics. */
async function readSince(table: Table, latest: Snapshot, target: Snapshot, signal: AbortSignal) {
  const { commits } = await listLog(table.store, target.version + 1, signal);
  const newer = commits.filter(({ version }) => version > target.version && version <= latest.version);
  const first = new Map<string, bigint>();
  let [lowestGeneration, highestGeneration] = [Number.POSITIVE_INFINITY, 0];
  for await (const { actions } of readCommits(table.store, newer, signal)) {
    const lab = labInfoOf(actions.find((action) => "commitInfo" in action)?.commitInfo);
    if (!lab) continue;
    lowestGeneration = Math.min(lowestGeneration, lab.generation);
    highestGeneration = Math.max(highestGeneration, lab.generation);
    for (const range of lab.partitions)
      for (const appId of [`${lab.app}/${range.topic}-${range.partition}`, `${lab.app}-${range.partition}`])
        if (!first.has(appId)) first.set(appId, BigInt(range.first));
  }
  return { first, lowestGeneration, highestGeneration };
}

/** The generation that the newest commit of an ingester up to `version` wrote; undefined where none is near. */
async function generationAt(table: Table, version: number, signal: AbortSignal): Promise<number | undefined> {
  for (let at = version; at >= 0 && at > version - COMMITS_LOOKED_AT; at--) {
    try {
      const actions = await table.commitActions(at, signal);
      const lab = labInfoOf(actions.find((action) => "commitInfo" in action)?.commitInfo);
      if (lab) return lab.generation;
    } catch (error) {
      if (isLabError(error, "VERSION_NOT_FOUND")) return undefined;
      throw error;
    }
  }
  return undefined;
}
