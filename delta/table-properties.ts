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
  return orElse(WEEK_MS, () => duration(configuration, "delta.deletedFileRetentionDuration"));
}

/** Leaf columns that get statistics, from the first on; -1 for all. */
export function numIndexedColumns(configuration: Configuration): number {
  return orElse(32, () => whole(configuration, "delta.dataSkippingNumIndexedCols", -1));
}

/** CONFIG_INVALID naming the first property whose value makes no sense. */
export function checkProperties(configuration: Configuration): void {
  whole(configuration, "delta.checkpointInterval", 1);
  whole(configuration, "delta.dataSkippingNumIndexedCols", -1);
  duration(configuration, "delta.deletedFileRetentionDuration");
  duration(configuration, "delta.logRetentionDuration");
  for (const [key, value] of Object.entries(configuration)) {
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
  "delta.isolationLevel": ["Serializable", "WriteSerializable"],
  "delta.checkpointPolicy": ["classic", "v2"],
};

const WEEK_MS = 604_800_000;

function orElse(fallback: number, read: () => number | undefined): number {
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

function invalid(key: string, value: string, allowed: string): LabError {
  return new LabError(
    "CONFIG_INVALID",
    `table property ${key} is ${JSON.stringify(value)}; it takes ${allowed}`,
    {
      details: { key, value },
    },
  );
}
