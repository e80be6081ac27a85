/** The result of `lab bench ingest` for people. */

import type { IngestBenchResult } from "../bench/ingest.ts";
import { ingestSummary } from "../bench/ingest-summary.ts";
import { columns, exact, threeOf } from "./bench-columns.ts";

export function ingestText(result: Omit<IngestBenchResult, "versions">): string {
  const { programs, ratios } = ingestSummary(result);
  const figures = columns(
    ["by", "rows/s", "MB/s", "CPU s per million", "peak MB", "written, of the JSON", "files"],
    programs.map((one) => [
      one.by,
      threeOf(one.rowsPerSecond),
      threeOf(one.megabytesPerSecond),
      threeOf(one.cpuSecondsPerMillion),
      threeOf(one.peakMegabytes),
      `${exact(one.bytesWritten.median)}, ${one.writtenShare.median}`,
      threeOf(one.files),
    ]),
  );
  const compared = columns(
    ["ours", "peer", "times less CPU", "times the rows/s", "times less memory"],
    ratios.map(({ ours, peer, cpu, rows, memory }) => [
      ours,
      peer,
      threeOf(cpu),
      threeOf(rows),
      threeOf(memory),
    ]),
  );
  const starts = columns(
    ["by", "CPU s", "seconds"],
    programs.flatMap(({ by, start }) =>
      start === null ? [] : [[by, threeOf(start.cpuSeconds), threeOf(start.seconds)]],
    ),
  );
  const missing = result.missing.map(({ name, why }) => `not measured: ${name}, ${why}\n`).join("");
  return `${figures}${ratios.length === 0 ? "" : `\n${compared}`}
start and end alone, on a topic without messages, which the figures above contain
${starts}
${exact(result.messages)} messages of ${Math.round(result.bytes / result.messages)} bytes in ${result.partitions} partitions, ${result.rounds} rounds in alternating order; min / median / max
every table was counted by deltalake: each message is in it once
${missing}`;
}
