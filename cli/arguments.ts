/** From the words of a command line to a command's flags and arguments, with near names where one is wrong. */

import { CommanderError, Command as Parser } from "commander";
import { LabError } from "../core/errors.ts";
import { type SettingTable, usageOf } from "../core/settings.ts";
import { nearNames } from "../query/near-names.ts";
import { COMMON, type Command } from "./command.ts";

export type Parsed = {
  /** What was given, by flag; switches as `true`, repeated flags as arrays. */
  flags: Record<string, string | string[]>;
  args: string[];
  wantsHelp: boolean;
};

/** All settings a command takes. */
export function settingsOf(command: Command): SettingTable {
  return { ...command.settings, ...COMMON };
}

/** USAGE for an unknown option, a missing value or argument, or one argument too many. */
export function parseArguments(command: Command, words: readonly string[]): Parsed {
  const flags: Parsed["flags"] = {};
  let wantsHelp = false;
  const parser = new Parser(command.name)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    .helpOption(false)
    .allowExcessArguments(false)
    .option("-h, --help", "", () => true);
  parser.on("option:help", () => {
    wantsHelp = true;
  });
  for (const one of Object.values(settingsOf(command))) {
    parser.option(`${one.short ? `${one.short}, ` : ""}${usageOf(one)}`);
    const event = one.flag.replace(/^--/, "");
    parser.on(`option:${event}`, (value: string | null) => {
      const earlier = flags[one.flag];
      const word = value ?? "true";
      flags[one.flag] = one.kind.isList && earlier !== undefined ? [earlier, word].flat() : word;
    });
  }
  for (const { name, required, variadic } of command.args) {
    const dots = variadic ? "..." : "";
    // Whether one is missing is asked below, once it is known that help is not wanted.
    parser.argument(required && !hasHelp(words) ? `<${name}${dots}>` : `[${name}${dots}]`);
  }
  try {
    parser.parse(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw usageError(command, error);
  }
  return { flags, args: parser.args, wantsHelp };
}

function hasHelp(words: readonly string[]): boolean {
  return words.includes("--help") || words.includes("-h");
}

/** The words of commander's message without its own prefix and suggestion. */
function usageError(command: Command, error: CommanderError): LabError {
  const message = (error.message.split("\n")[0] ?? "").replace(/^error: /, "").replace(/\.$/, "");
  const unknown = /^unknown option '([^'=]+)/.exec(message)?.[1];
  const flags = Object.values(settingsOf(command)).map(({ flag }) => flag);
  const near = unknown === undefined ? [] : nearNames(unknown, flags);
  const suggestion = near.length > 0 ? `did you mean ${near.join(" or ")}? ` : "";
  return new LabError("USAGE", message, { hint: `${suggestion}usage: ${usageLine(command)}` });
}

/** `lab query "SQL" [options]`. */
export function usageLine(command: Command): string {
  const args = command.args.map(({ name, required, variadic }) => {
    const shown = variadic ? `${name}...` : name;
    return required ? `<${shown}>` : `[${shown}]`;
  });
  return ["lab", command.name, ...args, "[options]"].join(" ");
}

/** USAGE for a command that does not exist. */
export function unknownCommand(name: string, names: readonly string[]): LabError {
  const near = nearNames(name, names);
  const suggestion = near.length > 0 ? `did you mean: ${near.join(", ")}? ` : "";
  return new LabError("USAGE", `unknown command ${name}`, { hint: `${suggestion}\`lab help\` lists all` });
}
