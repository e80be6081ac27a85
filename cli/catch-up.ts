/** The progress of a run with `--once`: how much of what was there at the start is settled. */

import type { StreamReport } from "../ingest/report.ts";
import { type Progress, progress } from "./progress.ts";
import type { Screen } from "./screen.ts";

const LOOK_MS = 250;

type Seen = Pick<StreamReport, "partitions">;

/** Looks at the reports until `end`, and draws what it sees under `label`. */
export function followCatchUp(
  screen: Screen,
  label: string,
  reports: () => readonly Seen[],
): { end(): void } {
  let bar: Progress | undefined;
  let total = 0;
  const timer = setInterval(() => {
    const left = recordsLeft(reports());
    if (left === null) return;
    // Of the first look that knows all end offsets: what comes later is not waited for.
    if (bar === undefined) {
      total = left;
      bar = progress(screen, label, total);
    }
    bar.update(Math.max(0, total - left));
  }, LOOK_MS);
  return {
    end() {
      clearInterval(timer);
      bar?.end();
    },
  };
}

/** Offsets that are not settled yet, over all partitions; null while a partition's end is unknown, or none is assigned. */
export function recordsLeft(reports: readonly Seen[]): number | null {
  const partitions = reports.flatMap((report) => report.partitions);
  if (partitions.length === 0 || partitions.some(({ lag }) => lag === null)) return null;
  return partitions.reduce((sum, { lag }) => sum + Number(lag), 0);
}
