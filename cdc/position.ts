/**
 * Where in a source's log a change stands, and which of two comes later. Positions are for what Kafka's offsets cannot tell: changes that a
 * connector sends again, at new offsets, after a restart or with a snapshot, and keys that move to another partition.
 */

import type { Order, Place } from "./change.ts";
import { compare, type LogOrder, logOrder } from "./log-order.ts";

export type Position = {
  /** What makes positions comparable: the kind of source first, then what it is, separated by slashes. */
  source: string;
  /** Compared in this order, as numbers. */
  hi: bigint;
  lo: bigint;
  sub: bigint;
  /** When it happened by the source's clock, in µs since 1970; null where that is not told. */
  timeMicros: bigint | null;
  /** Read from the table as it stood, not from the log of its changes. */
  isSnapshot: boolean;
};

/** Negative where the first is older. `isCertain` is false where nothing proves that order. */
export type Comparison = { order: number; isCertain: boolean };

/**
 * Which of two changes of one key is older; 0 only for the same message. By position where both have one and these are comparable; else by
 * Kafka's offset within a partition, which is the order of a key's changes; else by time, which proves nothing. What has neither position nor
 * place (a row that was there before) is `null` and older than all.
 */
export function compareOrder(a: Order | null, b: Order | null): Comparison {
  if (a === null || b === null) return { order: Number(a !== null) - Number(b !== null), isCertain: true };
  const byLog = a.position && b.position ? logOrder(a.position, b.position) : null;
  if (byLog && byLog.order !== 0) return settled(byLog, a, b);
  const isSamePlace = a.place.partition === b.place.partition;
  if (a.position && b.position && (byLog || !isSamePlace)) {
    const order = compareTies(a.position, b.position, byLog !== null);
    if (order !== 0) return { order, isCertain: byLog !== null };
  }
  const isForeign = byLog === null && a.position !== null && b.position !== null;
  return { order: comparePlaces(a.place, b.place), isCertain: isSamePlace && !isForeign };
}

/** Clocks of a database, its replicas and its connector may differ by less. */
const MOST_SKEW_MICROS = 60_000_000n;

/**
 * Positions that are surely of one log decide. Of others that is doubted where Kafka has the two the other way round: either the older one came again,
 * or it is the newer one, of another server whose log is shorter. Clocks tell the first where they are far enough apart and agree with the
 * positions. Where they do not, Kafka's order counts, in which nothing is lost: a connector that sends changes again goes on to the newest.
 */
function settled({ order, trust }: LogOrder, a: Order, b: Order): Comparison {
  const certain = { order, isCertain: true };
  if (trust === "proven") return certain;
  const byClock = compareClocks(a.position!, b.position!, MOST_SKEW_MICROS);
  if (a.place.partition === b.place.partition) {
    const byKafka = comparePlaces(a.place, b.place);
    if (byKafka === 0 || isSameSign(byKafka, order)) return certain;
    const isDoubted = trust === "likely" ? isSameSign(byClock, byKafka) : !isSameSign(byClock, order);
    return isDoubted ? { order: byKafka, isCertain: false } : certain;
  }
  const isDoubted =
    trust === "likely"
      ? isSameSign(byClock, -order)
      : !isSameSign(compareClocks(a.position!, b.position!, 0n), order);
  return { order, isCertain: !isDoubted };
}

const isSameSign = (a: number, b: number) => a !== 0 && b !== 0 && a < 0 === b < 0;

/** Which happened first by their sources' clocks; 0 where they are no further apart than this, or one has no time. */
function compareClocks(a: Position, b: Position, apartMicros: bigint): number {
  if (!isTimed(a) || !isTimed(b)) return 0;
  const apart = a.timeMicros - b.timeMicros;
  return (apart < 0n ? -apart : apart) <= apartMicros ? 0 : compare(apart, 0n);
}

/** Snapshots of old connectors have time 0. */
const isTimed = (position: Position): position is Position & { timeMicros: bigint } =>
  position.timeMicros !== null && position.timeMicros > 0n;

function compareTies(a: Position, b: Position, isSamePosition: boolean): number {
  if (isSamePosition && a.isSnapshot !== b.isSnapshot) return a.isSnapshot ? -1 : 1;
  return a.timeMicros === null || b.timeMicros === null ? 0 : compare(a.timeMicros, b.timeMicros);
}

/**
 * The position of a row after a later change. One without a position (a tombstone after its delete, a row of an incremental snapshot) is as new
 * as what it replaces, which is not to come back when it is sent again.
 */
export function positionAfter(
  before: Pick<Order, "position"> | null,
  change: Pick<Order, "position">,
): Position | null {
  return change.position ?? before?.position ?? null;
}

/** Which of two messages Kafka has first. Across partitions there is no order, but always the same one. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.partition !== b.partition) return a.generation - b.generation || a.partition - b.partition;
  return a.generation - b.generation || compare(a.offset, b.offset);
}
