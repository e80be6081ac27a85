/** One run of `lab`: parse, read settings, run the command, print what went wrong; returns the exit status. */

import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { asLabError, LabError } from "../core/errors.ts";
import { StopRequested, watchLifecycle } from "../core/lifecycle.ts";
import { toJson } from "../core/ops.ts";
import { readSettings, SETTINGS } from "../core/settings.ts";
import { writeRunFile } from "../services/run-file.ts";
import { parseArguments, settingsOf, unknownCommand } from "./arguments.ts";
import { COMMON, type Command, type Context } from "./command.ts";
import { COMMANDS, loadAll } from "./commands.ts";
import { commandHelp, helpDocument, overview, overviewDocument } from "./help.ts";
import { openLog } from "./open-log.ts";
import { printError } from "./print-error.ts";
import { asTyped } from "./program-name.ts";
import { readLabYaml } from "./read-lab-yaml.ts";
import { useRunningS3 } from "./running-s3.ts";
import { createScreen } from "./screen.ts";

export type LabProcess = {
  argv: readonly string[];
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** What a user types to run this program; default `lab`. */
  program?: string;
};

/** The exit status of work that was stopped half way. */
const STOPPED = 130;

/** Never rejects: what fails is printed. */
export async function runLab(process: LabProcess): Promise<number> {
  const { argv, env, stdout, stderr, program = "lab" } = process;
  const typed = (text: string) => asTyped(text, program, Object.keys(COMMANDS));
  const screen = createScreen({ stdout, stderr, env, typed, noColor: argv.includes("--no-color") });
  const json = argv.includes("--json");
  const verbose = argv.includes("--verbose");
  try {
    const [first = "help", ...rest] = argv;
    if (first === "--version") {
      const found = await version();
      screen.out(json ? `${toJson({ version: found }, 2)}\n` : `${found}\n`);
      return 0;
    }
    if (["help", "-h", "--help"].includes(first) && (rest[0] === undefined || rest[0].startsWith("-"))) {
      const commands = await loadAll();
      screen.out(
        json ? `${toJson(overviewDocument(commands), 2)}\n` : screen.typed(overview(commands, screen)),
      );
      return 0;
    }
    const name = first === "help" ? (rest[0] as string) : first;
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (load === undefined) throw unknownCommand(name, Object.keys(COMMANDS));
    const command = await load();
    const parsed = parseArguments(command, first === "help" ? ["--help"] : rest);
    if (parsed.wantsHelp) {
      screen.out(json ? `${toJson(helpDocument(command), 2)}\n` : screen.typed(commandHelp(command, screen)));
      return 0;
    }
    return await runCommand(command, parsed, { ...process, screen });
  } catch (error) {
    if (error instanceof StopRequested) return 0;
    await leaveError(error, env, argv[0] ?? "");
    return printError(error, screen, { json, verbose });
  }
}

async function runCommand(
  command: Command,
  parsed: { flags: Record<string, string | string[]>; args: string[] },
  process: LabProcess & { screen: Context["screen"] },
): Promise<number> {
  const { argv, env, stdin, screen } = process;
  const common = readSettings(COMMON, { flags: parsed.flags, env });
  const lab = await readLabYaml(common.config);
  const file = lab === null ? {} : { file: (await import("./lab-yaml.ts")).labText(lab) };
  const values = readSettings(settingsOf(command), { flags: parsed.flags, env, ...file });
  const { data } = readSettings({ data: SETTINGS.data }, { flags: parsed.flags, env });
  await useRunningS3([values.store, values.table, values.tables, parsed.args], data, env);
  const lifecycle = command.stops === "at once" ? null : watchLifecycle();
  const signal = lifecycle?.signal ?? new AbortController().signal;
  try {
    const context: Context = {
      ...{ signal, screen, common, lab, commands: loadAll, env, stdin, words: argv.slice(1) },
      openLog: ({ clear } = {}) => openLog(command.name, { screen, common }, clear),
    };
    return (await command.run(context, values, parsed.args)) ?? 0;
  } catch (error) {
    if (!(error instanceof StopRequested) || command.stops !== "tidily") throw error;
    screen.note("stopped before it was done; what it has committed stays, and `lab history` lists it");
    return STOPPED;
  } finally {
    lifecycle?.close();
  }
}

/** A child of `lab up` tells its supervisor why it could not start. */
async function leaveError(error: unknown, env: NodeJS.ProcessEnv, kind: string): Promise<void> {
  const file = env.LAB_RUN_FILE;
  if (file === undefined || file === "") return;
  const name = basename(file, ".json");
  const startedAt = new Date().toISOString();
  const problem = asLabError(error).toJSON();
  await writeRunFile(resolve(file), {
    name,
    kind,
    pid: process.pid,
    opsPort: null,
    startedAt,
    error: problem,
  }).catch(() => {});
}

async function version(): Promise<string> {
  for (const path of ["../package.json", "../../package.json"]) {
    const text = await readFile(new URL(path, import.meta.url), "utf8").catch(() => null);
    if (text !== null) return (JSON.parse(text) as { version: string }).version;
  }
  throw new LabError("INTERNAL", "package.json is not beside the program");
}
