/** Which dead letters are meant: as data, and as a condition over `records`. */

import { quoteText } from "../engine/instance.ts";

/** Open until a row of it is in the table (replayed), or somebody said that there need not be one (dropped). */
export type LetterState = "open" | "replayed" | "dropped";

/** Offsets `first` to `last`, both included; of every partition where none is named. */
export type OffsetSpan = { partition: number | null; first: bigint; last: bigint };

/** All that is given must hold; of a list one is enough. */
export type LetterFilter = {
  /** Default: open. */
  states?: readonly LetterState[];
  topics?: readonly string[];
  partitions?: readonly number[];
  offsets?: readonly OffsetSpan[];
  stages?: readonly string[];
  codes?: readonly string[];
  /** When the letter was first written, in ms: from `sinceMs` on, before `untilMs`. */
  sinceMs?: number;
  untilMs?: number;
  /** The first ones by topic, partition and offset. */
  limit?: number;
};

export const OPEN: readonly LetterState[] = ["open"];

/** Whether it leaves no letter of the states it names out. */
export function isUnfiltered(filter: LetterFilter): boolean {
  const { states: _, sinceMs, untilMs, limit, ...lists } = filter;
  const times = [sinceMs, untilMs, limit];
  return times.every((one) => one === undefined) && Object.values(lists).every((one) => one.length === 0);
}

/** A condition over `records`, apart from states and limit. */
export function conditionOf(filter: LetterFilter): string {
  const parts: string[] = [];
  const oneOf = (column: string, texts: readonly string[] = []) => {
    if (texts.length > 0) parts.push(`${column} IN (${texts.join(", ")})`);
  };
  oneOf("topic", filter.topics?.map(quoteText));
  oneOf('"partition"', filter.partitions?.map(String));
  oneOf("stage", filter.stages?.map(quoteText));
  oneOf("error_code", filter.codes?.map(quoteText));
  const spans = (filter.offsets ?? []).map(({ partition, first, last }) => {
    const within = `"offset" BETWEEN ${first} AND ${last}`;
    return partition === null ? `(${within})` : `("partition" = ${partition} AND ${within})`;
  });
  if (spans.length > 0) parts.push(`(${spans.join(" OR ")})`);
  if (filter.sinceMs !== undefined) parts.push(`first_at >= ${moment(filter.sinceMs)}`);
  if (filter.untilMs !== undefined) parts.push(`first_at < ${moment(filter.untilMs)}`);
  return parts.length > 0 ? parts.join(" AND ") : "true";
}

/** A condition on the state alone. */
export function stateCondition({ states = OPEN }: LetterFilter): string {
  return `state IN (${states.map(quoteText).join(", ")})`;
}

function moment(ms: number): string {
  return `make_timestamptz(${BigInt(Math.floor(ms)) * 1000n})`;
}
