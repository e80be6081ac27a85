/** Which messages a finding is about, and what they tell of its cause; pure. */

import type { Cause, Finding, Named, Place } from "./findings.ts";
import { STAGES } from "./findings.ts";
import type { Seen } from "./seen.ts";

/** Ranges and places that are kept of a finding. */
export const MOST_RANGES = 100;

/**
 * The findings of a cell in the light of the messages that are there: what is missing by its places in the window, what is there twice by its
 * places in Kafka. One sequence at two offsets was sent twice by the producer; one offset that is in the table twice was written twice. A cell with
 * as many as it should have may lack one and have another twice.
 */
export function nameMessages(
  finding: Finding,
  cell: { stated: number; first: number; last: number; found: number; whyMissing: Cause },
  seen: readonly Seen[],
): Finding[] {
  const { stated, first, last, found } = cell;
  const bySequence = new Map<number, Seen[]>();
  for (const one of seen) {
    const others = bySequence.get(one.sequence);
    if (others) others.push(one);
    else bySequence.set(one.sequence, [one]);
  }
  const missing: number[] = [];
  for (let sequence = first; sequence <= last; sequence++)
    if (!bySequence.has(sequence)) missing.push(sequence);
  const absent = absentOf(found, seen);
  const results: Finding[] = [];
  const lost = stated - (last - first + 1 - missing.length) - absent;
  if (lost > 0) {
    const cause = cell.whyMissing;
    const named = namedOf(missing, missing.length === lost, []);
    results.push({ ...finding, cause, stage: STAGES[cause], count: lost, named });
  }
  const sentTwice = [...bySequence.values()].filter((places) => places.length > 1);
  const writtenTwice = seen.filter(({ times }) => times > 1);
  if (sentTwice.length > 0)
    results.push(
      doubled(
        finding,
        "producer",
        sentTwice.flat(),
        sum(sentTwice, (places) => places.length - 1),
      ),
    );
  if (writtenTwice.length > 0)
    results.push(
      doubled(
        finding,
        "ingest",
        writtenTwice,
        sum(writtenTwice, ({ times }) => times - 1),
      ),
    );
  return results.length > 0 ? results : [finding];
}

/** Settled messages that are neither row nor letter: a transform left them out, or somebody deleted them. */
export function absentOf(found: number, seen: readonly Seen[]): number {
  return Math.max(0, found - seen.length);
}

function doubled(finding: Finding, stage: Finding["stage"], places: readonly Seen[], count: number): Finding {
  const sequences = [...new Set(places.map(({ sequence }) => sequence))].sort((a, b) => a - b);
  return { ...finding, cause: "doubled", stage, count, named: namedOf(sequences, true, places) };
}

function namedOf(sequences: readonly number[], isExact: boolean, places: readonly Place[]): Named {
  return {
    sequences: rangesOf(sequences).slice(0, MOST_RANGES),
    isExact,
    places: places
      .slice(0, MOST_RANGES)
      .map(({ sequence, partition, offset }) => ({ sequence, partition, offset })),
  };
}

/** Neighbours of a rising list together. */
export function rangesOf(numbers: readonly number[]): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (const one of numbers) {
    const last = ranges.at(-1);
    if (last && last[1] === one - 1) last[1] = one;
    else ranges.push([one, one]);
  }
  return ranges;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
