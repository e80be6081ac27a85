/** What a replay sends, and where to, as far as it is known before anything is done. */

import { LabError } from "../core/errors.ts";
import type { Action } from "../delta/actions.ts";
import { settledOffsets } from "../engine/settled-offsets.ts";
import { type Lake, openLake } from "./lake.ts";
import type { Place } from "./place.ts";
import type { ReplayProgress } from "./progress.ts";
import { fromText, startOf } from "./range.ts";
import type { ReplayOptions } from "./run.ts";
import type { Target } from "./target.ts";

/** A version that took rows out or changed them. */
export type Rewrite = { version: number; operation: string };

export type Course = {
  lake: Lake;
  version: number;
  asked: ReplayProgress["asked"];
  /** What an earlier run left, to go on from. */
  known: ReplayProgress | null;
  partitions: number;
  /** What the target must be like. */
  wish: Target;
  /** Where each partition begins if nothing was sent yet. */
  begin(): Promise<Map<number, Place>>;
  /** Where versions were asked for: those among them that took rows out or changed them, as far as the log tells. */
  rewrites(): Promise<Rewrite[]>;
};

export type CourseOptions = Pick<
  ReplayOptions,
  "table" | "target" | "topic" | "from" | "to" | "value" | "isAppended" | "repartition" | "work" | "signal"
>;

/** Of how many versions is looked up what they did. */
const VERSIONS_LOOKED_AT = 1_000;

/**
 * `last` is the progress of the newest run there was, and `version` what is sent unless it says otherwise; default: what was asked for. The caller closes
 * the lake. REPLAY_UNDERWAY, VERSION_NOT_FOUND, USAGE, ORIGIN_MISSING.
 */
export async function openCourse(
  options: CourseOptions,
  last: ReplayProgress | null,
  version?: number,
): Promise<Course> {
  const { table, target, from, to, value, isAppended, repartition, work, signal } = options;
  const newest = await table.latest(signal);
  // What is under way ends with the rows that it began with.
  const sent = last !== null && !last.isDone ? last.version : (version ?? to ?? newest.version);
  const snapshot = await table.at({ version: sent }, signal);
  const lake = await openLake({
    ...{ table: snapshot, store: table.store, adds: snapshot.files(), topic: options.topic },
    ...{ value, work, signal },
  });
  try {
    requireRows(lake, options.topic, table.store.root);
    const asked = {
      ...{ from: fromText(from), to: to ?? null, topic: lake.topic, value },
      repartition: repartition ?? null,
    };
    const known = goOnFrom(last, asked);
    const settled = settledOffsets(snapshot, lake.topic);
    const partitions = repartition ?? Math.max(0, ...lake.partitions, ...settled.keys()) + 1;
    const begin = () => startOf(from, { table, lake, signal });
    return {
      ...{ lake, version: sent, asked, known, partitions, begin },
      wish: {
        ...{
          topic: target,
          source: lake.topic,
          fillsTable: lake.topics.includes(target),
          partitions,
          isAppended,
          isExact: repartition !== undefined,
        },
        ...{ oldestMs: lake.oldestMs, newestMs: lake.newestMs },
        largest: async () => lake.largest(await begin(), signal),
      },
      rewrites: async () => (from.kind === "version" ? rewritesOf(options, from.version, sent) : []),
    };
  } catch (error) {
    await lake.close();
    throw error;
  }
}

async function rewritesOf({ table, signal }: CourseOptions, from: number, to: number): Promise<Rewrite[]> {
  const found: Rewrite[] = [];
  for (let version = Math.max(from, to - VERSIONS_LOOKED_AT + 1); version <= to; version++) {
    const actions = await table.commitActions(version, signal).catch((): Action[] => {
      signal.throwIfAborted();
      return [];
    });
    if (!actions.some((action) => "remove" in action && action.remove.dataChange)) continue;
    const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
    found.push({ version, operation: String(info?.operation ?? "unknown") });
  }
  return found;
}

function requireRows({ topics }: Lake, asked: string | undefined, root: string): void {
  if (asked === undefined || topics.includes(asked) || topics.length === 0) return;
  throw new LabError("USAGE", `no row of ${root} comes from topic ${asked}`, {
    hint: `there are rows of ${topics.join(", ")}`,
    details: { topic: asked, topics },
  });
}

/**
 * The progress to go on from where an earlier run left `last`, or null to begin. What is done goes on with the rows that came since. REPLAY_UNDERWAY
 * where another range was begun and is not done.
 */
export function goOnFrom(last: ReplayProgress | null, asked: ReplayProgress["asked"]): ReplayProgress | null {
  if (last === null) return null;
  const isSame = Object.entries(asked).every(
    ([name, value]) => last.asked[name as keyof typeof asked] === value,
  );
  if (isSame) return last;
  if (last.isDone) return null;
  const { from, to, topic, value } = last.asked;
  throw new LabError(
    "REPLAY_UNDERWAY",
    `another replay of the table into this topic is not done: from ${from} to version ${to ?? last.version} of ${topic}, values ${value}, ${last.sent} sent`,
    {
      hint: "start it again as it was to end it, or send to another topic",
      details: { ...last.asked, version: last.version, sent: last.sent },
    },
  );
}
