/** Results as lines of JSON: what the page is written from. */

import { appendFile, readFile } from "node:fs/promises";
import { LabError } from "../core/errors.ts";
import type { CommitBenchResult } from "./commit.ts";
import type { DashboardBenchResult } from "./dashboard.ts";
import type { IngestBenchResult } from "./ingest.ts";
import type { LatencyBenchResult } from "./latency.ts";
import type { Measurement } from "./machine.ts";
import type { MemoryHourResult } from "./memory-hour.ts";
import type { MergeBenchResult } from "./merge-run.ts";
import type { OpenBenchResult } from "./open.ts";
import type { ProfileBenchResult } from "./profile.ts";
import type { QueryBenchResult } from "./query.ts";
import type { StartBenchResult } from "./start.ts";

/** What was measured, under the name of its benchmark. */
export type Recorded<Name extends string, Result> = Measurement & { bench: Name; result: Result };

/** Those that the page tells of. */
export type PageRecord =
  | Recorded<"ingest", Omit<IngestBenchResult, "versions">>
  | Recorded<"latency", LatencyBenchResult>
  | Recorded<"memory", MemoryHourResult>
  | Recorded<"start", StartBenchResult>
  | Recorded<"profile", ProfileBenchResult>
  | Recorded<"query", QueryBenchResult>
  | Recorded<"open", OpenBenchResult>
  | Recorded<"commit", CommitBenchResult>
  | Recorded<"merge", MergeBenchResult>
  | Recorded<"dashboard", DashboardBenchResult>;

/** One line more in the file, or with null none: to find out before an hour of measuring. USAGE where it cannot be written. */
export async function appendResult(file: string, record: Recorded<string, unknown> | null): Promise<void> {
  try {
    await appendFile(file, record === null ? "" : `${JSON.stringify(record)}\n`);
  } catch (cause) {
    throw new LabError("USAGE", `results cannot be written to ${file}: ${(cause as Error).message}`, {
      hint: "give another file with --results",
      cause,
    });
  }
}

/** In the order of the file. USAGE where it cannot be read or a line is no result. */
export async function readResults(file: string | URL): Promise<Recorded<string, unknown>[]> {
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    throw new LabError("USAGE", `no results can be read: ${cause.message}`, {
      hint: "lab bench ingest --results FILE writes one",
      cause,
    });
  });
  return text.split("\n").flatMap((line, n) => (line.trim() === "" ? [] : [parse(line, `${file}:${n + 1}`)]));
}

function parse(line: string, place: string): Recorded<string, unknown> {
  let found: Partial<Recorded<string, unknown>> | null;
  try {
    found = JSON.parse(line);
  } catch {
    found = null;
  }
  const isRecord =
    typeof found?.bench === "string" && typeof found.at === "string" && found.result !== undefined;
  if (!isRecord) throw new LabError("USAGE", `${place} is no result of a benchmark: ${line.slice(0, 80)}`);
  return found as Recorded<string, unknown>;
}

/** The newest of each kind, where `kindOf` tells results that stand side by side on the page from one another. */
export function newest<R extends Recorded<string, unknown>>(
  records: readonly R[],
  kindOf: (record: R) => string,
): R[] {
  const byKind = new Map<string, R>();
  for (const record of records) {
    const before = byKind.get(kindOf(record));
    if (before === undefined || before.at <= record.at) byKind.set(kindOf(record), record);
  }
  return [...byKind.values()];
}
