/** What a commit is told to: metrics, the report, the log. */

import type { Log } from "../core/log.ts";
import { type ChunkContent, sumCounts } from "./chunk.ts";
import type { StreamMetrics } from "./metrics.ts";
import type { Report } from "./report.ts";

export function tellOfCommit(commit: {
  metrics: StreamMetrics;
  report: Report;
  log: Log;
  nowMs: number;
  startedMs: number;
  /** Null where only letters were committed, as there is no table yet. */
  version: number | null;
  settled: ReadonlyMap<number, bigint>;
  contents: readonly ChunkContent[];
}): void {
  const { metrics, report, nowMs, version, settled, contents } = commit;
  const durationMs = nowMs - commit.startedMs;
  const counts = sumCounts(contents);
  const sums = { rows: 0, letters: 0, skipped: 0 };
  for (const item of counts.values()) {
    sums.rows += item.rows;
    sums.letters += item.letters;
    sums.skipped += item.skipped;
  }
  const files = contents.flatMap((content) => content.files);
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  metrics.rows(sums.rows);
  metrics.letters(sums.letters);
  metrics.skipped(sums.skipped);
  metrics.written(bytes, files.length);
  metrics.committed(durationMs / 1000);
  metrics.progress(nowMs);
  report.committed({ version, ...sums, durationMs, settled, counts });
  commit.log.info({ version, ...sums, files: files.length, ms: durationMs }, "committed");
}
