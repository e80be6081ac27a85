/** What `lab replay` did, and what it would do, for people. */

import type { ReplayPlan } from "../replay/plan.ts";
import type { ReplayResult } from "../replay/run.ts";
import { count, listing, plural, size } from "./lines.ts";
import type { Screen } from "./screen.ts";

const COMPARED = {
  same: "compared: the topic holds each of them once, as it was sent and in order",
  expired: "not compared: retention of the topic took some of them already",
  denied: "not compared: the topic may not be read; that takes the right to read it and groups lab.replay.*",
  off: "not compared (--check off)",
};

/** What a replay did. */
export function replayText(table: string, result: ReplayResult, seconds: number): string {
  const { target, version, sent, sentNow, bytes, reencoded, partitions, progressTopic } = result;
  const speed = Math.round(sentNow / Math.max(0.001, seconds));
  const lines = [
    `${table}, version ${count(version)}: ${plural(sentNow, "record")} sent to ${target} (${plural(partitions, "partition")}) in ${seconds.toFixed(1)} s (${count(speed)}/s)`,
  ];
  if (result.isResumed)
    lines.push(`${plural(sent, "record")} and ${size(bytes)} of values in all, with what earlier runs sent`);
  lines.push(COMPARED[result.comparison]);
  if (reencoded > 0)
    lines.push(
      `${plural(reencoded, "value")} of them made again of columns: they say the same, byte for byte they may differ (keepRaw keeps bytes)`,
    );
  lines.push(...leftText(result, "was"));
  lines.push(`progress is in topic ${progressTopic}: the same command again sends what came since`);
  return lines.join("\n");
}

/** What a replay would do. */
export function planText(table: string, plan: ReplayPlan, screen: Screen): string {
  const { topic, target, version, rows, parts, partitions, isTargetNew, isResumed, sent } = plan;
  const lines = [
    `${table}, version ${count(version)}: ${plural(rows, "row")} of topic ${topic} would be sent to ${target}`,
  ];
  const heads = [
    { name: "partition" },
    { name: "rows", right: true },
    { name: "from offset", right: true },
    { name: "to offset", right: true },
  ];
  const cells = parts.map(({ partition, rows, first, last }) => [
    String(partition),
    count(rows),
    String(first),
    String(last),
  ]);
  if (parts.length > 0) lines.push(listing({ heads, rows: cells }, screen));
  if (isResumed) lines.push(`behind ${plural(sent, "record")} that an earlier run sent`);
  lines.push(
    isTargetNew
      ? `${target} would be made, with ${plural(partitions, "partition")}`
      : `${target} is fit for it`,
    ...leftText(plan, "would be"),
    "nothing was made or sent (--dry-run)",
  );
  return lines.join("\n");
}

/** What of the table is left out. */
function leftText(
  { withoutOrigin, rewrites, version }: Pick<ReplayPlan, "withoutOrigin" | "rewrites" | "version">,
  tense: "was" | "would be",
): string[] {
  const lines: string[] = [];
  const [first] = rewrites;
  if (first !== undefined) {
    const others = rewrites.length > 1 ? ` and ${plural(rewrites.length - 1, "other")}` : "";
    lines.push(
      `version ${count(first.version)} (${first.operation})${others} took rows out or changed them: what version ${count(version)} does not hold ${tense === "was" ? "was not" : "would not be"} sent`,
    );
  }
  if (withoutOrigin > 0)
    lines.push(
      `${plural(withoutOrigin, "row")} of the table name no record and ${tense === "was" ? "were" : "would be"} left`,
    );
  return lines;
}
