import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createTable } from "../delta/create.ts";
import { openStore } from "../delta/store/open.ts";
import { lab } from "./support/lab.ts";
import { referee, refereeCommand } from "./support/python.ts";
import { s3Env, s3StorageOptions, sharedS3, type TestS3 } from "./support/s3.ts";
import { structOf } from "./support/sql-table.ts";

const signal = new AbortController().signal;
const ROWS = 3;
/** Of each writer; four writers are 500 commits in all. */
const COMMITS = 125;

type Place = { uri: string; s3?: TestS3; env: NodeJS.ProcessEnv; options: Record<string, string> };
type Told = { seq: number; version?: number; attempts?: number };

/** A writer that waits for the word to begin, and says in the end what it was told is in the log. */
function startWriter(t: TestContext, command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const child: ChildProcess = spawn(command, args, { env: { ...process.env, ...env }, stdio: "pipe" });
  t.after(() => child.kill("SIGKILL"));
  const [out, err]: string[][] = [[], []];
  child.stderr!.setEncoding("utf8").on("data", (text: string) => err!.push(text));
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      out!.push(text);
      if (out!.join("").includes("ready\n")) resolve();
    });
    child.once("close", () => reject(new Error(err!.join(""))));
  });
  const told = new Promise<Told[]>((resolve, reject) => {
    child.once("close", (status) => {
      if (status === 0) resolve(JSON.parse(out!.join("").trim().split("\n").at(-1)!));
      else reject(new Error(`${command} ended with ${status}: ${err!.join("").slice(-3000)}`));
    });
  });
  return { ready, told, go: () => child.stdin!.end() };
}

async function race(t: TestContext, place: Place): Promise<void> {
  const { uri, env, options } = place;
  const store = await openStore(uri, { signal, ...(place.s3 ? { s3: place.s3 } : {}) });
  t.after(() => store.close());
  await createTable(store, { schema: structOf({ writer: "string", seq: "long", n: "long" }) }, signal);
  const ours = (name: string) =>
    startWriter(
      t,
      process.execPath,
      [
        "--import",
        "tsx",
        fileURLToPath(new URL("support/append-child.ts", import.meta.url)),
        uri,
        name,
        `${COMMITS}`,
        `${ROWS}`,
      ],
      env,
    );
  const python = await refereeCommand("append.py");
  const theirs = (name: string) =>
    startWriter(
      t,
      python.command,
      [python.script, uri, JSON.stringify(options), name, `${COMMITS}`, `${ROWS}`],
      {},
    );
  const writers = {
    "ours-1": ours("ours-1"),
    "ours-2": ours("ours-2"),
    "delta-rs-1": theirs("delta-rs-1"),
    "delta-rs-2": theirs("delta-rs-2"),
  };
  await Promise.all(Object.values(writers).map(({ ready }) => ready));
  for (const { go } of Object.values(writers)) go();
  const told = await Promise.all(
    Object.entries(writers).map(async ([name, writer]) => [name, await writer.told] as const),
  );
  const expected = told
    .flatMap(([name, commits]) => commits.map(({ seq }) => [name, seq, ROWS]))
    .sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : a[0] === b[0] ? Number(a[1]) - Number(b[1]) : 1));
  assert.equal(expected.length, 4 * COMMITS);
  assert.deepEqual(
    JSON.parse(await referee("written.py", [uri, JSON.stringify(options)])),
    expected,
    "by deltalake",
  );
  const sql = "SELECT writer, seq, count(*)::INTEGER AS rows FROM t GROUP BY ALL ORDER BY ALL";
  const read = await lab(["query", sql, "--table", `t=${uri}`, "--json"], { env });
  assert.equal(read.status, 0, read.stderr);
  const rows = JSON.parse(read.stdout) as { writer: string; seq: string; rows: number }[];
  assert.deepEqual(
    rows.map((row) => [row.writer, Number(row.seq), row.rows]),
    expected,
    "by us",
  );
  const versions = told.flatMap(([, commits]) =>
    commits.flatMap(({ version }) => (version === undefined ? [] : [version])),
  );
  assert.equal(new Set(versions).size, 2 * COMMITS, "no version was given to two commits");
}

test("on a local disk ours and deltalake race for 500 commits: each acknowledged row is there once, as both read it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-race-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await race(t, { uri: join(folder, "table"), env: {}, options: {} });
});

test("on MinIO the same, by conditional PUT", async (t) => {
  const server = await sharedS3();
  const uri = `s3://${server.bucket}/race-${randomUUID()}`;
  await race(t, {
    uri,
    s3: server,
    env: s3Env(server),
    options: { ...s3StorageOptions(server), aws_conditional_put: "etag" },
  });
});
