/** Peers that run in Python: exactly their packages, fetched once into the user's cache. */

import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../core/cache-folder.ts";
import { LabError } from "../core/errors.ts";

const run = promisify(execFile);

/** The folder for PYTHONPATH with the packages of a requirements file. SERVICE_UNAVAILABLE without Python 3 or a package index. */
export async function pythonPackages(requirements: URL, signal: AbortSignal): Promise<string> {
  const key = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex")
    .slice(0, 12);
  const folder = join(cacheFolder(), `python-${key}`);
  const isMade = () =>
    access(folder).then(
      () => true,
      () => false,
    );
  if (await isMade()) return folder;
  await mkdir(cacheFolder(), { recursive: true });
  const partial = `${folder}.${randomUUID()}`;
  try {
    // A Python may come without pip; an environment of its own has it.
    await run("python3", ["-m", "venv", join(partial, "venv")], { signal });
    const packages = join(partial, "packages");
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", packages];
    await run(join(partial, "venv", "bin", "python"), [...pip, "-r", fileURLToPath(requirements)], {
      signal,
    });
    await rename(packages, folder).catch(async (error: unknown) => {
      // Another run may have been faster.
      if (!(await isMade())) throw error;
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new LabError(
      "SERVICE_UNAVAILABLE",
      `the peer in Python cannot be set up: ${(error as Error).message}`,
      {
        hint: "it takes python3 with venv, and a package index that pip reaches",
        cause: error,
      },
    );
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}
