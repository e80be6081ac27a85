/** Tutorials as programs: the shell blocks of a page run one after the other, and what the page shows is compared with what they print. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { until } from "./until.ts";

/**
 * A fenced block. `sh` runs in the tutorial's terminal, `sh background` in one of its own until the page is done; `text` is what the block before it
 * prints, with `text numbers` whatever its numbers are, `text live` what the newest of the others has printed by now, and `text stopped` what
 * Ctrl+C makes it print; `<!-- until: COMMAND -->` holds what follows back
 * until the command succeeds. `python`, `python duckdb` and `python spark` run where whoever runs the page has them.
 */
export type Block = {
  kind: "sh" | "background" | "text" | "numbers" | "live" | "stopped" | "until" | Python;
  body: string;
  line: number;
};
export type Python = "python" | "python duckdb" | "python spark";

/** The blocks of a page that mean something here, in their order. */
export function parseTutorial(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { info: string; line: number; body: string[] } | null = null;
  for (const [n, text] of page.split("\n").entries()) {
    const fence = /^```(.*)$/.exec(text);
    if (open === null) {
      const condition = /^<!-- until: (.*) -->$/.exec(text)?.[1];
      if (condition !== undefined) blocks.push({ kind: "until", body: condition, line: n + 1 });
      if (fence) open = { info: fence[1]!.trim(), line: n + 1, body: [] };
    } else if (fence) {
      const kind = KINDS[open.info];
      if (kind !== undefined) blocks.push({ kind, body: open.body.join("\n"), line: open.line });
      open = null;
    } else open.body.push(text);
  }
  return blocks;
}

const KINDS: Readonly<Record<string, Block["kind"]>> = {
  sh: "sh",
  "sh background": "background",
  text: "text",
  "text numbers": "numbers",
  "text live": "live",
  "text stopped": "stopped",
  python: "python",
  "python duckdb": "python duckdb",
  "python spark": "python spark",
};

/** What differs from run to run, as docs/tutorials/README.md tells the reader. */
const PLACEHOLDERS: [RegExp, string][] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "ID"],
  [/\S+-[0-9a-f]{8}:\d+/g, "SEQ"],
  [/\b\d+:\d+:[0-9a-f]{16}\b/g, "FINGERPRINT"],
  [/token=\w+/g, "token=ID"],
  [/\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[^│|]*/g, "TIME "],
  [/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00(:00)?)?/g, "TIME"],
  [/\d{4}-\d\d-\d\d/g, "DATE"],
  [/(127\.0\.0\.1|localhost):\d+/g, "HOST"],
  [/\bpid \d+/g, "pid N"],
  [/[\d,]+(\.\d+)? (B|KiB|MiB|bytes)\b/g, "SIZE"],
  [/ in \d+\.\d s( \([\d,]+\/s\))?/g, " in TIME"],
  [/[─═]+/g, "─"],
];

/** Lines of an output with the placeholders in, single spaces, and without the lines of a log. */
function comparable(text: string, hidesNumbers: boolean): string[] {
  return text
    .split("\n")
    .filter((line) => !line.startsWith('{"level"'))
    .map((line) => PLACEHOLDERS.reduce((one, [pattern, word]) => one.replace(pattern, word), line))
    .map((line) => (hidesNumbers ? line.replace(/\d[\d,.]*/g, "N") : line).replace(/\s+/g, " ").trim())
    .filter((line) => line !== "");
}

/** The first line shown that the output does not have in its place; null where all is as shown. `...` stands for lines or for the rest of one. */
export function firstDifference(shown: string, printed: string, hidesNumbers = false): string | null {
  const actual = comparable(printed, hidesNumbers);
  const isMatch = (line: string, one: string | undefined) =>
    one !== undefined &&
    new RegExp(
      `^${line
        .split("...")
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
        .join(".*")}$`,
    ).test(one);
  let at = 0;
  let mayPass = false;
  for (const line of comparable(shown, hidesNumbers)) {
    if (line === "...") {
      mayPass = true;
      continue;
    }
    const found = mayPass ? actual.findIndex((one, n) => n >= at && isMatch(line, one)) : at;
    if (found < 0 || !isMatch(line, actual[found]))
      return `shown: ${line}\nprinted: ${actual.slice(at, at + 5).join("\n         ") || "nothing more"}`;
    at = found + 1;
    mayPass = false;
  }
  return mayPass || at === actual.length ? null : `printed and not shown: ${actual.slice(at).join("\n")}`;
}

export type TutorialRun = {
  /** What was printed for each block that shows something, by the line where it begins. */
  printed: ReadonlyMap<number, string>;
  differences: string[];
};

const BLOCK_MS = 180_000;

/**
 * Runs the page's shell blocks in `cwd`; `pythons` run those in Python, and what a block prints that has none of them is not compared. Whatever it
 * started has ended when it resolves.
 */
export async function runTutorial(
  page: string,
  options: {
    cwd: string;
    env: NodeJS.ProcessEnv;
    pythons: Partial<Record<Python, (script: string) => Promise<string>>>;
  },
): Promise<TutorialRun> {
  const { cwd, env } = options;
  const alias = 'shopt -s expand_aliases; alias lab="node $PWD/bin/lab.js"\n';
  const terminal = openTerminal(alias, { cwd, env });
  const others: Terminal[] = [];
  const printed = new Map<number, string>();
  const differences: string[] = [];
  let last: { text: () => string; isLive: boolean } | null = null;

  async function compare({ body, line, kind }: Block): Promise<void> {
    if (last === null) return;
    const { text, isLive } = last;
    const look = () => firstDifference(body, text(), kind === "numbers");
    // What runs on prints what is shown in its own time.
    if (isLive)
      await until("what is shown", async () => look() === null, { deadlineMs: BLOCK_MS }).catch(() => {});
    const difference = look();
    printed.set(line, text());
    if (difference !== null) differences.push(`line ${line}:\n${difference}`);
  }

  try {
    for (const block of parseTutorial(page)) {
      const { kind, body } = block;
      if (kind === "sh") {
        const output = await terminal.run(body);
        last = { text: () => output, isLive: false };
      } else if (kind === "background") {
        const other = openTerminal(`${alias}${body}\n`, { cwd, env });
        other.child.stdin?.end();
        others.push(other);
        last = { text: other.text, isLive: true };
      } else if (kind === "until") {
        await until(body, async () => (await terminal.status(body)) === 0, {
          deadlineMs: BLOCK_MS,
          everyMs: 500,
        });
      } else if (kind === "python" || kind === "python duckdb" || kind === "python spark") {
        const output = await options.pythons[kind]?.(body);
        last = output === undefined ? null : { text: () => output, isLive: false };
      } else if (kind === "live") {
        last = { text: others.at(-1)?.text ?? (() => ""), isLive: true };
        await compare(block);
      } else if (kind === "stopped") {
        const other = others.pop();
        const from = other?.text().length ?? 0;
        await other?.stop();
        last = { text: () => other?.text().slice(from) ?? "", isLive: false };
        await compare({ ...block, kind: "numbers" });
      } else await compare(block);
    }
  } finally {
    for (const one of [...others, terminal]) await one.stop();
  }
  return { printed, differences };
}

type Terminal = {
  child: ChildProcess;
  text(): string;
  /** Runs lines; resolves with what they print. */
  run(lines: string): Promise<string>;
  /** Exit status of a command whose output nobody sees. */
  status(command: string): Promise<number>;
  /** Ctrl+C to all that runs in it, and waits for its end. */
  stop(): Promise<void>;
};

/** A shell whose output and errors come in one stream, as on a terminal. */
function openTerminal(begin: string, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): Terminal {
  // A group of its own: Ctrl+C reaches the shell and what it runs, not the test.
  const child = spawn("bash", ["--norc"], { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  let text = "";
  const take = (piece: string) => {
    text += piece;
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  child.stdin.on("error", () => {});
  child.stdin.write(`exec 2>&1\n${begin}`);
  const ended = once(child, "close");

  async function run(lines: string): Promise<{ output: string; status: number }> {
    const mark = `END-${randomUUID()}`;
    const from = text.length;
    // A program that is killed may leave this shell's own input in a state in which it cannot be read on.
    child.stdin.write(`{\n${lines}\n} </dev/null\necho "${mark} $?"\n`);
    const end = new RegExp(`${mark} (\\d+)\\n`);
    await until(`the end of: ${lines}`, async () => end.test(text) || child.exitCode !== null, {
      deadlineMs: BLOCK_MS,
      everyMs: 20,
    });
    const rest = text.slice(from);
    return { output: rest.slice(0, rest.search(end)), status: Number(end.exec(rest)?.[1] ?? 1) };
  }

  return {
    child,
    text: () => text,
    run: async (lines) => (await run(lines)).output,
    status: async (command) => (await run(`( ${command} ) >/dev/null 2>&1 </dev/null`)).status,
    async stop() {
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) signalGroup(child, "SIGINT");
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), 60_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
