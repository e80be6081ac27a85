/** `lab cleanup`: deletes old commits and checkpoints of a table's log. */

import { tmpdir } from "node:os";
import { isLabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { duration, toggle } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import type { Table } from "../delta/table.ts";
import type { Catalog } from "../query/catalog.ts";
import { momentText } from "../query/dates.ts";
import { type CleanupOptions, type CleanupResult, cleanupLog } from "../upkeep/cleanup.ts";
import { ASK, withQuery } from "./ask.ts";
import { AUDIT } from "./audit.ts";
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
    app: SETTINGS.app,
    auditTable: AUDIT.auditTable,
    forgetAudit: setting<boolean>({
      flag: "--forget-audit",
      env: "LAB_CLEANUP_FORGET_AUDIT",
      kind: toggle,
      default: false,
      description:
        "also commits that speak to an audit and cannot be rolled up: what they settled is not known then",
    }),
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
      const unread = values.forgetAudit ? undefined : await auditHold({ catalog, table }, values, signal);
      const options = { isDryRun: values.dryRun, onProgress: steps.onProgress, ...(unread && { unread }) };
      return { name, result: await cleanupLog(table, options, signal) };
    }).finally(steps.end);
    screen.out(
      common.json ? `${toJson(document(found.name, found.result), 2)}\n` : `${told(found.result)}\n`,
    );
    return 0;
  },
});

/** Rolls up first what commits say to an audit, where there is an audit table; what is not rolled up then stays. */
async function auditHold(
  { catalog, table }: { catalog: Catalog; table: Table },
  { app, auditTable, dryRun }: { app: string; auditTable: string; dryRun: boolean },
  signal: AbortSignal,
): Promise<NonNullable<CleanupOptions["unread"]>> {
  const { oldestUnrolled } = await import("../audit/unrolled.ts");
  const audit = await catalog.openAny(auditTable, signal).catch((error: unknown) => {
    if (isLabError(error, "TABLE_NOT_FOUND", "NOT_A_TABLE")) return null;
    throw error;
  });
  if (audit && !dryRun) {
    const { rollUp } = await import("../audit/rollup.ts");
    await rollUp({ table, audit: audit.table, app, scratchDir: tmpdir(), now: Date.now, signal });
  }
  return async (before, asking) =>
    oldestUnrolled(table, (await audit?.table.latest(asking)) ?? null, before, asking);
}

function document(table: string, result: CleanupResult): object {
  const { isDryRun: dryRun, retainMs, cutoffMs, oldest, deleted, bytes, reason, unread } = result;
  return {
    table,
    dryRun,
    retentionMs: retainMs,
    cutoff: momentText(cutoffMs),
    oldestVersion: oldest,
    deleted,
    bytes: String(bytes),
    reason,
    unread,
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
  if (result.reason === null && result.unread !== null)
    lines.push(`all from version ${count(result.unread)} on stay: ${UNREAD}`);
  return lines.join("\n");
}

const UNREAD =
  "it speaks to an audit and is not rolled up yet: lab audit rollup does it, --forget-audit lets it go all the same";

const REASONS: Record<NonNullable<CleanupResult["reason"]>, (result: CleanupResult) => string> = {
  off: () => "the table has delta.enableExpiredLogCleanup = false",
  young: ({ retainMs, cutoffMs }) =>
    `none is older than ${duration.show(retainMs)} (${moment(momentText(cutoffMs))}) with a checkpoint after it that is`,
  unread: ({ unread }) => `version ${count(unread)} has to stay: ${UNREAD}`,
  "no checkpoint": ({ cutoffMs }) =>
    `no whole checkpoint is older than ${moment(momentText(cutoffMs))}; lab checkpoint makes one, which counts once it is that old`,
};
