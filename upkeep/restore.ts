/** Restore: an older state of a table becomes its newest version, in one commit. */

import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { sumBytes, sumRows } from "../delta/file-totals.ts";
import { isActive } from "../delta/protocol.ts";
import type { CommitRequest, Snapshot, Table } from "../delta/table.ts";
import { UNCHANGED_FILES } from "../delta/writer-duties.ts";
import { missingObjects } from "./presence.ts";
import type { OnProgress } from "./progress.ts";
import { planRestore, type RestorePlan } from "./restore-plan.ts";
import { type Rewound, rewoundPositions, txnsOf } from "./rewind.ts";
import { objectNames } from "./table-objects.ts";

export type RestoreOptions = {
  to: { version: number } | { timestampMs: number };
  /** Also takes the Kafka positions back, so that what was read since is read again. No ingester may run on the table. */
  rewindOffsets?: boolean;
  now?: () => number;
  onProgress?: OnProgress | undefined;
};

export type RestoreResult = {
  /** The version whose state came back. */
  restored: number;
  /** The version that it is now; null where the table was in that state. */
  version: number | null;
  files: { restored: number; removed: number };
  bytes: { restored: number; removed: number };
  /** By statistics; undefined where they do not say. */
  rows: { restored: bigint | undefined; removed: bigint | undefined };
  /** Schema, properties or partitioning came back, too. */
  hasMetadata: boolean;
  rewound: Rewound[];
};

/** Decisions before a restore gives up: each loses to a writer that changed what it rests on. */
const MOST_DECISIONS = 20;

/**
 * Commits what makes the newest version equal to the one asked for: its files, schema and properties. The protocol never loses a feature, and
 * positions of ingesters stay unless `rewindOffsets`. Rows that others append meanwhile stay, as if appended afterwards.
 * DATA_FILE_MISSING where a vacuum took files of that version, before anything is written. APPEND_ONLY, VERSION_NOT_FOUND,
 * TIMESTAMP_NOT_FOUND, TOPIC_RESET, COMMIT_CONFLICT after many lost races.
 */
export async function restoreTable(
  table: Table,
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<RestoreResult> {
  const now = options.now ?? Date.now;
  const startedMs = now();
  const target = await table.at(options.to, signal);
  const present = new Set<string>();
  let reason = "";
  for (let decisions = 1; decisions <= MOST_DECISIONS; decisions++) {
    const latest = await table.latest(signal);
    const plan = planRestore(table.store.root, latest, target, now());
    requireRemovable(latest, plan);
    await requirePresent(table, target, plan.adds, { present, signal, onProgress: options.onProgress });
    const rewound =
      options.rewindOffsets === true ? await rewoundPositions(table, latest, target, signal) : [];
    const result = resultOf(target, plan, rewound);
    if (isNothing(plan, rewound)) return result;
    const committed = await table.commit(
      requestOf(latest, target, plan, { ...options, rewound, elapsedMs: now() - startedMs }),
      signal,
    );
    if (committed.kind === "committed") return { ...result, version: committed.version };
    reason = `version ${committed.version}: ${committed.message}`;
  }
  throw new LabError(
    "COMMIT_CONFLICT",
    `other writers were first ${MOST_DECISIONS} times, last in ${reason}`,
    { hint: "try again when the other writer has finished", details: { root: table.store.root } },
  );
}

function requestOf(
  latest: Snapshot,
  target: Snapshot,
  plan: RestorePlan,
  options: Pick<RestoreOptions, "to"> & { rewound: readonly Rewound[]; elapsedMs: number },
): CommitRequest {
  const { going, ...changes } = plan;
  const removedRows = sumRows(going);
  const parameters: Record<string, string> =
    "version" in options.to
      ? { version: String(target.version) }
      : { version: String(target.version), timestamp: new Date(options.to.timestampMs).toISOString() };
  return {
    ...changes,
    readSnapshot: latest,
    operation: "RESTORE",
    operationParameters: parameters,
    operationMetrics: {
      numRestoredFiles: String(plan.adds.length),
      numRemovedFiles: String(going.length),
      restoredFilesSize: String(sumBytes(plan.adds)),
      removedFilesSize: String(sumBytes(going)),
      numOfFilesAfterRestore: String(target.numFiles),
      tableSizeAfterRestore: String(target.sizeBytes),
      executionTimeMs: String(Math.round(options.elapsedMs)),
      ...(removedRows === undefined ? {} : { numDeletedRows: String(removedRows) }),
    },
    reads: "table",
    enforced: UNCHANGED_FILES,
    ...(options.rewound.length > 0 ? { txns: txnsOf(options.rewound) } : {}),
  };
}

function resultOf(target: Snapshot, plan: RestorePlan, rewound: Rewound[]): RestoreResult {
  const { adds, going } = plan;
  return {
    restored: target.version,
    version: null,
    files: { restored: adds.length, removed: going.length },
    bytes: { restored: sumBytes(adds), removed: sumBytes(going) },
    rows: { restored: sumRows(adds), removed: sumRows(going) },
    hasMetadata: plan.metadata !== undefined,
    rewound,
  };
}

function isNothing(plan: RestorePlan, rewound: readonly Rewound[]): boolean {
  const { adds, removes, metadata, protocol, domains } = plan;
  return !adds.length && !removes.length && !metadata && !protocol && !domains && !rewound.length;
}

/** The properties of now count, not those that would come back. */
function requireRemovable({ protocol, metadata }: Snapshot, { removes }: RestorePlan): void {
  if (removes.length === 0 || !isActive(protocol, metadata, "delta.appendOnly", "appendOnly")) return;
  throw new LabError("APPEND_ONLY", "the table has delta.appendOnly = true: a restore would remove rows", {
    hint: "set delta.appendOnly to false first, if that is meant",
  });
}

/** `present` remembers what was seen from one decision to the next. */
async function requirePresent(
  table: Table,
  target: Snapshot,
  adds: readonly Add[],
  options: { present: Set<string>; signal: AbortSignal; onProgress: OnProgress | undefined },
): Promise<void> {
  const { present, signal, onProgress } = options;
  const needed = new Set<string>();
  for (const add of adds)
    for (const name of objectNames(table.store, add)) if (!present.has(name)) needed.add(name);
  onProgress?.("looking for files", 0, needed.size);
  const missing = await missingObjects(table.store, needed, signal);
  if (missing.length > 0)
    throw new LabError(
      "DATA_FILE_MISSING",
      `version ${target.version} cannot come back: ${missing.length} of the ${needed.size} files it needs are gone, such as ${missing[0]}`,
      {
        hint: "a vacuum removed them: restore to a newer version, or bring the files back from a copy",
        details: { version: target.version, missing: missing.length, path: missing[0] },
      },
    );
  for (const name of needed) present.add(name);
}
