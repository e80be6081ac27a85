/** A program compiled as an image has it: without the loader of a clone, which takes time and memory of its own. */

import { execFile } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Compiles a module, such as `bench/open-child`, and what it imports into `folder`; the path to run with Node. */
export async function compiledProgram(module: string, folder: string, signal: AbortSignal): Promise<string> {
  if (!import.meta.url.endsWith(".ts")) return join(ROOT, `${module}.js`);
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: { noEmit: false, outDir: folder, rootDir: ROOT },
    files: [join(ROOT, `${module}.ts`)],
    include: [join(ROOT, "kafka", "*.d.ts")],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  await promisify(execFile)(tsc, ["-p", join(folder, "tsconfig.json")], { signal });
  return join(folder, `${module}.js`);
}
