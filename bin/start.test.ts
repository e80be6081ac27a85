/** A clone runs what its sources say now, built once, whoever else starts at the same time. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CACHE = "node_modules/.cache/delta-stream-lab";

/** A small clone with the real `bin/`: `cli/main.ts` is `main`, and `cli/later.ts` is there to be loaded late. */
function clone(t: TestContext, main: string, later = "export const later: string = 'later';\n"): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "lab-start-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(ROOT, "bin"), join(folder, "bin"), { recursive: true });
  cpSync(join(ROOT, "tsconfig.json"), join(folder, "tsconfig.json"));
  for (const made of ["cli", "query", "node_modules"]) mkdirSync(join(folder, made));
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name === ".cache") continue;
    symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  }
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "cli/main.ts"), main);
  writeFileSync(join(folder, "cli/later.ts"), later);
  writeFileSync(join(folder, "query/sandbox-child.ts"), "export const child: number = 1;\n");
  return folder;
}

function started(folder: string, ...args: string[]): ChildProcess & { said: Promise<Said> } {
  const child = spawn(process.execPath, [join(folder, "bin/lab.js"), ...args], {
    env: { PATH: process.env.PATH },
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const said = once(child, "close").then(([status]) => ({ status: status as number, out, err }));
  return Object.assign(child, { said });
}
type Said = { status: number; out: string; err: string };

const run = (folder: string, ...args: string[]) => started(folder, ...args).said;

function manifestOf(folder: string): string {
  const names = readdirSync(join(folder, CACHE)).filter((name) => name.endsWith(".json"));
  assert.equal(names.length, 1);
  return join(folder, CACHE, names[0]!);
}

const SAYS = (word: string) => `const word: string = "${word}";\nconsole.log(word);\n`;

test("the second start makes no new build, and a changed source is seen", async (t) => {
  const folder = clone(t, SAYS("first"));
  assert.deepEqual(await run(folder), { status: 0, out: "first\n", err: "" });
  const { ino } = statSync(manifestOf(folder));
  assert.deepEqual(await run(folder), { status: 0, out: "first\n", err: "" });
  assert.equal(statSync(manifestOf(folder)).ino, ino);
  writeFileSync(join(folder, "cli/main.ts"), SAYS("second"));
  assert.equal((await run(folder)).out, "second\n");
  assert.notEqual(statSync(manifestOf(folder)).ino, ino);
});

test("a source as long and as old as the one it replaced is seen", async (t) => {
  const folder = clone(t, SAYS("first"));
  const source = join(folder, "cli/main.ts");
  const { atime, mtime } = statSync(source);
  assert.equal((await run(folder)).out, "first\n");
  writeFileSync(source, SAYS("other"));
  utimesSync(source, atime, mtime);
  assert.equal((await run(folder)).out, "other\n");
});

test("starts at the same time, of which each finds no build, all run", async (t) => {
  const folder = clone(t, SAYS("here"));
  for (const { out, err } of await Promise.all([1, 2, 3, 4].map(() => run(folder)))) {
    assert.deepEqual({ out, err }, { out: "here\n", err: "" });
  }
  assert.deepEqual(
    readdirSync(join(folder, CACHE)).filter((name) => name.endsWith(".tmp")),
    [],
  );
});

test("what a killed build left is not taken for a build", async (t) => {
  const folder = clone(t, SAYS("whole"));
  await run(folder);
  const manifest = manifestOf(folder);
  const { entries } = JSON.parse(readFileSync(manifest, "utf8")) as { entries: Record<string, string> };
  // The manifest is written last; and one whose files someone removed is none either.
  rmSync(join(folder, CACHE, entries["cli/main"]!));
  assert.equal((await run(folder)).out, "whole\n");
  writeFileSync(manifest, readFileSync(manifest, "utf8").slice(0, 100));
  assert.equal((await run(folder)).out, "whole\n");
});

test("a process can load the rest of its build after the sources have changed", async (t) => {
  const main = `process.stdin.once("data", async () => {
    const { later }: { later: string } = await import("./later.ts");
    console.log(later);
    process.exit();
  });
  console.error("up");\n`;
  const folder = clone(t, main);
  const old = started(folder);
  await once(old.stderr!, "data");
  writeFileSync(join(folder, "cli/later.ts"), "export const later: string = 'changed';\n");
  const young = started(folder);
  await once(young.stderr!, "data");
  for (const child of [old, young]) child.stdin!.write("\n");
  assert.equal((await old.said).out, "later\n");
  assert.equal((await young.said).out, "changed\n");
});

test("a module knows its place among the sources, and a stack names their lines", async (t) => {
  const main = `type Never = never;
    import { readFileSync } from "node:fs";
    export type Gone = { it: Never };
    console.log(readFileSync(new URL("./beside.txt", import.meta.url), "utf8"));
    function fails(): never { throw new Error("asked for"); }
    try { fails(); } catch (error) { console.log((error as Error).stack); }\n`;
  const folder = clone(t, main);
  writeFileSync(join(folder, "cli/beside.txt"), "beside");
  const { out, err } = await run(folder);
  assert.equal(err, "");
  assert.match(out, /^beside\nError: asked for\n {4}at fails \(file:\/\/.*\/cli\/main\.ts:5:37\)\n/);
});

test("where nothing can be kept, sources are compiled as they are loaded, and --verbose says why", async (t) => {
  const folder = clone(t, SAYS("anyway"));
  writeFileSync(join(folder, "node_modules/.cache"), "no folder");
  assert.deepEqual(await run(folder), { status: 0, out: "anyway\n", err: "" });
  const { out, err } = await run(folder, "--verbose");
  assert.equal(out, "anyway\n");
  assert.match(err, /^the sources are compiled as they are loaded: .*\.cache/);
});

test("a source that is no TypeScript ends the start with its place", async (t) => {
  const folder = clone(t, "const = 1;\n");
  const { status, err } = await run(folder);
  assert.notEqual(status, 0);
  assert.match(err, /cli\/main\.ts:1/);
});

test("without packages the way out is said", async (t) => {
  const folder = clone(t, SAYS("never"));
  rmSync(join(folder, "node_modules"), { recursive: true });
  assert.deepEqual(await run(folder), {
    status: 2,
    out: "",
    err: "error: the packages that the lab needs are not installed (CONFIG_INVALID)\n  fix: npm ci\n",
  });
});
