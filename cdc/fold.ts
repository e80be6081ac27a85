/**
 * Several changes of a key become one: applied in the order of the source, one to the other, so that a batch leaves at most one change a key.
 * Last wins would be wrong: a later update may leave out what an earlier one told, and a resend may pass through older states.
 */

import { parseJsonExactly } from "../engine/json-parse.ts";
import type { Borrowed, Change, Folded, Moved, Order, Truncate } from "./change.ts";
import { isJsonObject, writeJson } from "./json-text.ts";
import { type Comparison, compareOrder, comparePlaces, positionAfter } from "./position.ts";

/** The changes and truncates of a batch, in whatever order they come. */
export function fold(changes: Iterable<Change>, truncates: readonly Truncate[]): Folded {
  const byKey = new Map<string, Change[]>();
  for (const change of changes) {
    const same = byKey.get(change.key);
    if (same) same.push(change);
    else byKey.set(change.key, [change]);
  }
  const left: Change[] = [];
  const counts = { folded: 0, uncertain: 0 };
  const moved: Moved[] = [];
  const compare = (a: Order, b: Order) => {
    const { order, isCertain } = compareOrder(a, b);
    if (!isCertain) counts.uncertain++;
    return { order, isCertain };
  };
  // What nothing proves to be older stays, as it does where the two come in different batches.
  const isOlder = (change: Change, truncate: Truncate) => {
    const { order, isCertain } = compare(change, truncate);
    return isCertain && order < 0;
  };
  for (const same of byKey.values()) {
    const standing =
      truncates.length === 0
        ? same
        : same.filter((change) => truncates.every((truncate) => !isOlder(change, truncate)));
    const known = moved.length;
    const last = foldKey(standing, compare, moved);
    if (last) left.push(last);
    counts.folded += same.length - (last ? 1 : 0) - (moved.length - known);
  }
  return { changes: left, truncates: newest(truncates), moved, ...counts };
}

/**
 * What the changes of one key come to. With a change that has no position, or one that nothing proves, they have no order as a whole (it is newer than
 * what Kafka has before it, and that may be sent again): then one after the other in Kafka's order, each against what all before it came to, as single
 * batches would. What came through another partition and is not known to be later or earlier is put into `moved`.
 */
function foldKey(
  same: Change[],
  compare: (a: Change, b: Change) => Comparison,
  moved: Moved[],
): Change | null {
  const isOrdered = same.length > 1 && isSorted(same);
  if (!isOrdered) same.sort((a, b) => comparePlaces(a.place, b.place));
  return same.reduce<Change | null>((before, change) => {
    if (before === null) return change;
    if (isOrdered) return applied(before, change);
    const { order, isCertain } = compare(before, change);
    const from = before.place.partition;
    if (!isCertain && from !== change.place.partition) {
      moved.push({ change, from });
      return before;
    }
    return order < 0 ? applied(before, change) : overtook(before, change);
  }, null);
}

/** Whether positions prove an order, in which they are then. */
function isSorted(same: Change[]): boolean {
  if (!same.every(({ position }) => position !== null)) return false;
  let isProven = true;
  same.sort((a, b) => {
    const { order, isCertain } = compareOrder(a, b);
    isProven &&= isCertain;
    return order;
  });
  return isProven;
}

/** One change after the other. */
function applied(before: Change, change: Change): Change {
  const later = { ...change, position: positionAfter(before, change) };
  if (change.kind === "delete") return withRow(later, before);
  if (before.kind === "delete") return freshAfter(later, before);
  const { isFresh, freshSince } = before;
  return filledUp({ ...later, isFresh, ...(freshSince ? { freshSince } : {}) }, before);
}

/** A change that came after one that is newer: it can only tell columns that the newer one leaves out. */
function overtook(newer: Change, older: Change): Change {
  if (newer.kind === "delete") return newer.was === undefined ? withRow(newer, older) : newer;
  if (newer.isFresh) return newer;
  return older.kind === "delete" ? freshAfter(newer, older) : filledUp(newer, older);
}

/** A delete with what the batch tells of the row before it. */
function withRow(removal: Change, before: Change): Change {
  const was = before.kind === "delete" ? before.was : before.absent.length === 0 ? before.row : undefined;
  return was === undefined ? removal : { ...removal, was };
}

function freshAfter(change: Change, removed: Change): Change {
  return { ...change, isFresh: true, freshSince: orderOf(removed) };
}

const orderOf = ({ position, place }: Change): Order => ({ position, place });

/** The later row with the older one's values of the columns that it leaves out. */
function filledUp(later: Change, older: Change): Change {
  if (later.absent.length === 0) return later;
  const [row, values] = [later, older].map((one) => parseJsonExactly(Buffer.from(one.row).toString("utf8")));
  if (!isJsonObject(row) || !isJsonObject(values)) return later;
  const borrowed: Borrowed[] = [...(later.borrowed ?? [])];
  for (const column of later.absent) {
    if (older.absent.includes(column)) continue;
    if (Object.hasOwn(values, column)) row[column] = values[column]!;
    const from = older.borrowed?.find((one) => one.column === column)?.from ?? orderOf(older);
    borrowed.push({ column, from });
  }
  return {
    ...later,
    borrowed,
    row: Buffer.from(writeJson(row)),
    absent: later.absent.filter((name) => older.absent.includes(name)),
  };
}

/** Of truncates of which one is surely the newest, that one. */
function newest(truncates: readonly Truncate[]): readonly Truncate[] {
  return truncates.filter(
    (one) =>
      !truncates.some((other) => {
        const { order, isCertain } = compareOrder(one, other);
        return isCertain && order < 0;
      }),
  );
}
