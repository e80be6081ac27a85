import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { lab, startLab } from "../test/support/lab.ts";
import { sqlTable } from "../test/support/sql-table.ts";

let folder: string;
let append: Awaited<ReturnType<typeof sqlTable>>["append"];
const store = () => ["--store", join(folder, "tables")];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "cli-query-"));
  ({ append } = await sqlTable(join(folder, "tables", "orders"), { id: "long", note: "string" }));
  await append({
    select: "SELECT 1::BIGINT AS id, 'é' AS note",
    info: { lab: { v: 1, partitions: [{ topic: "orders", partition: 0, first: "0", last: "4" }] } },
  });
  await append({ select: "SELECT 2::BIGINT AS id, NULL::VARCHAR AS note" });
});

after(async () => {
  await rm(folder, { recursive: true });
});

const run = (...args: string[]) => lab([...args, ...store()], { cwd: folder });

test("query prints each format on stdout and nothing else", async () => {
  const sql = "SELECT * FROM orders ORDER BY id";
  const table = await run("query", sql);
  assert.match(table.stdout, /│ {5}id │ note/);
  assert.match(table.stdout, /\n2 rows\n$/);
  const csv = await run("query", sql, "--format", "csv");
  assert.equal(csv.stdout, "id,note\n1,é\n2,\n");
  const json = await run("query", sql, "--json", "--version", "1");
  assert.deepEqual(JSON.parse(json.stdout), [{ id: "1", note: "é" }]);
  const offset = await run("query", sql, "--format", "ndjson", "--at-offset", "0:3");
  assert.equal(offset.stdout, '{"id":"1","note":"é"}\n');
  for (const { status } of [table, csv, json, offset]) assert.equal(status, 0);
  assert.deepEqual([csv.stderr, json.stderr], ["2 of 2 files read\n", "1 of 1 files read\n"]);
});

test("query says on stderr how many files it read of how many there are", async () => {
  const none = await run("query", "SELECT * FROM orders WHERE id IN (SELECT 1) AND false", "--format", "csv");
  assert.deepEqual([none.status, none.stdout, none.stderr], [0, "id,note\n", "2 of 2 files read\n"]);
});

test("tables, history, show and diff print one JSON document with --json, and lines without", async () => {
  const tables = JSON.parse((await run("tables", "--json")).stdout);
  assert.deepEqual([tables.length, tables[0].name, tables[0].version], [1, "orders", 2]);
  const history = JSON.parse((await run("history", "orders", "--json")).stdout);
  assert.deepEqual(Object.keys(history[0]), [
    "version",
    "timestamp",
    "operation",
    "rowsAdded",
    "rowsRemoved",
    "filesAdded",
    "filesRemoved",
    "offsets",
  ]);
  assert.deepEqual(history[1].offsets, [{ topic: "orders", partition: 0, first: "0", last: "4" }]);
  assert.equal(JSON.parse((await run("show", "orders", "--version", "1", "--json")).stdout).rows, "1");
  const diff = JSON.parse((await run("diff", "orders", "1", "2", "--json")).stdout);
  assert.deepEqual([diff.rowsAdded, diff.added], ["1", [["2", null]]]);
  assert.match((await run("history", "orders")).stdout, /^version {2}time/);
  assert.match(
    (await run("diff", "orders", "1", "2")).stdout,
    /^1 -> 2: 1 row added, 0 removed; 1 file added, 0 removed\n/,
  );
  assert.match((await run("show", join(folder, "tables", "orders"))).stdout, /^orders version 2/);
});

test("what goes wrong is one line, the way out, and the exit status of its code", async () => {
  const cases: [args: string[], status: number, stderr: RegExp][] = [
    [
      ["query", "SELECT * FROM ordrs"],
      2,
      /^error: there is no table ordrs .*\(TABLE_NOT_FOUND\)\n {2}fix: did you mean orders\?\n$/,
    ],
    [["query", "SELECT nope FROM orders"], 1, /^error: .*line 1, column 8 \(SQL_ERROR\)\n/],
    [["query", "SELECT 1 FROM orders", "--version", "9"], 2, /VERSION_NOT_FOUND/],
    [["query", "SELECT 1", "--at", "soon"], 2, /USAGE/],
    [["query", "SELECT 1", "--at", "2026-01-01", "--version", "1"], 2, /USAGE/],
    [["query", "DROP TABLE orders"], 2, /SQL_REFUSED/],
    [["diff", "orders", "1", "x"], 2, /USAGE/],
    [["show", folder], 2, /NOT_A_TABLE/],
  ];
  for (const [args, status, stderr] of cases) {
    const result = await run(...args);
    assert.deepEqual([result.status, result.stdout], [status, ""], args.join(" "));
    assert.match(result.stderr, stderr);
  }
});

test("--follow prints rows as they come, until a signal ends it", async (t) => {
  const following = startLab(
    ["query", "SELECT id FROM orders", "--follow", "--json", "--version", "1", ...store()],
    { cwd: folder },
  );
  t.after(() => following.child.kill("SIGKILL"));
  await following.printed(/\{"id":"2"\}/);
  await append({ select: "SELECT 3::BIGINT AS id, 'x' AS note" });
  await following.printed(/\{"id":"3"\}/);
  following.child.kill("SIGINT");
  const { status, signal } = await following.ended;
  assert.ok(signal === "SIGINT" || status === 130, `${status} ${signal}`);
  assert.equal(following.stdout(), '{"id":"2"}\n{"id":"3"}\n');
});

test("batch answers in order and ends with its input", async () => {
  const input = [{ op: "rows", table: "orders", version: 1 }, { op: "nope" }]
    .map((one) => `${JSON.stringify(one)}\n`)
    .join("");
  const { status, stdout } = await lab(["batch", ...store()], { cwd: folder, input });
  const [rows, wrong] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(rows, { ok: true, rows: ['["1","é"]'] });
  assert.equal(wrong.code, "USAGE");
  assert.equal(status, 0);
});
