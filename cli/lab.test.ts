import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { LabError } from "../core/errors.ts";
import { duration, list, text, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { parseArguments } from "./arguments.ts";
import { defineCommand } from "./command.ts";
import { COMMANDS, loadAll } from "./commands.ts";
import { runLab } from "./lab.ts";
import { printError } from "./print-error.ts";
import { createScreen } from "./screen.ts";

type Stream = NodeJS.WriteStream;

function capture() {
  const written = { out: "", err: "" };
  const into = (key: "out" | "err") =>
    ({ write: (piece: string) => (written[key] += piece) }) as unknown as Stream;
  return { written, stdout: into("out"), stderr: into("err") };
}

async function run(argv: string[], env: NodeJS.ProcessEnv = {}) {
  const { written, stdout, stderr } = capture();
  const status = await runLab({ argv, env, stdin: Readable.from([]), stdout, stderr });
  return { status, ...written };
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lab-cli-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

const sample = defineCommand({
  name: "sample",
  summary: "Do something",
  args: [{ name: "table", description: "a table", required: true }],
  examples: ["lab sample orders"],
  settings: {
    wait: setting<number>({ flag: "--wait", kind: duration, default: 1000, description: "how long" }),
    keys: setting<string[]>({ flag: "--key", kind: list(text), default: [], description: "keys" }),
    once: setting<boolean>({
      flag: "--once",
      short: "-1",
      kind: toggle,
      default: false,
      description: "once",
    }),
  },
  run: async () => 0,
});

test("no command, help and --help show what there is, on stdout, with status 0", async () => {
  for (const argv of [[], ["help"], ["--help"], ["-h"]]) {
    const { status, out, err } = await run(argv);
    assert.equal(status, 0);
    assert.match(out, /^Kafka to Delta Lake/);
    assert.match(out, /\n {2}up +Run the whole lab/);
    assert.equal(err, "");
  }
});

test("`lab help X` is `lab X --help`", async () => {
  const { status, out } = await run(["help", "up"]);
  assert.equal(status, 0);
  assert.equal(out, (await run(["up", "--help"])).out);
  assert.match(out, /--for <duration>/);
  assert.match(out, /KAFKA_BROKERS/);
});

test("help shows options by what they are about, each of them once", async () => {
  const { out } = await run(["help", "ingest"]);
  const titles = out.split("\n").filter((line) => /^[A-Z][A-Za-z ]+$/.test(line));
  assert.deepEqual(titles, [
    ...["Examples", "Usage", "Options", "When rows are committed", "Kafka", "Schema registry"],
    ...["Memory and speed", "Watching it", "On every command"],
  ]);
  const flags = out.match(/^ {2}--[a-z-]+/gm) ?? [];
  assert.equal(new Set(flags).size, flags.length);
  const { ingest } = Object.fromEntries((await loadAll()).map((command) => [command.name, command]));
  for (const { flag } of Object.values(ingest!.settings)) assert.ok(out.includes(`\n  ${flag}`), flag);
});

test("an unknown command or option suggests the near one, with status 2 on stderr", async () => {
  const command = await run(["stauts"]);
  assert.equal(command.status, 2);
  assert.equal(command.out, "");
  assert.match(command.err, /^error: unknown command stauts \(USAGE\)\n {2}fix: did you mean: status\? /);
  const option = await run(["up", "--prot", "80"]);
  assert.equal(option.status, 2);
  assert.match(
    option.err,
    /^error: unknown option '--prot' \(USAGE\)\n {2}fix: did you mean --port\? usage: lab up /,
  );
});

test("names of objects are no commands", async () => {
  for (const name of ["constructor", "__proto__", "toString"]) assert.equal((await run([name])).status, 2);
});

test("with --json an error is one JSON object with code, message and hint", async () => {
  const { status, err } = await run(["up", "--port", "http", "--json"]);
  assert.equal(status, 2);
  assert.deepEqual(Object.keys(JSON.parse(err)), ["code", "message", "hint"]);
  assert.equal(JSON.parse(err).code, "USAGE");
});

test("a wrong lab.yaml ends every command with file and line", async (t) => {
  const config = join(await folder(t), "lab.yaml");
  await writeFile(config, "store: x\nstream: []\n");
  const { status, err } = await run(["status", "--config", config]);
  assert.equal(status, 2);
  assert.ok(
    err.startsWith(`error: ${config}:2: stream is no key of lab.yaml (CONFIG_INVALID)\n  fix: did you mean`),
  );
});

test("commands on a folder without a lab say so and change nothing", async (t) => {
  const data = await folder(t);
  for (const argv of [["status"], ["down"], ["reset", "--yes"]]) {
    const { status, out, err } = await run([...argv, "--data", data]);
    assert.deepEqual([status, out], [0, ""]);
    assert.ok(err.includes(data));
  }
});

test("reset without a terminal asks for --yes and deletes nothing", async (t) => {
  const data = await folder(t);
  await writeFile(join(data, "demo.yaml"), "streams: []\n");
  const { status, err } = await run(["reset", "--data", data]);
  assert.equal(status, 2);
  assert.match(err, /This deletes:\n {2}.*demo\.yaml.*\nerror: .*\n {2}fix: add --yes\n$/);
  const { status: done } = await run(["reset", "--yes", "--data", data]);
  assert.equal(done, 0);
  assert.match((await run(["reset", "--yes", "--data", data])).err, /^nothing to delete/);
});

test("flags, switches, lists and arguments are read in any order", () => {
  const words = ["--key", "a", "orders", "--once", "--key=b,c", "--wait", "2s"];
  assert.deepEqual(parseArguments(sample, words), {
    flags: { "--key": ["a", "b,c"], "--once": "true", "--wait": "2s" },
    args: ["orders"],
    wantsHelp: false,
  });
  assert.equal(parseArguments(sample, ["--help"]).wantsHelp, true);
  assert.deepEqual(parseArguments(sample, ["-1", "--", "--odd"]).args, ["--odd"]);
});

test("a missing argument, one too many and a flag without its value are told with the usage", () => {
  for (const words of [[], ["a", "b"], ["a", "--wait"]]) {
    assert.throws(
      () => parseArguments(sample, words),
      (error) =>
        error instanceof LabError &&
        error.code === "USAGE" &&
        /usage: lab sample <table>/.test(error.hint ?? ""),
    );
  }
});

test("every command has a summary, examples, and settings that share no flag or variable", async () => {
  const commands = await loadAll();
  assert.deepEqual(
    commands.map(({ name }) => name),
    Object.keys(COMMANDS),
  );
  for (const command of commands) {
    assert.match(command.summary, /^[A-Z].*[^.]$/, command.name);
    assert.ok(
      command.examples.length > 0 && command.examples.every((one) => /\blab /.test(one)),
      command.name,
    );
    const settings = Object.values(command.settings);
    for (const key of ["flag", "env"] as const) {
      const words = settings.map((one) => one[key]);
      assert.deepEqual(words, [...new Set(words)], command.name);
    }
    for (const one of settings)
      assert.match(one.description, /^[^A-Z].*[^.]$|^[A-Z]{2}/, `${command.name} ${one.flag}`);
  }
});

test("an error is one line, its way out another, and no stack unless asked for", () => {
  const { written, stdout, stderr } = capture();
  const screen = createScreen({ stdout, stderr, env: {}, noColor: true });
  const cause = new Error("socket hang up");
  const error = new LabError("TOPIC_MISSING", "topic orders\nnot found", {
    hint: "lab produce --topic orders",
    details: { log: ["last words"] },
    cause,
  });
  assert.equal(printError(error, screen, { json: false, verbose: false }), 2);
  assert.equal(
    written.err,
    "error: topic orders not found (TOPIC_MISSING)\n  fix: lab produce --topic orders\n  log: last words\n",
  );
  written.err = "";
  printError(error, screen, { json: false, verbose: true });
  assert.match(written.err, /at .*lab\.test\.ts/);
  assert.match(written.err, /caused by Error: socket hang up/);
  written.err = "";
  assert.equal(printError(new TypeError("x is undefined"), screen, { json: false, verbose: false }), 1);
  assert.match(written.err, /^error: x is undefined \(INTERNAL\)\n.*--verbose/);
});

test("colour is off without a terminal, in CI, with NO_COLOR and --no-color, and on with FORCE_COLOR", () => {
  const { stdout } = capture();
  const terminal = Object.assign(stdout, { isTTY: true });
  const isColored = (env: NodeJS.ProcessEnv, noColor = false, stream: Stream = terminal) =>
    createScreen({ stdout: stream, stderr: stream, env, noColor }).outColors.isColorSupported;
  assert.equal(isColored({}), true);
  assert.equal(isColored({ NO_COLOR: "1" }), false);
  assert.equal(isColored({ NO_COLOR: "" }), true);
  assert.equal(isColored({}, true), false);
  assert.equal(isColored({ TERM: "dumb" }), false);
  assert.equal(isColored({ CI: "true" }), false);
  assert.equal(isColored({}, false, capture().stdout), false);
  assert.equal(isColored({ FORCE_COLOR: "1" }, false, capture().stdout), true);
});
