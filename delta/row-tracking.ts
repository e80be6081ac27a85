/** Row ids of appended files (PROTOCOL.md, "Row Tracking"): each file gets a range of its own above all that were given out. */

import { LabError } from "../core/errors.ts";
import type { Add, DomainMetadata } from "./actions.ts";
import { parseJson } from "./json.ts";
import { isActive, unsupported, writerFeaturesOf } from "./protocol.ts";
import type { CommitRequest, Snapshot } from "./table.ts";

export const ROW_TRACKING_DOMAIN = "delta.rowTracking";
const PROPERTY = "delta.enableRowTracking";

/**
 * Refuses what would lose the ids of rows: where the table has row tracking on, files cannot be rewritten here, as ids of moved rows are not
 * written; nor can it be switched on here, as older files would need ids.
 */
export function checkRowTracking(request: CommitRequest, base: Snapshot): void {
  const protocol = request.protocol ?? base.protocol;
  const metadata = request.metadata ?? base.metadata;
  if (!isActive(protocol, metadata, PROPERTY, "rowTracking")) return;
  if (!isActive(base.protocol, base.metadata, PROPERTY, "rowTracking"))
    throw unsupported(`rowTracking (setting ${PROPERTY})`, "written");
  const isFresh = (request.adds ?? []).some((add) => add.baseRowId === undefined);
  if (isFresh && (request.removes ?? []).length > 0) checkRowsMayMove(base);
}

/** UNSUPPORTED_FEATURE where rows take their ids along to other files: to be known before any are written. */
export function checkRowsMayMove({ protocol, metadata }: Pick<Snapshot, "protocol" | "metadata">): void {
  if (isActive(protocol, metadata, PROPERTY, "rowTracking"))
    throw unsupported("rowTracking (rewriting rows that keep their ids)", "written");
}

/**
 * The adds of version `base.version + 1` with row ids, where the table lists row tracking; files that have ids already keep them. The domain says up
 * to which id they are taken then.
 */
export function withRowIds(
  adds: readonly Add[],
  base: Snapshot,
  isTracked: boolean,
): { adds: readonly Add[]; domains: DomainMetadata[] } {
  if (!isTracked || adds.every((add) => add.baseRowId !== undefined)) return { adds, domains: [] };
  let taken = highWaterMark(base);
  const numbered = adds.map((add) => {
    if (add.baseRowId !== undefined) return add;
    const baseRowId = taken + 1n;
    taken += rowsOf(add);
    return { ...add, baseRowId, defaultRowCommitVersion: BigInt(base.version + 1) };
  });
  const configuration = `{"rowIdHighWaterMark":${taken}}`;
  return { adds: numbered, domains: [{ domain: ROW_TRACKING_DOMAIN, configuration, removed: false }] };
}

export function isRowTracked(request: CommitRequest, base: Snapshot): boolean {
  return writerFeaturesOf(request.protocol ?? base.protocol).has("rowTracking");
}

/** The highest id that was given out; -1 for none. */
function highWaterMark(base: Snapshot): bigint {
  const domain = base.domains().get(ROW_TRACKING_DOMAIN);
  const mark = domain && (parseJson(domain.configuration) as { rowIdHighWaterMark?: number | bigint });
  return BigInt(mark?.rowIdHighWaterMark ?? -1);
}

function rowsOf(add: Add): bigint {
  const rows = add.stats && (parseJson(add.stats) as { numRecords?: number | bigint }).numRecords;
  if (rows === undefined || rows === "")
    throw new LabError("INTERNAL", `${add.path} says no numRecords, which row tracking needs`);
  return BigInt(rows);
}
