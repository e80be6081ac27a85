/** What `lab bench merge` prints. */

import { table } from "../bench/markdown.ts";
import type { MergeBenchResult } from "../bench/merge-run.ts";
import { mergeReach, mergeRows, scaleRows } from "../bench/page-merge.ts";

export function mergeText(result: MergeBenchResult): string {
  const { heads, rows } = mergeRows(result);
  const what = `${result.rows.toLocaleString("en")} rows, batches of ${result.changes.toLocaleString("en")} changes, ${result.rounds} rounds: min / median / max`;
  const scale = scaleRows(result.scale ?? []);
  const workers = scale.rows.length === 0 ? "" : `\n${table(scale.heads, scale.rows)}\n`;
  return `${what}\n\n${table(heads, rows)}\n\n${mergeReach(result)}\n${workers}`;
}
