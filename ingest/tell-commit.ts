/** What chunks and commits are told to: metrics, the report, the log. */

import type { Log } from "../core/log.ts";
import type { MixedColumn } from "../engine/mixed-columns.ts";
import { type ChunkContent, sumCounts } from "./chunk.ts";
import type { StreamMetrics } from "./metrics.ts";
import type { Report } from "./report.ts";

/** A chunk of this many messages was encoded. */
export function tellOfChunk(chunk: {
  metrics: StreamMetrics;
  content: ChunkContent;
  messages: number;
  seconds: number;
}): void {
  const { content, messages, seconds } = chunk;
  const failed = byCode([content]);
  chunk.metrics.encoded({ seconds, transformed: messages - content.letters.length, failed });
}

/** One odd message makes a column text for good: that is not to happen without a word. */
export function tellOfMixed(log: Log, columns: readonly MixedColumn[]): void {
  for (const { column, why } of columns)
    log.warn(
      { event: "mixed", column, why },
      `column ${column} became STRING: ${why}; docs/formats.md says how to have another type`,
    );
}

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
  const { metrics, report, nowMs, startedMs, version, settled, contents } = commit;
  const durationMs = nowMs - startedMs;
  const counts = sumCounts(contents);
  const sums = { rows: 0, letters: 0, skipped: 0 };
  const offsets: Record<number, [first: string, last: string]> = {};
  for (const [partition, item] of counts) {
    sums.rows += item.rows;
    sums.letters += item.letters;
    sums.skipped += item.skipped;
    offsets[partition] = [String(item.first), String(item.last)];
  }
  const files = contents.flatMap((content) => content.files);
  const letters = byCode(contents);
  const earlier = sums.letters - contents.reduce((sum, content) => sum + content.letters.length, 0);
  if (earlier > 0) letters.set("EARLIER", earlier);
  metrics.committed({
    ...{ seconds: durationMs / 1000, flushSeconds: (nowMs - (report.commitOpenedMs() ?? startedMs)) / 1000 },
    ...{ rows: sums.rows, skipped: sums.skipped, letters, files: files.length },
    bytes: files.reduce((sum, file) => sum + file.size, 0),
  });
  report.committed({ version, ...sums, durationMs, settled, counts });
  commit.log.info(
    { event: "committed", version, ...sums, files: files.length, ms: Math.round(durationMs), offsets },
    "committed",
  );
  if (sums.letters > 0)
    commit.log.warn(
      { event: "letters", version, codes: Object.fromEntries(letters), offsets: letterOffsets(contents) },
      sums.letters === 1 ? "1 message became a dead letter" : `${sums.letters} messages became dead letters`,
    );
}

function byCode(contents: readonly ChunkContent[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { letters } of contents)
    for (const { code } of letters) counts.set(code, (counts.get(code) ?? 0) + 1);
  return counts;
}

/** First and last offset of the letters of each partition. */
function letterOffsets(contents: readonly ChunkContent[]): Record<number, [first: string, last: string]> {
  const found = new Map<number, [bigint, bigint]>();
  for (const { letters } of contents)
    for (const { partition, offset } of letters) {
      const [first, last] = found.get(partition) ?? [offset, offset];
      found.set(partition, [offset < first ? offset : first, offset > last ? offset : last]);
    }
  return Object.fromEntries([...found].map(([partition, [a, b]]) => [partition, [String(a), String(b)]]));
}
