// Which build belongs to the sources of a clone, and whether it is still theirs: asked at each start, so it loads nothing else.

import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Modules that are started as a process of their own. */
export const ENTRIES = ["cli/main", "query/sandbox-child"];

/** Changes whenever a manifest of before would be misread. */
const FORM = 1;

/**
 * Where the builds of a clone lie: beside the packages they use, as `npm ci` removes both. `node_modules` may be a link, and then others share
 * it: each clone has a manifest of its own.
 */
export function buildPlace(root) {
  const folder = join(realpathSync(join(root, "node_modules")), ".cache", "delta-stream-lab");
  const name = root.replace(/[^A-Za-z0-9]+/g, "-").slice(-80);
  return { folder, manifest: join(folder, `build${name}.json`) };
}

/**
 * What a file is recognised by. The time of its last change of any kind is in it, which nobody can set back: a file that was
 * replaced by one as long and as old counts as changed.
 */
export function stampOf(path) {
  const { size, mtimeMs, ctimeMs } = statSync(path);
  return `${size} ${mtimeMs} ${ctimeMs}`;
}

/** `{folder, entries}` of the build that was made of just these sources; null if there is none. */
export function currentBuild(root) {
  const { folder, manifest } = buildPlace(root);
  let read;
  try {
    read = JSON.parse(readFileSync(manifest, "utf8"));
  } catch {
    return null;
  }
  if (read.form !== FORM || read.root !== root || !isUnchanged(root, read.inputs)) return null;
  const files = ENTRIES.map((entry) => join(folder, read.entries[entry]));
  return files.every((file) => existsSync(file)) ? buildOf(folder, read.entries) : null;
}

/** As it is written down: `inputs` are `[path from the root, stamp]`, `entries` names of files in the folder. */
export function manifestText(root, inputs, entries) {
  return JSON.stringify({ form: FORM, root, entries, inputs });
}

export function buildOf(folder, entries) {
  const urls = Object.entries(entries).map(([entry, file]) => [
    entry,
    pathToFileURL(join(folder, file)).href,
  ]);
  return { folder, entries: Object.fromEntries(urls) };
}

function isUnchanged(root, inputs) {
  try {
    return inputs.every(([path, stamp]) => stampOf(join(root, path)) === stamp);
  } catch {
    return false;
  }
}
