/** The commit that puts joined files in the place of the old ones, as other engines write it. */

import type { Add, Remove } from "../delta/actions.ts";
import { sumBytes } from "../delta/file-totals.ts";
import type { CommitRequest, Snapshot } from "../delta/table.ts";
import { tombstoneOf } from "../delta/tombstone.ts";

export type JoinRequest = CommitRequest & { adds: readonly Add[]; removes: readonly Remove[] };

/** `old` as they are at the version that was read. `elapsedMs`: what the work took, where that is told. */
export function joinRequest(
  readSnapshot: Snapshot,
  { old, adds }: { old: readonly Add[]; adds: readonly Add[] },
  options: { parameters: Record<string, string>; nowMs: number; elapsedMs?: number },
): JoinRequest {
  const { parameters, nowMs, elapsedMs } = options;
  const removes = old.map((add) => tombstoneOf(add, { nowMs, dataChange: false }));
  return {
    ...{ readSnapshot, operation: "OPTIMIZE", operationParameters: parameters, removes, adds },
    operationMetrics: {
      numRemovedFiles: String(old.length),
      numRemovedBytes: String(sumBytes(old)),
      numAddedFiles: String(adds.length),
      numAddedBytes: String(sumBytes(adds)),
      ...(elapsedMs === undefined ? {} : { executionTimeMs: String(Math.round(elapsedMs)) }),
    },
    reads: { files: new Set(old.map(({ path }) => path)) },
  };
}

/** What an OPTIMIZE says of how it went about. */
export function joinParameters(how: { zorder: readonly string[]; isAuto: boolean }): Record<string, string> {
  return { predicate: "[]", zOrderBy: JSON.stringify(how.zorder), auto: String(how.isAuto) };
}
