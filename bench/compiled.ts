/** A program compiled as an image has it: without what a clone takes to run from its sources. */

import { execFile } from "node:child_process";
import { cp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TSC = join(ROOT, "node_modules", ".bin", "tsc");

/** Compiles a module, such as `bench/open-child`, and what it imports into `folder`; the path to run with Node. */
export async function compiledProgram(module: string, folder: string, signal: AbortSignal): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return join(ROOT, `${module}.js`);
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: { noEmit: false, outDir: folder, rootDir: ROOT },
    files: [join(ROOT, `${module}.ts`)],
    include: [join(ROOT, "kafka", "*.d.ts")],
  };
  await compile(config, folder, signal);
  return join(folder, `${module}.js`);
}

/** Compiles all of `lab`, what it only loads by name included; the path to run with Node. */
export async function compiledLab(folder: string, signal: AbortSignal): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return join(ROOT, "cli", "main.js");
  const config = {
    extends: join(ROOT, "tsconfig.build.json"),
    // What else it says of what belongs to a build is taken over as it stands there.
    compilerOptions: { outDir: folder, rootDir: ROOT, declaration: false },
  };
  await compile(config, folder, signal);
  return join(folder, "cli", "main.js");
}

/** Types are another check's concern: here only the programs count. INTERNAL with the compiler's words where there is none. */
async function compile(config: object, folder: string, signal: AbortSignal): Promise<void> {
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  // What the compiler passes over.
  await cp(join(ROOT, "columnar", "columns.wasm"), join(folder, "columnar", "columns.wasm"));
  try {
    await promisify(execFile)(TSC, ["-p", join(folder, "tsconfig.json"), "--noCheck"], { signal });
  } catch (cause) {
    signal.throwIfAborted();
    const said = (cause as { stdout?: string }).stdout?.trim() || (cause as Error).message;
    throw new LabError("INTERNAL", `the sources do not compile: ${said.slice(0, 1000)}`, { cause });
  }
}
