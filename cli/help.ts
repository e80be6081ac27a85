/** Help: what a command does, three examples, usage, options with default and variable, exit codes. */

import { defaultOf, type Setting, usageOf } from "../core/settings.ts";
import { usageLine } from "./arguments.ts";
import { COMMON, type Command } from "./command.ts";
import type { Screen } from "./screen.ts";

const EXITS = "0 fine; 1 failed; 2 wrong usage or configuration; 3 a check said no";

/** By so much a command gets longer where it is typed as `node bin/lab.js` (`asTyped`). */
const TYPED_MORE = "node bin/lab.js".length - "lab".length;

/** By the beginning of their flags. */
const GROUPS: readonly (readonly [title: string, flags: RegExp])[] = [
  ["When rows are committed", /^--flush-/],
  ["Kafka", /^--(kafka|connect-timeout)/],
  ["Schema registry", /^--registry/],
  ["Watching it", /^--ops-/],
  ["Memory and speed", /^--(memory|chunk|budget|threads|scratch)$/],
];

/** Help of one command, fitted to the width of the screen. */
export function commandHelp(command: Command, screen: Screen): string {
  const { bold, dim } = screen.outColors;
  const width = screen.columns();
  const own = Object.values(command.settings);
  const lines = [
    ...wrap(`${command.summary}.`, width),
    "",
    bold("Examples"),
    ...command.examples.map((example) => `  ${example}`),
    "",
    bold("Usage"),
    `  ${usageLine(command)}`,
    ...command.args.map(({ name, description }) => row(`  ${name}`, description, 24, width)),
    "",
    ...grouped(own).flatMap(([title, settings]) => [
      bold(title),
      ...settings.map((one) => option(one, width)),
      "",
    ]),
    bold("On every command"),
    ...Object.values(COMMON).map((one) => option(one, width)),
    "",
    ...(command.seeAlso.length > 0
      ? wrap(`See also: ${command.seeAlso.map((name) => `lab ${name}`).join(", ")}`, width - TYPED_MORE)
      : []),
    ...wrap(`Exit status: ${EXITS}.`, width).map(dim),
  ];
  return `${lines.join("\n")}\n`;
}

/** Options by what they are about, those of the command itself first. */
function grouped(settings: readonly Setting[]): [title: string, settings: Setting[]][] {
  const groups = new Map<string, Setting[]>([["Options", []]]);
  for (const one of settings) {
    const title = GROUPS.find(([, flags]) => flags.test(one.flag))?.[0] ?? "Options";
    groups.set(title, [...(groups.get(title) ?? []), one]);
  }
  return [...groups].filter(([, some]) => some.length > 0);
}

/** The list of commands. */
export function overview(commands: readonly Command[], screen: Screen): string {
  const { bold, dim } = screen.outColors;
  const width = screen.columns();
  const shown = commands.filter(({ isInternal }) => !isInternal);
  const lines = [
    "Kafka to Delta Lake, exactly once, on one laptop.",
    "",
    bold("Start"),
    "  lab up",
    '  lab query "SELECT count(*) FROM orders"',
    "  lab status",
    "",
    ...wrap("`lab up` runs all of it, with a page on http://localhost:8080.", width - TYPED_MORE),
    "",
    bold("Commands"),
    ...shown.map(({ name, summary }) => row(`  ${name}`, summary, 14, width)),
    "",
    ...wrap(
      "`lab help COMMAND` tells more. Settings are read from flags, environment, ./lab.yaml, in this order.",
      width - TYPED_MORE,
    ),
    ...wrap(`Exit status: ${EXITS}.`, width).map(dim),
  ];
  return `${lines.join("\n")}\n`;
}

/** What `lab help --json` prints. */
export function overviewDocument(commands: readonly Command[]): object {
  const shown = commands.filter(({ isInternal }) => !isInternal);
  return { commands: shown.map(({ name, summary }) => ({ name, summary })) };
}

/** What `lab help COMMAND --json` prints: every option with its variable, its place in lab.yaml and its default. */
export function helpDocument(command: Command): object {
  const { name, summary, args, examples, settings, seeAlso } = command;
  const options = [...Object.values(settings), ...Object.values(COMMON)].map((one) => ({
    flag: one.flag,
    value: one.kind.placeholder,
    env: one.env,
    yaml: one.yaml ?? (one.streamKey === undefined ? null : `streams[].${one.streamKey}`),
    default: defaultOf(one),
    description: one.description,
  }));
  return { name, summary, usage: usageLine(command), args, examples, options, seeAlso };
}

function option(one: Setting, width: number): string {
  const flags = `  ${one.short ? `${one.short}, ` : ""}${usageOf(one)}`;
  const fallback = defaultOf(one);
  const more = [fallback === "" ? "" : `default ${fallback}`, one.env].filter((part) => part !== "");
  return row(flags, `${one.description} [${more.join("; ")}]`, 30, width);
}

/** Two columns; the right one is wrapped at the width, the left one takes a line of its own where it is too long. */
function row(left: string, right: string, indent: number, width: number): string {
  const lines = wrap(right, Math.max(20, width - indent - 1));
  const pad = " ".repeat(indent);
  const first = left.length + 2 <= indent ? left.padEnd(indent) + lines[0] : `${left}\n${pad}${lines[0]}`;
  return [first, ...lines.slice(1).map((line) => pad + line)].join("\n");
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
