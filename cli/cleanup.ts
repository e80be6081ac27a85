/** `lab cleanup`: deletes old commits and checkpoints of a table's log. */

import { toJson } from "../core/ops.ts";
import { duration, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { momentText } from "../query/dates.ts";
import { type CleanupResult, cleanupLog } from "../upkeep/cleanup.ts";
import { ASK, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, moment, plural, size } from "./lines.ts";
import { phases } from "./phases.ts";

export const cleanup = defineCommand({
  name: "cleanup",
  summary: "Delete commits and checkpoints of a table's log that are past its log retention",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: ["lab cleanup orders --dry-run", "lab cleanup orders"],
  settings: {
    ...ASK,
    dryRun: setting<boolean>({
      flag: "--dry-run",
      env: "LAB_CLEANUP_DRY_RUN",
      kind: toggle,
      default: false,
      description: "only tell what would go",
    }),
  },
  seeAlso: ["checkpoint", "vacuum", "history"],
  async run({ screen, common, signal }, values, [asked = ""]) {
    const steps = phases(screen);
    const found = await withQuery(values, async ({ catalog }) => {
      const { name, table } = await catalog.openAny(asked, signal);
      const options = { isDryRun: values.dryRun, onProgress: steps.onProgress };
      return { name, result: await cleanupLog(table, options, signal) };
    }).finally(steps.end);
    screen.out(
      common.json ? `${toJson(document(found.name, found.result), 2)}\n` : `${told(found.result)}\n`,
    );
    return 0;
  },
});

function document(table: string, result: CleanupResult): object {
  const { isDryRun: dryRun, retainMs, cutoffMs, oldest, deleted, bytes, reason } = result;
  return {
    table,
    dryRun,
    retentionMs: retainMs,
    cutoff: momentText(cutoffMs),
    oldestVersion: oldest,
    deleted,
    bytes: String(bytes),
    reason,
  };
}

function told(result: CleanupResult): string {
  const { deleted, bytes, oldest, isDryRun } = result;
  const kinds = (Object.keys(deleted) as (keyof typeof deleted)[]).filter((kind) => deleted[kind] > 0);
  const lines: string[] = [];
  if (kinds.length > 0) {
    const parts = kinds.map((kind) => plural(deleted[kind], kind.slice(0, -1)));
    lines.push(`${isDryRun ? "would delete" : "deleted"} ${parts.join(", ")}, ${size(bytes)}`);
  }
  if (result.reason === null)
    lines.push(`the oldest version that can be read ${isDryRun ? "would be" : "is"} ${count(oldest)}`);
  else lines.push(`no version was removed from the log: ${REASONS[result.reason](result)}`);
  return lines.join("\n");
}

const REASONS: Record<NonNullable<CleanupResult["reason"]>, (result: CleanupResult) => string> = {
  off: () => "the table has delta.enableExpiredLogCleanup = false",
  young: ({ retainMs, cutoffMs }) =>
    `none is older than ${duration.show(retainMs)} (${moment(momentText(cutoffMs))}) with a checkpoint after it that is`,
  "no checkpoint": ({ cutoffMs }) =>
    `no whole checkpoint is older than ${moment(momentText(cutoffMs))}; lab checkpoint makes one, which counts once it is that old`,
};
