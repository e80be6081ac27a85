/** `lab vacuum`: deletes files that no kept version needs. */

import { toJson } from "../core/ops.ts";
import { duration, integer, onOff, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { momentText } from "../query/dates.ts";
import type { DescribedVersions } from "../upkeep/describe-versions.ts";
import { type VacuumResult, vacuum as vacuumTable } from "../upkeep/vacuum.ts";
import { ASK, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, listing, moment, plural, size } from "./lines.ts";
import { phases } from "./phases.ts";
import type { Screen } from "./screen.ts";

export const vacuum = defineCommand({
  name: "vacuum",
  summary: "Delete files of a table that no version within the retention needs",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: [
    "lab vacuum orders --dry-run",
    "lab vacuum orders",
    "lab vacuum orders --retain 30d",
    "lab vacuum orders --retain 0s --allow-short-retention",
  ],
  settings: {
    ...ASK,
    retain: setting<number | undefined>({
      flag: "--retain",
      env: "LAB_VACUUM_RETAIN",
      kind: duration,
      default: undefined,
      defaultText: "delta.deletedFileRetentionDuration of the table, else 7d",
      description: "keep what versions of this age need",
    }),
    dryRun: setting<boolean>({
      flag: "--dry-run",
      env: "LAB_VACUUM_DRY_RUN",
      kind: toggle,
      default: false,
      description: "only tell what would go, and which versions would end",
    }),
    allowShort: setting<boolean>({
      flag: "--allow-short-retention",
      kind: toggle,
      default: false,
      description:
        "take a --retain below the table's own: files of running writers and queries may go, so only when nobody else uses the table",
    }),
    explain: setting<boolean>({
      flag: "--explain",
      env: "LAB_VACUUM_EXPLAIN",
      kind: onOff,
      default: true,
      description: "tell which versions end, for which every commit that is left is read",
    }),
    files: setting<number>({
      flag: "--files",
      env: "LAB_VACUUM_FILES",
      kind: integer(0),
      default: 20,
      description: "how many files are listed",
    }),
  },
  seeAlso: ["cleanup", "restore", "verify", "history"],
  async run({ screen, common, signal }, values, [asked = ""]) {
    const steps = phases(screen);
    const found = await withQuery(values, async ({ catalog }) => {
      const { name, table } = await catalog.openAny(asked, signal);
      const options = {
        retainMs: values.retain,
        allowShort: values.allowShort,
        isDryRun: values.dryRun,
        explain: values.explain,
        onProgress: steps.onProgress,
      };
      return { name, result: await vacuumTable(table, options, signal) };
    }).finally(steps.end);
    if (common.json) screen.out(`${toJson(vacuumDocument(found.name, found.result, values.files), 2)}\n`);
    else screen.out(page(found.result, values.files, screen));
    return 0;
  },
});

/** What `lab vacuum --json` prints. */
function vacuumDocument(table: string, result: VacuumResult, maxFiles: number): object {
  const { version, isDryRun: dryRun, retainMs, cutoffMs, deleted, bytes, folders, young } = result;
  return {
    table,
    version,
    dryRun,
    retentionMs: retainMs,
    cutoff: momentText(cutoffMs),
    files: deleted.length,
    bytes: String(bytes),
    folders,
    listed: deleted.slice(0, maxFiles).map(({ path, size: sizeBytes, modifiedMs }) => ({
      path,
      sizeBytes: String(sizeBytes),
      modified: momentText(modifiedMs),
    })),
    young: { files: young.files, bytes: String(young.bytes) },
    ended: (result.ended ?? []).map(({ from, to, fromMs, toMs, offsets }) => ({
      from,
      to,
      fromTime: fromMs === null ? null : momentText(fromMs),
      toTime: toMs === null ? null : momentText(toMs),
      offsets,
    })),
  };
}

function page(result: VacuumResult, maxFiles: number, screen: Screen): string {
  const { deleted, bytes, folders, young, isDryRun, cutoffMs } = result;
  const verb = isDryRun ? "would delete" : "deleted";
  const since = `older than ${moment(momentText(cutoffMs))} and needed by no version since`;
  const lines = [
    deleted.length === 0
      ? `nothing to delete: no file is ${since}`
      : `${verb} ${plural(deleted.length, "file")}, ${size(bytes)}, ${since}`,
  ];
  if (folders > 0) lines.push(`removed ${plural(folders, "empty folder")}`);
  if (deleted.length > 0 && maxFiles > 0) {
    const heads = [{ name: "size", right: true }, { name: "modified" }, { name: "path" }];
    const rows = deleted
      .slice(0, maxFiles)
      .map((file) => [size(file.size), moment(momentText(file.modifiedMs)), file.path]);
    lines.push(listing({ heads, rows }, screen));
    if (deleted.length > maxFiles) lines.push(`+${count(deleted.length - maxFiles)} more`);
  }
  if (young.files > 0)
    lines.push(
      `${plural(young.files, "file")}, ${size(young.bytes)}, named by no version and younger: they stay, a commit of them may be under way`,
    );
  if (result.ended !== null && deleted.length > 0) lines.push(...endedLines(result.ended, isDryRun, screen));
  return `${lines.join("\n")}\n`;
}

function endedLines(ended: readonly DescribedVersions[], isDryRun: boolean, screen: Screen): string[] {
  if (ended.length === 0) return ["every version that could be read still can"];
  const time = (ms: number | null) => moment(ms === null ? null : momentText(ms));
  const heads = [{ name: "versions" }, { name: "from" }, { name: "to" }, { name: "offsets settled in them" }];
  const rows = ended.map(({ from, to, fromMs, toMs, offsets }) => [
    from === to ? count(from) : `${count(from)}-${count(to)}`,
    time(fromMs),
    time(toMs),
    offsets.map(({ topic, partition, first, last }) => `${topic}-${partition} ${first}..${last}`).join(", "),
  ]);
  return [
    isDryRun
      ? "these versions could no longer be read whole:"
      : "these versions can no longer be read whole:",
    listing({ heads, rows }, screen),
  ];
}
