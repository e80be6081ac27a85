/** `lab verify`: reads a whole table and checks its log against it. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { isLabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import type { Values } from "../core/settings.ts";
import { openStore } from "../delta/store/open.ts";
import { type FileCache, openFileCache } from "../engine/file-cache.ts";
import { momentText } from "../query/dates.ts";
import { visible } from "../query/formats/display.ts";
import type { Query } from "../query/query.ts";
import type { Finding } from "../upkeep/findings.ts";
import type { Reading } from "../upkeep/reading.ts";
import { type Verification, verifyTable } from "../upkeep/verify.ts";
import { ASK, VERSION, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, listing, moment, plural, size } from "./lines.ts";
import { phases } from "./phases.ts";
import type { Screen } from "./screen.ts";
import { WORK } from "./work-settings.ts";

export const verify = defineCommand({
  name: "verify",
  summary: "Read every file of a table and check its log against them; exit 3 on damage",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: [
    "lab verify orders",
    "lab verify orders --version 3",
    "lab verify s3://lab/tables/orders --json",
  ],
  settings: {
    ...ASK,
    version: { ...VERSION, description: "read the files of this version; the log is read whole" },
    ...WORK,
  },
  stops: "gracefully",
  seeAlso: ["vacuum", "restore", "checkpoint"],
  async run({ screen, common, signal }, values, [asked = ""]) {
    const steps = phases(screen);
    const found = await withQuery(values, async (query) => {
      const { name, uri } = await placeOf(query, asked, signal);
      const store = await openStore(uri, { signal });
      // Not the cache of queries: what it holds was right once, and this is about what the store holds now.
      const reading = await openReading(values);
      try {
        const options = { version: values.version, reading, onProgress: steps.onProgress };
        return { name, result: await verifyTable(store, options, signal) };
      } finally {
        await reading.close();
        await store.close();
      }
    }).finally(steps.end);
    screen.out(
      common.json ? `${toJson(document(found.name, found.result), 2)}\n` : page(found.result, screen),
    );
    return found.result.damage.count > 0 ? 3 : 0;
  },
});

const CACHE_BYTES = 1024 ** 3;

/** A folder of its own for spilled and fetched files, which goes with `close`. */
async function openReading(values: Values<typeof WORK>): Promise<Reading & { close(): Promise<void> }> {
  await mkdir(values.scratch, { recursive: true });
  const folder = await mkdtemp(join(values.scratch, "lab-verify-"));
  let opened: Promise<FileCache> | undefined;
  return {
    memoryLimitBytes: values.memory,
    threads: values.threads,
    tempDir: join(folder, "spill"),
    cache: () => {
      opened ??= openFileCache({ folder: join(folder, "cache"), maxBytes: CACHE_BYTES });
      return opened;
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Where the table is: one whose log is damaged cannot be opened, and is meant all the more. */
async function placeOf(
  { catalog }: Query,
  asked: string,
  signal: AbortSignal,
): Promise<{ name: string; uri: string }> {
  try {
    const { name, table } = await catalog.openAny(asked, signal);
    return { name, uri: table.store.root };
  } catch (error) {
    if (!isLabError(error, "CORRUPT_LOG")) throw error;
    return { name: asked, uri: asked.includes("/") ? asked : catalog.uriOf(asked) };
  }
}

function document(table: string, result: Verification): object {
  const { version, log, files, rows, damage, notes, orphans } = result;
  return {
    table,
    version,
    log,
    files,
    bytes: String(result.bytes),
    rows: String(rows),
    damage: { count: damage.count, listed: damage.listed },
    notes: { count: notes.count, listed: notes.listed },
    orphans: {
      files: orphans.files,
      bytes: String(orphans.bytes),
      listed: orphans.listed.map(({ path, size: sizeBytes, modifiedMs }) => ({
        path,
        sizeBytes: String(sizeBytes),
        modified: momentText(modifiedMs),
      })),
    },
  };
}

const MOST_SHOWN = 20;

function page(result: Verification, screen: Screen): string {
  const { log, version, damage, notes, orphans } = result;
  const { bold, green, red } = screen.outColors;
  const lines = [
    `log: versions ${count(log.oldest)} to ${count(log.newest)}, ${plural(log.commits, "commit")}, ${plural(log.checkpoints, "checkpoint")}, ${plural(log.checksums, "checksum")} read`,
  ];
  if (version !== null)
    lines.push(
      `version ${count(version)}: ${plural(result.files, "file")}, ${size(result.bytes)}, ${plural(result.rows, "row")} read`,
    );
  if (damage.count > 0) lines.push("", bold("Damage"), ...told(damage));
  if (notes.count > 0) lines.push("", bold("Heals itself"), ...told(notes));
  if (orphans.files > 0) {
    const heads = [{ name: "size", right: true }, { name: "modified" }, { name: "path" }];
    const rows = orphans.listed
      .slice(0, MOST_SHOWN)
      .map((file) => [size(file.size), moment(momentText(file.modifiedMs)), file.path]);
    lines.push("", bold("Files that no version names"), listing({ heads, rows }, screen));
    lines.push(
      `${plural(orphans.files, "file")}, ${size(orphans.bytes)}: of commits under way or lost; lab vacuum removes them once they are old enough`,
    );
  }
  lines.push(
    "",
    damage.count === 0 ? green("no damage found") : red(`${plural(damage.count, "finding")} of damage`),
  );
  return `${lines.join("\n")}\n`;
}

function told({ count: all, listed }: { count: number; listed: readonly Finding[] }): string[] {
  const shown = listed
    .slice(0, MOST_SHOWN)
    .flatMap(({ file, problem, message, hint }) => [
      `${visible(file)}: ${problem}: ${visible(message)}`,
      `  -> ${hint}`,
    ]);
  return all > MOST_SHOWN
    ? [...shown, `+${count(all - MOST_SHOWN)} more; --json lists up to ${count(1000)}`]
    : shown;
}
