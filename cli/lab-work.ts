/** Letters and upkeep for the page: each is the command that a user would type, in a process of its own. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { asLabError, ERRORS, type ErrorCode, LabError } from "../core/errors.ts";
import { programPath } from "../core/program.ts";
import type { Chore, Progress, WorkControl } from "../dashboard/work.ts";

/** `common` are the flags that every command takes: store, data, lab.yaml. */
export function createLabWork(options: {
  common: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Ends what still runs. */
  signal: AbortSignal;
}): WorkControl {
  const run = (args: readonly string[], told: (progress: Progress) => void, signal: AbortSignal) =>
    runLab(
      [...args, ...options.common, "--json"],
      options.env,
      told,
      AbortSignal.any([signal, options.signal]),
    );
  const quiet = () => {};
  return {
    letters: (table, { states, limit }, signal) =>
      run(["dlq", "list", table, "--state", states.join(","), "--limit", String(limit)], quiet, signal),
    letter: (table, topic, place, signal) =>
      run(["dlq", "show", table, place, "--topic", topic], quiet, signal),
    perform: (table, chore, told, signal) => run(argsOf(table, chore), told, signal),
  };
}

function argsOf(table: string, chore: Chore): string[] {
  switch (chore.kind) {
    case "optimize":
      return ["optimize", table];
    case "vacuum":
      return ["vacuum", table, ...(chore.dryRun ? ["--dry-run"] : [])];
    case "restore":
      return ["restore", table, "--version", String(chore.version)];
    default: {
      const { kind, topic, letters, dryRun } = chore;
      const which = ["--topic", topic, "--offset", letters.join(",")];
      return ["dlq", kind, table, ...which, ...(dryRun ? ["--dry-run"] : [])];
    }
  }
}

/** Resolves with the document on stdout; rejects with the error that the command printed. */
function runLab(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  told: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [programPath("lab"), ...args], {
      env: { ...env, NO_COLOR: "1", LAB_PARENT: "", LAB_RUN_FILE: "", LAB_PROGRESS: "json" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const end = () => child.kill("SIGTERM");
    signal.addEventListener("abort", end, { once: true });
    let out = "";
    let last = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    createInterface({ input: child.stderr }).on("line", (text) => {
      const line = text.trim();
      if (line === "") return;
      const progress = progressOf(line);
      if (progress !== null) told(progress);
      else last = line;
    });
    child.once("error", reject);
    child.once("close", (status) => {
      signal.removeEventListener("abort", end);
      if (signal.aborted) return reject(signal.reason);
      if (status !== 0) return reject(problemOf(last, `lab ${args[0]} ended with ${status}`));
      try {
        resolve(JSON.parse(out));
      } catch (error) {
        reject(asLabError(error));
      }
    });
  });
}

function progressOf(line: string): Progress | null {
  if (!line.startsWith('{"progress":')) return null;
  try {
    return (JSON.parse(line) as { progress: Progress }).progress;
  } catch {
    return null;
  }
}

function problemOf(line: string, otherwise: string): LabError {
  try {
    const { code, message, hint } = JSON.parse(line) as { code: ErrorCode; message: string; hint?: string };
    if (code in ERRORS) return new LabError(code, message, hint === undefined ? {} : { hint });
  } catch {
    // It said something else, or nothing.
  }
  return new LabError("INTERNAL", line === "" ? otherwise : `${otherwise}: ${line}`);
}
