/**
 * Where in a source's log a change stands, and which of two comes later. Positions are for what Kafka's offsets cannot tell: changes that a
 * connector sends again, at new offsets, after a restart or with a snapshot, and keys that move to another partition.
 */

import type { Order, Place } from "./change.ts";

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

/** `sub` of a Postgres position: that an update which changed the key made this row, or removed it. */
export const MADE_BY_KEY_CHANGE = 1n;
export const REMOVED_BY_KEY_CHANGE = 2n;

/** Negative where the first is older. `isCertain` is false where nothing proves that order. */
export type Comparison = { order: number; isCertain: boolean };

/**
 * Which of two changes of one key is older; 0 only for the same message. By position where both have one and these are comparable; else by
 * Kafka's offset within a partition, which is the order of a key's changes; else by time, which proves nothing. What has neither position nor
 * place (a row that was there before) is `null` and older than all.
 */
export function compareOrder(a: Order | null, b: Order | null): Comparison {
  if (a === null || b === null) return { order: Number(a !== null) - Number(b !== null), isCertain: true };
  const byLog = a.position && b.position ? comparePositions(a.position, b.position) : null;
  if (byLog) return { order: byLog, isCertain: true };
  const isSamePlace = a.place.partition === b.place.partition;
  if (a.position && b.position && (byLog === 0 || !isSamePlace)) {
    const order = compareTies(a.position, b.position, byLog === 0);
    if (order !== 0) return { order, isCertain: byLog === 0 };
  }
  const isForeign = byLog === null && a.position !== null && b.position !== null;
  return { order: comparePlaces(a.place, b.place), isCertain: isSamePlace && !isForeign };
}

/** Which of two positions is older, 0 where they are the same; null where they are of different logs. */
export function comparePositions(a: Position, b: Position): number | null {
  const relation = a.source === b.source ? "same log" : relationOf(a.source, b.source);
  if (typeof relation === "number") return relation;
  if (relation === "none" || isOfAnotherServer(a, b) || isOfAnotherServer(b, a)) return null;
  if (a.hi === b.hi && a.source.startsWith("postgresql/")) {
    const byKeyChange = withinTransaction(a.sub, b.sub);
    if (byKeyChange !== 0) return byKeyChange;
  }
  return compare(a.hi, b.hi) || compare(a.lo, b.lo) || compare(a.sub, b.sub);
}

/**
 * `UPDATE t SET id = id + 1` of rows 1 and 2 comes as delete 1, create 2, delete 2, create 3, all of one transaction: the row that was moved
 * to 2 stays, though 2 was deleted after.
 */
function withinTransaction(a: bigint, b: bigint): number {
  if (a === MADE_BY_KEY_CHANGE && b === REMOVED_BY_KEY_CHANGE) return 1;
  if (a === REMOVED_BY_KEY_CHANGE && b === MADE_BY_KEY_CHANGE) return -1;
  return 0;
}

/** MySQL: `mysql/NAME/SERVER/BINLOG` or, with a global transaction id, `mysql/NAME/SERVER/BINLOG/UUID:N`. */
function relationOf(a: string, b: string): number | "same log" | "none" {
  const [kindA, nameA, serverA, logA, gtidA = ""] = a.split("/");
  const [kindB, nameB, serverB, logB, gtidB = ""] = b.split("/");
  if (kindA !== kindB || kindA !== "mysql" || nameA !== nameB) return "none";
  // Snapshots do not say which server they are of.
  const isServer = serverA === serverB || serverA === "0" || serverB === "0";
  if (isServer && logA === logB) return "same log";
  const [idA, idB] = [parseGtid(gtidA), parseGtid(gtidB)];
  return idA && idB && idA.uuid === idB.uuid ? compare(idA.number, idB.number) : "none";
}

/** Clocks of a database and of its connector, which times the rows of a snapshot, may differ by less. */
const MOST_SKEW_MICROS = 60_000_000n;

/**
 * Servers give their binlogs the same name, and each counts its own. A snapshot that does not say its server is surely of another one than a change
 * that it has behind it and that happened after it was taken.
 */
function isOfAnotherServer(snapshot: Position, change: Position): boolean {
  const isUnnamed = /^mysql\/[^/]*\/0\//.test(snapshot.source) && !/^mysql\/[^/]*\/0\//.test(change.source);
  if (!isUnnamed || !isTimed(snapshot) || !isTimed(change)) return false;
  const isBehind = (compare(change.hi, snapshot.hi) || compare(change.lo, snapshot.lo)) < 0;
  return isBehind && change.timeMicros > snapshot.timeMicros + MOST_SKEW_MICROS;
}

/** Snapshots of old connectors have time 0. */
const isTimed = (position: Position): position is Position & { timeMicros: bigint } =>
  position.timeMicros !== null && position.timeMicros > 0n;

function parseGtid(text: string): { uuid: string; number: bigint } | null {
  const found = /^(.+):(\d+)$/.exec(text);
  return found ? { uuid: found[1]!, number: BigInt(found[2]!) } : null;
}

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

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
