import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { loadAll } from "./commands.ts";
import { completionScript, type Shell } from "./completion-scripts.ts";

const run = promisify(execFile);

/** In a folder with two tables in its lab. */
async function shellFolder(t: TestContext, shell: Shell): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "completion-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const table of ["orders", "my_topic"])
    await mkdir(join(folder, "lab-data", "tables", table, "_delta_log"), { recursive: true });
  await writeFile(join(folder, "lab"), completionScript(shell, await loadAll()));
  return folder;
}

/** Why a test is not run: in CI a shell that is missing fails it. */
const missing = (shell: string) =>
  run(shell, ["-c", "true"]).then(
    () => false,
    () => !process.env.CI && `there is no ${shell} here`,
  );

/** What stands before the cursor, and what is offered there; the last word is the begun one. */
const OFFERED: [line: string[], offered: string[]][] = [
  [["opt"], ["optimize"]],
  [["h"], ["history", "help"]],
  [["optimize", "o"], ["orders"]],
  [["optimize", "--zo"], ["--zorder"]],
  [
    ["produce", "--acks", ""],
    ["all", "leader", "none"],
  ],
  [["produce", "--topic", "orders", "--acks", "l"], ["leader"]],
  [
    ["dlq", ""],
    ["list", "show", "replay", "drop"],
  ],
  [
    ["dlq", "replay", ""],
    ["my_topic", "orders"],
  ],
  [["dlq", "list", "orders", "--code", "WRONG_T"], ["WRONG_TYPE"]],
  [["audit", "d"], ["day"]],
  [["audit", "day", "D"], []],
  [
    ["ingest", "--once", "--on-bad-record", ""],
    ["deadletter", "stop"],
  ],
  [["up", "--kafka", "j"], ["jvm"]],
  [["help", "vac"], ["vacuum"]],
];

const sorted = (words: string) => words.split(/\s+/).filter(Boolean).sort();

test("bash completes commands, flags, their words, and the tables of the lab", async (t) => {
  const cwd = await shellFolder(t, "bash");
  for (const [line, offered] of OFFERED) {
    const words = ["lab", ...line].map((word) => `'${word}'`).join(" ");
    const script = `source ./lab; COMP_WORDS=(${words}); COMP_CWORD=${line.length}; _lab; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await run("bash", ["--norc", "-c", script], { cwd });
    assert.deepEqual(sorted(stdout), [...offered].sort(), line.join(" "));
  }
});

test("zsh offers the same", { skip: await missing("zsh") }, async (t) => {
  const cwd = await shellFolder(t, "zsh");
  for (const [line, offered] of OFFERED) {
    const words = ["lab", ...line].map((word) => `'${word}'`).join(" ");
    // What zsh itself does with what is handed to compadd: it keeps those that begin so.
    const stubs = `compdef() { :; }; _files() { :; }; compadd() { shift; for one in "$@"; [[ $one == "$begun"* ]] && print -r -- $one; }`;
    const script = `${stubs}; source ./lab; words=(${words}); CURRENT=${line.length + 1}; begun='${line.at(-1)}'; _lab; true`;
    const { stdout } = await run("zsh", ["-f", "-c", script], { cwd });
    assert.deepEqual(sorted(stdout), [...offered].sort(), line.join(" "));
  }
});

test("fish offers the same", { skip: await missing("fish") }, async (t) => {
  const cwd = await shellFolder(t, "fish");
  for (const [line, offered] of OFFERED) {
    const asked = ["lab", ...line].join(" ");
    const { stdout } = await run("fish", ["--no-config", "-c", `source ./lab; complete -C '${asked}'`], {
      cwd,
    });
    const words = stdout.split("\n").map((one) => one.split("\t")[0] ?? "");
    // fish also offers what contains the begun word somewhere, and files where a word is free.
    for (const one of offered) assert.ok(words.includes(one), `${asked}: ${stdout}`);
  }
});

test("every command and every flag is in every script", async () => {
  const commands = await loadAll();
  for (const shell of ["bash", "zsh", "fish"] as const) {
    const script = completionScript(shell, commands);
    for (const { name, settings } of commands) {
      assert.ok(script.includes(name), `${shell} ${name}`);
      for (const { flag } of Object.values(settings))
        assert.ok(script.includes(shell === "fish" ? `-l ${flag.slice(2)}` : flag), `${shell} ${flag}`);
    }
  }
});
