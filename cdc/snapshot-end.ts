/**
 * Where a snapshot of a table ends, and what that says: what is older than the snapshot and was not in it is gone. A connector that was away while
 * rows were deleted, and takes a new snapshot then, does not tell of them otherwise (dbz#7811).
 */

import type { JsonObject } from "../engine/json-parse.ts";
import type { Truncate } from "./change.ts";
import type { ChangeMessage } from "./decoder.ts";
import type { Position } from "./position.ts";

/** The last row of a table says so in `source.snapshot`; that of the last table says that all is over. */
const ENDS: ReadonlySet<unknown> = new Set(["last", "last_in_data_collection"]);

export const isSnapshotEnd = (source: JsonObject) => ENDS.has(source.snapshot);

/**
 * What goes with the end of a snapshot whose rows stand at `position`, all of them at the same one: everything before it, and nothing at it. The
 * snapshot's rows are newer, also those that are still on their way in another partition.
 */
export function sweepAt(
  { partition, offset, generation, timestampMs }: ChangeMessage,
  position: Position,
): Truncate {
  const before = { ...position, sub: position.sub - 1n };
  const place = { partition, offset, generation };
  return { kind: "truncate", isSweep: true, position: before, place, timestampMs };
}
