/** What happened to a table, version by version, and which Kafka offsets each holds. */

import { LabError } from "../core/errors.ts";
import type { HistoryEntry, HistoryRange, Table } from "../delta/table.ts";
import { type OffsetRange, offsetsOf } from "../engine/lab-info.ts";
import type { NamedTable } from "./catalog.ts";
import { momentText } from "./dates.ts";

export type VersionEntry = {
  version: number;
  timestamp: string;
  operation: string;
  /** Null where statistics do not say. */
  rowsAdded: string | null;
  rowsRemoved: string | null;
  filesAdded: number;
  filesRemoved: number;
  offsets: OffsetRange[];
};

/** What a timeline shows beside it. */
export type TimelineEntry = VersionEntry & {
  /** Of the files that came in, and of those that went out; null where the log does not say. */
  bytesAdded: string;
  bytesRemoved: string | null;
  /** How long the work of the commit took, by what its writer told of it; null where it did not. */
  durationMs: number | null;
  /** Whether it changed the schema, properties or other metadata, or made the table. */
  hasMetadata: boolean;
};

/** Newest first. Versions whose commit files were cleaned up are not there. */
export async function* readHistory(
  table: Table,
  range: HistoryRange & { signal: AbortSignal },
): AsyncIterable<VersionEntry> {
  for await (const entry of table.history(range)) yield versionEntry(entry);
}

/** As `readHistory`. */
export async function* readTimeline(
  table: Table,
  range: HistoryRange & { signal: AbortSignal },
): AsyncIterable<TimelineEntry> {
  for await (const entry of table.history(range))
    yield {
      ...versionEntry(entry),
      bytesAdded: String(entry.bytesAdded),
      bytesRemoved: entry.bytesRemoved?.toString() ?? null,
      durationMs: entry.durationMs ?? null,
      hasMetadata: entry.hasMetadata,
    };
}

function versionEntry(entry: HistoryEntry): VersionEntry {
  return {
    version: entry.version,
    timestamp: momentText(entry.timestampMs),
    operation: entry.operation,
    rowsAdded: entry.rowsAdded?.toString() ?? null,
    rowsRemoved: entry.rowsRemoved?.toString() ?? null,
    filesAdded: entry.filesAdded,
    filesRemoved: entry.filesRemoved,
    offsets: offsetsOf(entry.commitInfo),
  };
}

/**
 * The first version in which `partition` is settled up to `offset`. VERSION_NOT_FOUND where no version says so, or where the
 * history that is left begins beyond it; USAGE where the table holds that partition of several topics.
 */
export async function versionAtOffset(
  { name, table }: NamedTable,
  point: { partition: number; offset: bigint },
  signal: AbortSignal,
): Promise<number> {
  let found: { version: number; first: bigint } | undefined;
  let newest: bigint | undefined;
  const topics = new Set<string>();
  let isComplete = false;
  for await (const { version, commitInfo } of table.history({ signal })) {
    isComplete = version === 0;
    const ranges = offsetsOf(commitInfo).filter((range) => range.partition === point.partition);
    if (ranges.length === 0) continue;
    for (const { topic } of ranges) topics.add(topic);
    if (topics.size > 1) break;
    const settled = BigInt(ranges[0]!.last);
    newest ??= settled;
    // Settled offsets only grow: below this version there is nothing to find.
    if (settled < point.offset) {
      isComplete = true;
      break;
    }
    found = { version, first: BigInt(ranges[0]!.first) };
  }
  const where = `partition ${point.partition} of ${name}`;
  if (topics.size > 1) {
    throw new LabError("USAGE", `${where} is settled for several topics: ${[...topics].join(", ")}`, {
      hint: "choose a version from lab history and give --version",
    });
  }
  if (newest === undefined) {
    throw new LabError(
      "VERSION_NOT_FOUND",
      `no version of ${name} says which offsets of partition ${point.partition} it holds`,
      {
        hint: "lab history shows what is known; --version and --at work for every table",
      },
    );
  }
  if (found === undefined) {
    throw new LabError(
      "VERSION_NOT_FOUND",
      `${where} is settled up to offset ${newest}, not yet ${point.offset}`,
      {
        details: { settled: newest.toString() },
      },
    );
  }
  if (!isComplete && found.first > point.offset) {
    throw new LabError(
      "VERSION_NOT_FOUND",
      `the history of ${name} that is left begins after offset ${point.offset}`,
      {
        hint: `the oldest version known to hold it is ${found.version}: --version ${found.version}`,
      },
    );
  }
  return found.version;
}
