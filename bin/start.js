// Runs a module of the lab: the compiled dist/ in an image, and in a clone what the sources were last built to.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { currentBuild } from "./current-build.js";
import { mapStacks } from "./stack.js";

const ROOT = new URL("..", import.meta.url);

/** `module` is a path without extension: "cli/main". What fails before it runs ends the process with one line that says what to do. */
export async function start(module) {
  const source = new URL(`${module}.ts`, ROOT);
  if (!existsSync(source)) {
    await import(new URL(`dist/${module}.js`, ROOT).href);
    return;
  }
  const build = await openBuild(fileURLToPath(ROOT), process.argv.includes("--verbose"));
  if (build === null) {
    await compileOnLoad();
    await import(source.href);
    return;
  }
  mapStacks(build.folder);
  await import(build.entries[module]);
}

/** The build of the sources as they are now, made if need be; null where none can be made. */
async function openBuild(root, verbose) {
  try {
    return currentBuild(root) ?? (await (await import("./build.js")).build(root));
  } catch (error) {
    if (verbose)
      process.stderr.write(`the sources are compiled as they are loaded: ${error.message.split("\n")[0]}\n`);
    return null;
  }
}

async function compileOnLoad() {
  try {
    (await import("tsx/esm/api")).register();
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    process.stderr.write(
      "error: the packages that the lab needs are not installed (CONFIG_INVALID)\n  fix: npm ci\n",
    );
    process.exit(2);
  }
}
