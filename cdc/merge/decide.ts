/** What becomes of a change, given what the table holds of its key. Pure. */

import type { Change, Order, Truncate } from "../change.ts";
import { compareOrder } from "../position.ts";
import type { Stored } from "./cdc-field.ts";

export type Verdict =
  /** The change's row is the row now; of a delete one that is marked as such. `keep`: columns that stay as they are stored. */
  | { kind: "write"; keep: readonly string[]; missing: readonly string[]; effect: Effect }
  /** The stored row stays, but has these columns from the change, which is older: nothing newer told them. */
  | { kind: "fill"; columns: readonly string[]; missing: readonly string[] }
  | { kind: "ignore" }
  | { kind: "refuse"; code: string; message: string };

/** What readers see of it. `none`: a delete of what is not there. */
export type Effect = "insert" | "update" | "delete" | "none";

/** Places in the history that a table remembers. */
export type Remembered = {
  truncates: readonly Order[];
  /** Of deleted rows that are forgotten since. */
  purged: readonly Order[];
};

/** Columns whose values a table needs in the row of a deleted key, too. */
export type Kept = { kept: readonly string[] };

/**
 * The newer of the two wins, whatever came first. `stored` is undefined where no row has the key, deleted ones included; what is older than a
 * truncate counts for nothing, and no row is made of what is so old that its key may have been deleted since. A key whose changes came through two
 * Kafka partitions is refused where nothing proves their order. A delete of a key that was never seen leaves no row where the table needs values
 * in it and nothing tells them.
 */
export function decide(
  change: Change,
  stored: Stored | undefined,
  { truncates, purged, kept }: Remembered & Kept,
): Verdict {
  if (truncates.some((truncate) => isProvenOlder(change, truncate))) return { kind: "ignore" };
  if (stored === undefined) {
    if (!purged.some((mark) => isProvenOlder(change, mark))) return written(change, undefined, kept);
    if (change.kind === "delete") return { kind: "ignore" };
    return {
      kind: "refuse",
      code: "CDC_TOO_OLD",
      message: "the table has no such key, and has forgotten rows that were deleted after this change",
    };
  }
  const { order, isCertain } = compareOrder(change, stored.order);
  const { order: before } = stored;
  if (!isCertain && before !== null && before.place.partition !== change.place.partition)
    return { kind: "refuse", ...keyMoved(before.place.partition) };
  // A tombstone behind its delete tells nothing.
  if (change.kind === "delete" && change.position === null && stored.isDeleted) return { kind: "ignore" };
  if (order > 0) return written(change, stored, kept);
  if (order === 0 || change.kind === "delete" || stored.isDeleted) return { kind: "ignore" };
  const columns = stored.missing.filter((name) => !change.absent.includes(name));
  if (columns.length === 0) return { kind: "ignore" };
  return { kind: "fill", columns, missing: stored.missing.filter((name) => !columns.includes(name)) };
}

/** Why a change is refused whose key had one through another partition. */
export function keyMoved(from: number) {
  return {
    code: "KEY_MOVED_PARTITION",
    message: `the key's last change came through partition ${from}, and nothing tells which of the two is later`,
  };
}

/** Whether a stored row, or a change, comes before a truncate for certain. */
export function isProvenOlder(one: Order | null, truncate: Order | Truncate): boolean {
  const { order, isCertain } = compareOrder(one, truncate);
  return order < 0 && isCertain;
}

function written(change: Change, stored: Stored | undefined, kept: readonly string[]): Verdict {
  const isThere = stored !== undefined && !stored.isDeleted;
  if (change.kind === "delete") {
    if (stored === undefined && kept.length > 0 && change.was === undefined) return { kind: "ignore" };
    const keep = stored === undefined ? [] : kept;
    return { kind: "write", keep, missing: [], effect: isThere ? "delete" : "none" };
  }
  if (stored === undefined) return { kind: "write", keep: [], missing: change.absent, effect: "insert" };
  const isOlder = (one: Order) => compareOrder(one, stored.order).order < 0;
  const isFresh = change.isFresh && !(change.freshSince && isOlder(change.freshSince));
  const effect = isThere ? "update" : "insert";
  if (isFresh) return { kind: "write", keep: [], missing: change.absent, effect };
  const outdated = (change.borrowed ?? []).flatMap(({ column, from }) =>
    isOlder(from) && !stored.missing.includes(column) ? [column] : [],
  );
  if (stored.isDeleted)
    return { kind: "write", keep: outdated, missing: [...change.absent, ...outdated], effect: "insert" };
  const keep = [...change.absent, ...outdated];
  const missing = stored.missing.filter((name) => change.absent.includes(name));
  return { kind: "write", keep, missing, effect };
}
