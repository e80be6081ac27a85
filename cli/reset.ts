/** `lab reset`: deletes what a lab keeps on the data folder, after naming it. */

import { readdir, rm, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { bytes, toggle } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import { containerName, removeVolume } from "../services/container.ts";
import { requireNoLab } from "../services/folder-lock.ts";
import { removeDockerData } from "../services/kafka-docker.ts";
import { defineCommand } from "./command.ts";
import { S3_FOLDER } from "./running-s3.ts";

/** What a data folder may hold that is the lab's: nothing else in it is touched. */
const OURS = ["kafka", S3_FOLDER, "tables", "logs", "run", "staging", "demo.yaml", "lab.lock"];

export const reset = defineCommand({
  name: "reset",
  summary: "Delete the lab's topics, tables, objects and logs on the data folder, after naming them",
  examples: ["lab reset", "lab reset --yes", "lab reset --data ./other-data"],
  settings: {
    data: SETTINGS.data,
    yes: setting<boolean>({
      flag: "--yes",
      short: "-y",
      kind: toggle,
      default: false,
      description: "do not ask",
    }),
  },
  seeAlso: ["down", "up"],
  async run({ screen, common, stdin, signal }, { data, yes }) {
    await requireNoLab(data);
    const found = await whatIsThere(data);
    if (found.length === 0) {
      screen.note(`nothing to delete: ${data} holds nothing of a lab`);
      if (common.json) screen.out(`${toJson({ deleted: [] }, 2)}\n`);
      return 0;
    }
    screen.note("This deletes:");
    for (const { path, size } of found) screen.note(`  ${shortPath(path)}  (${size})`);
    if (!yes) await confirm(stdin, screen.isNoteLive, signal);
    for (const { path } of found) await rm(path, { recursive: true, force: true });
    await removeDockerData(join(data, "kafka"), signal);
    await removeVolume(containerName("s3", join(data, S3_FOLDER)), signal);
    screen.note("Deleted. Start afresh with: lab up");
    if (common.json) screen.out(`${toJson({ deleted: found.map(({ path }) => path) }, 2)}\n`);
    return 0;
  },
});

async function confirm(stdin: NodeJS.ReadableStream, isLive: boolean, signal: AbortSignal): Promise<void> {
  if (!isLive || !(stdin as { isTTY?: boolean }).isTTY) {
    throw new LabError("USAGE", "reset asks before it deletes, and there is no terminal to ask", {
      hint: "add --yes",
    });
  }
  const asking = createInterface({ input: stdin, output: process.stderr });
  const answer = await asking.question("Type reset to delete: ", { signal }).finally(() => asking.close());
  if (answer.trim() !== "reset") {
    throw new LabError("USAGE", "nothing was deleted", { hint: "type the word reset, or add --yes" });
  }
}

async function whatIsThere(data: string): Promise<{ path: string; size: string }[]> {
  const found: { path: string; size: string }[] = [];
  for (const name of OURS) {
    const path = resolve(data, name);
    if ((await stat(path).catch(() => null)) === null) continue;
    found.push({ path, size: await describeSize(path) });
  }
  return found;
}

async function describeSize(path: string): Promise<string> {
  const one = await stat(path);
  if (!one.isDirectory()) return sizeText(one.size);
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(path, name)).then(
        (entry) => (entry.isFile() ? entry.blocks * 512 : 0),
        () => 0,
      ),
    ),
  );
  return `${names.length.toLocaleString("en-US")} entries, ${sizeText(sizes.reduce((sum, size) => sum + size, 0))}`;
}

/** Rounded up to a whole unit, which is near enough to recognise a folder by. */
function sizeText(size: number): string {
  const unit = size >= 1024 ** 3 ? 1024 ** 3 : size >= 1024 ** 2 ? 1024 ** 2 : 1024;
  return bytes.show(Math.ceil(size / unit) * unit || 1024);
}

function shortPath(path: string): string {
  const near = relative(".", path);
  return near.startsWith("..") ? path : `./${near}`;
}
