/** What a command of `lab` is: declared as data, run with its settings read and checked. */

import type { Log } from "../core/log.ts";
import { SETTINGS, type SettingTable, type Values } from "../core/settings.ts";
import type { LabYaml } from "./lab-yaml.ts";
import type { Screen } from "./screen.ts";

export type Argument = { name: string; description: string; required: boolean; variadic?: boolean };

/** Taken by every command. */
export const COMMON = {
  config: SETTINGS.config,
  json: SETTINGS.json,
  verbose: SETTINGS.verbose,
  noColor: SETTINGS.noColor,
} as const;

export type Context = {
  /**
   * Aborts at the first SIGINT or SIGTERM for a command that `stops: "gracefully"` or "tidily"; the second ends the process with 1. For
   * other commands it never aborts: a signal ends them at once.
   */
  signal: AbortSignal;
  screen: Screen;
  /**
   * Opens the log of the process, on stderr. On a terminal only warnings are told, in sentences, unless --verbose or --json asks for all as it
   * is. `clear` takes away what is drawn there in place before one is; default: the line that `screen.draw` drew.
   */
  openLog(options?: { clear?: () => void }): Promise<Log>;
  /** What every command takes. */
  common: Values<typeof COMMON>;
  /** What was typed after the command's name. */
  words: readonly string[];
  /** The lab.yaml of the working directory, if there is one. */
  lab: LabYaml | null;
  /** Every command there is, loaded. */
  commands(): Promise<readonly Command[]>;
  /** For the children a command starts and for tests; settings come from `values`. */
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadableStream;
};

export type Command = {
  name: string;
  /** One line: what it does. */
  summary: string;
  args: readonly Argument[];
  examples: readonly string[];
  settings: SettingTable;
  /** Not listed in help: started by other commands. */
  isInternal: boolean;
  /** "gracefully": being stopped is its normal end. "tidily": it puts things in order and ends with 130, as its work is not done. */
  stops: "gracefully" | "tidily" | "at once";
  /** Names of commands that belong to it, for help. */
  seeAlso: readonly string[];
  /** The exit status, 0 when nothing is returned. Throws LabErrors. */
  run(context: Context, values: Values<SettingTable>, args: readonly string[]): Promise<number | undefined>;
};

/** Declares a command; `run` gets its settings typed. */
export function defineCommand<const S extends SettingTable>(declared: {
  name: string;
  summary: string;
  args?: readonly Argument[];
  examples: readonly string[];
  settings: S;
  isInternal?: boolean;
  stops?: Command["stops"];
  seeAlso?: readonly string[];
  run(context: Context, values: Values<S>, args: readonly string[]): Promise<number | undefined>;
}): Command {
  const { args = [], isInternal = false, stops = "at once", seeAlso = [] } = declared;
  const run = declared.run as Command["run"];
  return { ...declared, args, isInternal, stops, seeAlso, run };
}
