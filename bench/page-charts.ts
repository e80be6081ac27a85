/** The charts of `docs/performance.md`, made of the same results. Pure. */

import { ingestSummary } from "./ingest-summary.ts";
import type { PageRecord } from "./results.ts";
import { barChart, lineChart } from "./svg.ts";

const LIMIT_MIB = 350;

/** By file name. A chart without results is not there. */
export function pageCharts(records: readonly PageRecord[]): Record<string, string> {
  const charts: Record<string, string> = {};
  const ingests = records.flatMap((record) => (record.bench === "ingest" ? [record.result] : []));
  if (ingests.length > 0)
    charts["performance-cpu.svg"] = barChart(
      "CPU for a million messages",
      "seconds of user and system time of the whole process; medians; less is better",
      ingests.map((result) => ({
        name: `${Math.round(result.bytes / result.messages).toLocaleString("en")} bytes each`,
        bars: ingestSummary(result).programs.map(({ by, cpuSecondsPerMillion: { median } }) => ({
          ...{ name: by, value: median, text: median.toFixed(1) },
        })),
      })),
    );
  const memory = records.find((record) => record.bench === "memory");
  if (memory !== undefined)
    charts["performance-memory.svg"] = lineChart(
      "Memory of the ingester",
      "MiB resident, from the start of the process to its end",
      memory.result.runs.map(({ messages, partitions, samples }) => ({
        name: `${messages.toLocaleString("en")} messages in ${partitions} partitions`,
        points: samples.map(({ atSeconds, bytes }) => [atSeconds, bytes / 2 ** 20] as const),
      })),
      { value: LIMIT_MIB, name: `${LIMIT_MIB} MiB` },
      "s",
    );
  return charts;
}
