/** Python readers that are not ours: a virtual environment with pinned packages, made once in the user's cache. */

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

const requirementsFile = new URL("../referees/requirements.txt", import.meta.url).pathname;

/** Threads of the libraries may still run when the interpreter takes itself down, which then ends in an abort now and then. */
const END = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n";

/** Runs a Python script (its text) with `args`; resolves with its stdout, rejects with its stderr. */
export async function python(
  script: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  return runReferee(await interpreter(requirementsFile), ["-c", `${script}${END}`, ...args], env);
}

/** Runs a script of `test/referees/` by its file name. */
export async function referee(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const { command, script } = await refereeCommand(name);
  return runReferee(command, [script, ...args], env);
}

/** A script of `test/referees/` and the interpreter for it, for tests that talk to it while it runs or that need other packages. */
export async function refereeCommand(
  name: string,
  requirements = requirementsFile,
): Promise<{ command: string; script: string }> {
  const script = new URL(`../referees/${name}`, import.meta.url).pathname;
  return { command: await interpreter(requirements), script };
}

/** The interpreter of the environment that holds exactly the packages of `requirements`; made where it is missing. */
export async function interpreter(requirements: string): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "delta-stream-lab");
  const key = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const folder = join(cache, `venv-${key}`);
  const bin = join(folder, "bin", "python");
  const isMade = () => existsSync(join(folder, ".complete"));
  await mkdir(cache, { recursive: true });
  const lock = `${folder}.lock`;
  const deadline = Date.now() + 600_000;
  // Test files run as processes of their own: one of them makes the environment, the others wait for it.
  while (!isMade()) {
    try {
      await mkdir(lock);
    } catch {
      if (Date.now() > deadline)
        throw new Error(`waited too long for ${lock}; remove it if nothing is installing`);
      await new Promise((resolve) => setTimeout(resolve, 500));
      continue;
    }
    try {
      if (isMade()) break;
      await rm(folder, { recursive: true, force: true });
      await runReferee("python3", ["-m", "venv", folder]);
      await runReferee(bin, [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        requirements,
      ]);
      await writeFile(join(folder, ".complete.tmp"), "");
      await rename(join(folder, ".complete.tmp"), join(folder, ".complete"));
    } finally {
      await rm(lock, { recursive: true, force: true });
    }
  }
  return bin;
}

/** Runs a program to its end; resolves with its stdout, rejects with its stderr. */
export function runReferee(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    child.once("error", reject);
    child.once("close", (status) =>
      status === 0 ? resolve(out) : reject(new Error(`${command} ended with ${status}: ${err.slice(-4000)}`)),
    );
  });
}
