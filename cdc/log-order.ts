/**
 * Which of two positions is older by what their sources say, and how far that can be trusted. A log is known by names that another server may have,
 * too: after a failover, or where a database was built anew, places begin again and say nothing beside those of before. Pure.
 */

import type { Position } from "./position.ts";

/**
 * `proven`: one log for certain. `likely`: one log by its server's name; a server that was built anew has the same. `guess`: which server it is of is not
 * told, or only clocks order it.
 */
export type Trust = "proven" | "likely" | "guess";

/** Negative where the first is older, 0 where they are the same. */
export type LogOrder = { order: number; trust: Trust };

/** `sub` of a Postgres position: that an update which changed the key made this row, or removed it. */
export const MADE_BY_KEY_CHANGE = 1n;
export const REMOVED_BY_KEY_CHANGE = 2n;

/** Null where they are of different logs. */
export function logOrder(a: Position, b: Position): LogOrder | null {
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return null;
  if (kind === "mysql") return binlogOrder(a, b);
  if (a.source !== b.source) return null;
  if (kind === "postgresql") return placed("likely", a, b, byTransaction(a, b));
  return placed(BY_CLOCK.has(kind) ? "guess" : "proven", a, b);
}

const kindOf = ({ source }: Position) => source.split("/", 1)[0]!;

/** Their highest number is a time. */
const BY_CLOCK: ReadonlySet<string> = new Set(["dms", "maxwell"]);

/** At one place there is no doubt: rows of one snapshot, or one transaction. */
function placed(trust: Trust, a: Position, b: Position, order = byNumbers(a, b)): LogOrder {
  return { order, trust: a.hi === b.hi && a.lo === b.lo ? "proven" : trust };
}

const byNumbers = (a: Position, b: Position) =>
  compare(a.hi, b.hi) || compare(a.lo, b.lo) || compare(a.sub, b.sub);

/**
 * `UPDATE t SET id = id + 1` of rows 1 and 2 comes as delete 1, create 2, delete 2, create 3, all of one transaction: the row that was moved
 * to 2 stays, though 2 was deleted after.
 */
function byTransaction(a: Position, b: Position): number {
  const isMade = (one: Position, other: Position) =>
    one.sub === MADE_BY_KEY_CHANGE && other.sub === REMOVED_BY_KEY_CHANGE;
  if (a.hi !== b.hi || isMade(a, b) === isMade(b, a)) return byNumbers(a, b);
  return isMade(a, b) ? 1 : -1;
}

/**
 * `mysql/NAME/SERVER/BINLOG` or, with a transaction's global id, `mysql/NAME/SERVER/BINLOG/GTID`. The server is the one that the transaction was made
 * on, and not always the one whose binlog was read: after a failover its transactions come from another one's, at other places. So where both have
 * an id of the same origin, that counts. Snapshots say neither server (0) nor id.
 */
function binlogOrder(a: Position, b: Position): LogOrder | null {
  const [, nameA, serverA, logA, idA = ""] = a.source.split("/");
  const [, nameB, serverB, logB, idB = ""] = b.source.split("/");
  if (nameA !== nameB) return null;
  const isNamed = serverA !== "0" && serverB !== "0";
  const isOneServer = isNamed && serverA === serverB;
  const [mine, theirs] = [parseTransaction(idA), parseTransaction(idB)];
  if (mine && theirs) {
    if (mine.origin !== theirs.origin) return null;
    const order = compare(mine.number, theirs.number);
    // Members of a group count under one name, each in numbers that it has set aside.
    if (order !== 0) return { order, trust: isOneServer ? "proven" : "guess" };
  }
  if (logA !== logB || (isNamed && !isOneServer)) return null;
  return placed(isOneServer ? "likely" : "guess", a, b);
}

/** `UUID:N`, `UUID:TAG:N` of MySQL, `DOMAIN-SERVER-N` of MariaDB. */
function parseTransaction(text: string): { origin: string; number: bigint } | null {
  const found = /^(.+):(\d{1,20})$/.exec(text) ?? /^(\d+)-\d+-(\d{1,20})$/.exec(text);
  return found && { origin: found[1]!, number: BigInt(found[2]!) };
}

export const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
