/** Which part of a table a replay sends: what the user asked, and the place in each partition where it begins. */

import { LabError } from "../core/errors.ts";
import type { Table } from "../delta/table.ts";
import { settledOffsets } from "../engine/settled-offsets.ts";
import { generationAt } from "./generation.ts";
import type { Lake } from "./lake.ts";
import { before, END, LAST_INDEX, type Place } from "./place.ts";

/**
 * - versions: offsets that version `from` and later ones settled, whatever became of the files since.
 * - time: as consumers seek: from the first record of each partition that is not older, and all behind it.
 * - offsets: from these, inclusive, in the newest generation; nothing of other partitions.
 */
export type From =
  | { kind: "start" }
  | { kind: "version"; version: number }
  | { kind: "time"; timestampMs: number }
  | { kind: "offsets"; first: ReadonlyMap<number, bigint> };

/** One text for one meaning: two replays are the same if they asked for the same. */
export function fromText(from: From): string {
  switch (from.kind) {
    case "start":
      return "start";
    case "version":
      return `version ${from.version}`;
    case "time":
      return `time ${new Date(from.timestampMs).toISOString()}`;
    case "offsets": {
      const pairs = [...from.first]
        .sort(([a], [b]) => a - b)
        .map(([partition, offset]) => `${partition}:${offset}`);
      return `offsets ${pairs.join(",")}`;
    }
  }
}

/**
 * Where each partition begins: records behind these places. VERSION_NOT_FOUND; USAGE where the offsets of a version cannot be told because
 * the topic was made anew, and for partitions that there are no rows of.
 */
export async function startOf(
  from: From,
  options: { table: Table; lake: Lake; signal: AbortSignal },
): Promise<Map<number, Place>> {
  const { table, lake, signal } = options;
  switch (from.kind) {
    case "start":
      return new Map();
    case "time":
      return lake.before(from.timestampMs, signal);
    case "offsets":
      return startAtOffsets(from.first, lake);
    case "version":
      // Only to say what there is.
      if (from.version > (await table.latest(signal)).version)
        await table.at({ version: from.version }, signal);
      return from.version === 0 ? new Map() : behindVersion(from.version - 1, table, lake, signal);
  }
}

function startAtOffsets(first: ReadonlyMap<number, bigint>, lake: Lake): Map<number, Place> {
  const unknown = [...first.keys()].find((partition) => !lake.partitions.includes(partition));
  if (unknown !== undefined)
    throw new LabError("USAGE", `the table has no row of partition ${unknown} of ${lake.topic}`, {
      hint: `there are rows of ${lake.partitions.join(", ")}`,
      details: { topic: lake.topic, partition: unknown },
    });
  return new Map(
    lake.partitions.map((partition) => {
      const offset = first.get(partition);
      return [
        partition,
        offset === undefined ? END : before(lake.generations.get(partition)!.newest, offset),
      ];
    }),
  );
}

async function behindVersion(
  version: number,
  table: Table,
  lake: Lake,
  signal: AbortSignal,
): Promise<Map<number, Place>> {
  const settled = settledOffsets(await table.at({ version }, signal), lake.topic);
  const all = [...lake.generations.values()];
  const isOne = all.every(({ oldest, newest }) => oldest === all[0]!.oldest && newest === oldest);
  const generation = isOne
    ? all[0]?.oldest
    : await generationAt(table, { topic: lake.topic, version, signal });
  if (generation === null)
    throw new LabError(
      "USAGE",
      `${lake.topic} was made anew, and the log no longer says which one version ${version} read`,
      {
        hint: "say where to begin with --from-offsets or --from-time",
        details: { topic: lake.topic, version },
      },
    );
  return new Map(
    [...settled].map(([partition, offset]) => [
      partition,
      { generation: generation ?? 0, offset, index: LAST_INDEX },
    ]),
  );
}
