/** The whole lab as a user runs it: one command, a second terminal, a browser, Ctrl+C, and once more. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type LabRun, lab, startLab } from "./support/lab.ts";
import { openBrowser, openPage } from "./support/page.ts";
import { until } from "./support/until.ts";

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lab-up-"));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));
  return folder;
}

/** `lab up` with ports of its own, so that it runs beside anything. */
function up(t: TestContext, cwd: string, ...more: string[]): LabRun {
  const run = startLab(["up", "--kafka", "jvm", "--port", "0", ...more], { cwd });
  t.after(async () => {
    run.child.kill("SIGKILL");
    await run.ended;
  });
  return run;
}

async function ask<T>(cwd: string, ...args: string[]): Promise<T> {
  const { status, stdout, stderr } = await lab([...args, "--json"], { cwd });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as T;
}

/** Rows and distinct places of a table, as a user would ask. */
async function counted(cwd: string, table: string): Promise<{ n: number; d: number }> {
  const sql = `SELECT count(*) AS n, count(DISTINCT (_kafka.partition, _kafka.offset)) AS d FROM ${table}`;
  const [row] = await ask<{ n: string; d: string }[]>(cwd, "query", sql);
  return { n: Number(row?.n), d: Number(row?.d) };
}

const hasRows = (cwd: string, table: string, least: number) =>
  until(
    `${least} rows in ${table}`,
    async () => {
      const { n } = await counted(cwd, table);
      return n >= least && n;
    },
    { deadlineMs: 120_000, everyMs: 500 },
  );

/** Pids of the parts that the lab has written down. */
async function partPids(cwd: string): Promise<number[]> {
  const folder = join(cwd, "lab-data", "run");
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const parts = await Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8"))),
  );
  return parts.flatMap(({ pid }: { pid: number | null }) => (pid === null ? [] : [pid]));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function interrupt(run: LabRun): Promise<void> {
  run.child.kill("SIGINT");
  const { status } = await run.ended;
  assert.equal(status, 0, run.stderr().slice(-3000));
}

test("one command gives rows, time travel and a page that follows; Ctrl+C ends it, and a second start goes on", async (t) => {
  const cwd = await emptyFolder(t);
  const first = up(t, cwd);
  const address = (await first.printed(/dashboard +(http:\S+)/, 120_000))[1] ?? "";
  await hasRows(cwd, "my_topic", 4);
  await hasRows(cwd, "orders", 100);

  const tables = await ask<{ name: string }[]>(cwd, "tables");
  assert.deepEqual(tables.map(({ name }) => name).sort(), ["my_topic", "orders"]);
  const text = await ask<{ key: string; value: string }[]>(
    cwd,
    "query",
    "SELECT key, value FROM my_topic ORDER BY _kafka.offset LIMIT 4",
  );
  assert.deepEqual(
    text.map(({ key }) => key),
    ["Key1", "Key2", "Key3", "Key4"],
  );
  assert.deepEqual(
    text.slice(0, 3).map(({ value }) => value),
    ["One!", "Two!", "three!"],
  );

  const browser = await openBrowser();
  t.after(() => browser.close());
  const page = await openPage(browser, `${new URL(address).origin}/t/orders`);
  t.after(page.close);
  const live = await page.showsVersion((version) => version >= 3, 60_000);
  await page.showsVersion((version) => version > live, 60_000);
  const [chart, row] = [await page.chartFinding(), await page.firstRow()];
  assert.ok(row.length > 5, "rows appear");
  await page.press("Home");
  await page.showsVersion((version) => version <= 1);
  assert.notEqual(await page.chartFinding(), chart, "the chart follows the scrubber");
  assert.deepEqual(page.complaints, []);

  const history = await ask<{ version: number; timestamp: string; rowsAdded: string }[]>(
    cwd,
    "history",
    "orders",
  );
  const early = history.find(({ version }) => version === 2);
  const atVersion = await ask<{ n: string }[]>(
    cwd,
    "query",
    "SELECT count(*) AS n FROM orders AT (VERSION => 2)",
  );
  const atTime = await ask<{ n: string }[]>(
    cwd,
    "query",
    `SELECT count(*) AS n FROM orders AT (TIMESTAMP => '${early?.timestamp}')`,
  );
  const byFlag = await ask<{ n: string }[]>(
    cwd,
    "query",
    "SELECT count(*) AS n FROM orders",
    "--version",
    "2",
  );
  assert.deepEqual([atTime, byFlag], [atVersion, atVersion]);
  assert.ok(Number(atVersion[0]?.n) < (await counted(cwd, "orders")).n);

  await interrupt(first);
  const pids = await partPids(cwd);
  assert.deepEqual(pids.filter(isAlive), [], "nothing it started is left");
  const before = await counted(cwd, "orders");

  const second = up(t, cwd, "--for", "20s");
  await second.printed(/dashboard +http/, 120_000);
  assert.equal((await second.ended).status, 0, second.stderr().slice(-3000));
  const after = await counted(cwd, "orders");
  assert.ok(after.n > before.n, `${after.n} rows after the second start, ${before.n} before`);
  assert.equal(after.n, after.d, "no row is there twice");
  const ids = await ask<{ least: string; most: string; n: string }[]>(
    cwd,
    "query",
    "SELECT min(order_id) AS least, max(order_id) AS most, count(DISTINCT order_id) AS n FROM orders",
  );
  assert.deepEqual(
    ids,
    [{ least: "0", most: String(after.n - 1), n: String(after.n) }],
    "no order is missing",
  );
});

test("kill -9 of the supervisor leaves none behind, and the next start heals what it left", async (t) => {
  const cwd = await emptyFolder(t);
  const killed = up(t, cwd);
  await killed.printed(/dashboard +http/, 120_000);
  await hasRows(cwd, "orders", 10);
  const pids = await partPids(cwd);
  assert.ok(pids.length >= 4 && pids.every(isAlive), `parts ${pids}`);
  killed.child.kill("SIGKILL");
  await until("all parts are gone", () => !pids.some(isAlive), { deadlineMs: 30_000 });

  const healed = up(t, cwd, "--for", "15s");
  assert.equal((await healed.ended).status, 0, healed.stderr().slice(-3000));
  const { n, d } = await counted(cwd, "orders");
  assert.equal(n, d);
});

test("Ctrl+C twice ends at once, though a part hangs, leaves none behind, and the next start goes on", async (t) => {
  const cwd = await emptyFolder(t);
  const run = up(t, cwd);
  await run.printed(/dashboard +http/, 120_000);
  await hasRows(cwd, "orders", 10);
  const pids = await partPids(cwd);
  const { pid: hanging } = JSON.parse(await readFile(join(cwd, "lab-data", "run", "ingest.json"), "utf8"));
  process.kill(hanging, "SIGSTOP");
  run.child.kill("SIGINT");
  await run.printed(/Stopping: .*Ctrl\+C again/, 30_000);
  // Signals that follow at once are the echo of the first (core/lifecycle.ts).
  await delay(500);
  run.child.kill("SIGINT");
  assert.equal((await run.ended).status, 1, run.stderr().slice(-3000));
  await until("all parts are gone", () => !pids.some(isAlive), { deadlineMs: 60_000 });

  const next = up(t, cwd, "--for", "5s");
  assert.equal((await next.ended).status, 0, next.stderr().slice(-3000));
  const { n, d } = await counted(cwd, "orders");
  assert.equal(n, d);
});

const ON_S3 = `store: s3://lab/tables
streams:
  - topic: my-topic
    format: text
  - topic: orders
    format: json
    partitionBy: [date]
`;

test("with a store on S3 all is the same, MinIO included, and a second start goes on", async (t) => {
  const cwd = await emptyFolder(t);
  await writeFile(join(cwd, "lab.yaml"), ON_S3);
  const first = up(t, cwd);
  await first.printed(/dashboard +http/, 180_000);
  await hasRows(cwd, "my_topic", 4);
  const n = await hasRows(cwd, "orders", 100);
  await interrupt(first);

  const second = up(t, cwd);
  await second.printed(/dashboard +http/, 120_000);
  await hasRows(cwd, "orders", n + 50);
  const [found] = await ask<{ least: string; most: string; n: string; d: string }[]>(
    cwd,
    "query",
    "SELECT min(order_id) AS least, max(order_id) AS most, count(*) AS n, count(DISTINCT order_id) AS d FROM orders",
  );
  assert.equal(found?.n, found?.d, "no row is there twice");
  const tables = await ask<{ name: string; uri?: string }[]>(cwd, "tables");
  assert.deepEqual(tables.map(({ name }) => name).sort(), ["my_topic", "orders"]);
  await interrupt(second);
});
