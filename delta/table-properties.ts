/** Table properties (`delta.*`) that are read here: their defaults, and what values they take. */

import { isLabError, LabError } from "../core/errors.ts";
import { parseInterval } from "./interval.ts";

type Configuration = Readonly<Record<string, string>>;

/** Commits between two checkpoints, at least. Another writer's nonsense counts as the default, here and below. */
export function checkpointInterval(configuration: Configuration): number {
  return orElse(10, () => whole(configuration, "delta.checkpointInterval", 1));
}

/** How long a removed file stays readable for older versions, in ms. */
export function deletedFileRetentionMs(configuration: Configuration): number {
  return orElse(7 * DAY_MS, () => duration(configuration, "delta.deletedFileRetentionDuration"));
}

/** How long commits and checkpoints stay in the log, in ms. */
export function logRetentionMs(configuration: Configuration): number {
  return orElse(30 * DAY_MS, () => duration(configuration, "delta.logRetentionDuration"));
}

/** Whether old commits may be removed from the log at all. */
export function isLogCleanupEnabled(configuration: Configuration): boolean {
  return configuration["delta.enableExpiredLogCleanup"] !== "false";
}

/** How long a transaction that says when it was written is remembered, in ms; undefined for ever. */
export function transactionRetentionMs(configuration: Configuration): number | undefined {
  return orElse(undefined, () => duration(configuration, "delta.setTransactionRetentionDuration"));
}

/** Leaf columns that get statistics, from the first on; -1 for all. */
export function numIndexedColumns(configuration: Configuration): number {
  return orElse(32, () => whole(configuration, "delta.dataSkippingNumIndexedCols", -1));
}

/** Bytes that a rewritten data file should have, about. */
export function targetFileSize(configuration: Configuration): number {
  return orElse(128 * 2 ** 20, () => size(configuration, "delta.targetFileSize"));
}

/** How checkpoints hold the statistics of files: as text, as typed columns, or both. Text is there where nothing else is. */
export function checkpointStats(configuration: Configuration): { asJson: boolean; asStruct: boolean } {
  const asStruct = configuration["delta.checkpoint.writeStatsAsStruct"] === "true";
  return { asStruct, asJson: !asStruct || configuration["delta.checkpoint.writeStatsAsJson"] !== "false" };
}

/** CONFIG_INVALID naming the first property that is set to a value that makes no sense; those that were so `before` stay as they are. */
export function checkProperties(configuration: Configuration, before: Configuration = {}): void {
  for (const [key, value] of Object.entries(configuration)) {
    if (before[key] === value) continue;
    PARSERS[key]?.(configuration, key);
    const allowed = ALLOWED[key];
    if (allowed && !allowed.includes(value)) throw invalid(key, value, allowed.join(" or "));
  }
}

const BOOLEAN = ["true", "false"];
const ALLOWED: Record<string, readonly string[]> = {
  "delta.appendOnly": BOOLEAN,
  "delta.enableInCommitTimestamps": BOOLEAN,
  "delta.enableChangeDataFeed": BOOLEAN,
  "delta.enableDeletionVectors": BOOLEAN,
  "delta.enableExpiredLogCleanup": BOOLEAN,
  "delta.checkpoint.writeStatsAsJson": BOOLEAN,
  "delta.checkpoint.writeStatsAsStruct": BOOLEAN,
  "delta.isolationLevel": ["Serializable", "WriteSerializable"],
  "delta.checkpointPolicy": ["classic", "v2"],
};

const PARSERS: Record<string, (configuration: Configuration, key: string) => unknown> = {
  "delta.checkpointInterval": (configuration, key) => whole(configuration, key, 1),
  "delta.dataSkippingNumIndexedCols": (configuration, key) => whole(configuration, key, -1),
  "delta.targetFileSize": size,
  "delta.deletedFileRetentionDuration": duration,
  "delta.logRetentionDuration": duration,
  "delta.setTransactionRetentionDuration": duration,
};

const DAY_MS = 86_400_000;

function orElse<T>(fallback: T, read: () => T | undefined): T {
  try {
    return read() ?? fallback;
  } catch (error) {
    if (isLabError(error, "CONFIG_INVALID")) return fallback;
    throw error;
  }
}

function duration(configuration: Configuration, key: string): number | undefined {
  const text = configuration[key];
  return text === undefined ? undefined : parseInterval(text);
}

function whole(configuration: Configuration, key: string, least: number): number | undefined {
  const text = configuration[key];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < least)
    throw invalid(key, text, `a whole number from ${least}`);
  return value;
}

const UNITS: Record<string, number> = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Bytes as engines write them: `134217728`, `128mb`, `128m`, `1 GiB`. */
function size(configuration: Configuration, key: string): number | undefined {
  const text = configuration[key];
  if (text === undefined) return undefined;
  const found = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/.exec(text.trim().toLowerCase());
  const value = Math.round(Number(found?.[1]) * UNITS[found?.[2] ?? ""]!);
  if (!found || !Number.isSafeInteger(value) || value < 1) throw invalid(key, text, "a size such as 128mb");
  return value;
}

function invalid(key: string, value: string, allowed: string): LabError {
  return new LabError(
    "CONFIG_INVALID",
    `table property ${key} is ${JSON.stringify(value)}; it takes ${allowed}`,
    {
      details: { key, value },
    },
  );
}
