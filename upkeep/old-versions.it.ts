/** Vacuum, cleanup, restore and verify beside delta-rs, through the command, and on S3. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { lab } from "../test/support/lab.ts";
import { python } from "../test/support/python.ts";
import { s3Env, s3StorageOptions, sharedS3 } from "../test/support/s3.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { cleanupLog } from "./cleanup.ts";
import { restoreTable } from "./restore.ts";
import { vacuum } from "./vacuum.ts";

const { signal } = new AbortController();
const DAY = 86_400_000;

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "old-versions-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

const open = async (uri: string) => openTable(await openStore(uri, { signal }), signal);

/** Ends Python at once: its readers' threads sometimes abort the process in an orderly exit, after all is done. */
const END = "\nsys.stdout.flush()\nimport os\nos._exit(0)\n";

const MAKE = `
import sys, json
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
uri = sys.argv[1]
def rows(a, b):
    return pa.table({"id": pa.array(range(a, b), pa.int64()), "city": [["a b", "c/d", "100%", "é"][i % 4] for i in range(a, b)]})
write_deltalake(uri, rows(0, 40), partition_by=["city"])
write_deltalake(uri, rows(40, 80), mode="append")
DeltaTable(uri).delete("id < 20")
write_deltalake(uri, rows(100, 140), mode="overwrite")
write_deltalake(uri, rows(140, 150), mode="append")
`;

const READ = `
import sys, json
from deltalake import DeltaTable
def read(uri, **where):
    t = DeltaTable(uri, **where)
    ids = sorted(t.to_pyarrow_table()["id"].to_pylist())
    return {"version": t.version(), "count": len(ids), "first": ids[0] if ids else None, "operation": t.history(1)[0]["operation"]}
`;

test("a dry run names the same files as delta-rs does, and after the vacuum delta-rs reads the table", async (t) => {
  const path = await folder(t);
  await python(MAKE + END, [path]);
  await writeFile(join(path, "stray.parquet"), "x");
  await writeFile(join(path, "_hidden.parquet"), "x");
  const old = new Date(Date.now() - DAY);
  for (const name of await readdir(path, { recursive: true }))
    if (name.endsWith(".parquet")) await utimes(join(path, name), old, old);
  const theirs = JSON.parse(
    await python(
      `import sys, json\nfrom deltalake import DeltaTable\nprint(json.dumps(DeltaTable(sys.argv[1]).vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False, full=True)))${END}`,
      [path],
    ),
  ) as string[];
  const table = await open(path);
  const ours = await vacuum(table, { retainMs: 0, allowShort: true, isDryRun: true }, signal);
  assert.deepEqual(ours.deleted.map((object) => object.path).sort(), theirs.sort());
  assert.deepEqual(
    ours.ended?.map(({ from, to }) => [from, to]),
    [[0, 2]],
  );
  await vacuum(table, { retainMs: 0, allowShort: true }, signal);
  const read = JSON.parse(await python(`${READ}print(json.dumps(read(sys.argv[1])))${END}`, [path]));
  assert.deepEqual(read, { version: 6, count: 50, first: 100, operation: "VACUUM END" });
});

test("delta-rs reads what a restore brought back, and appends to it", async (t) => {
  const path = await folder(t);
  await python(MAKE + END, [path]);
  const table = await open(path);
  const result = await restoreTable(table, { to: { version: 2 } }, signal);
  assert.deepEqual([result.rows.restored, result.rows.removed], [60n, 50n]);
  const read = JSON.parse(
    await python(
      `${READ}
import pyarrow as pa
from deltalake import write_deltalake
first = read(sys.argv[1])
write_deltalake(sys.argv[1], pa.table({"id": pa.array([1000], pa.int64()), "city": ["x"]}), mode="append")
print(json.dumps([first, read(sys.argv[1])]))${END}`,
      [path],
    ),
  );
  assert.deepEqual(read[0], { version: 5, count: 60, first: 20, operation: "RESTORE" });
  assert.equal(read[1].count, 61);
});

test("after a cleanup delta-rs and we open the table, old versions that are left, and write", async (t) => {
  const path = await folder(t);
  const { table, append } = await sqlTable(path, { id: "long" });
  for (let version = 1; version <= 12; version++) {
    await append({ select: `SELECT ${version}::BIGINT AS id` });
    if (version % 4 === 0) await table.checkpoint(await table.latest(signal), signal);
  }
  // Version 12 is of now, each before it four days older than the next.
  for (const name of await readdir(join(path, "_delta_log"))) {
    const time = new Date(Date.now() - (12 - Number.parseInt(name, 10)) * 4 * DAY);
    if (/^\d/.test(name)) await utimes(join(path, "_delta_log", name), time, time);
  }
  const { oldest, deleted } = await cleanupLog(await open(path), {}, signal);
  assert.deepEqual([oldest, deleted.commits], [4, 4]);
  await append({ select: "SELECT 13::BIGINT AS id" });
  const read = JSON.parse(
    await python(`${READ}print(json.dumps([read(sys.argv[1]), read(sys.argv[1], version=5)]))${END}`, [path]),
  );
  assert.deepEqual([read[0].version, read[0].count, read[1].count], [13, 13, 5]);
  const verified = await lab(["verify", path]);
  assert.equal(verified.status, 0, verified.stdout + verified.stderr);
});

test("verify ends with 3 on damage and names it, as lines and as JSON, also where the table cannot be opened", async (t) => {
  const path = await folder(t);
  await python(MAKE + END, [path]);
  const fine = await lab(["verify", path, "--json"]);
  assert.deepEqual([fine.status, JSON.parse(fine.stdout).rows], [0, "50"], fine.stdout);
  const [add] = [...(await (await open(path)).latest(signal)).files()];
  await unlink(join(path, decodeURIComponent(add!.path)));
  const damaged = await lab(["verify", path, "--json"]);
  assert.equal(damaged.status, 3);
  const { damage } = JSON.parse(damaged.stdout);
  assert.deepEqual([damage.count, damage.listed[0].problem], [1, "missing"]);
  await unlink(join(path, "_delta_log/00000000000000000003.json"));
  const lost = await lab(["verify", path]);
  assert.equal(lost.status, 3, lost.stderr);
  assert.match(lost.stdout, /the commit of version 3 is missing[\s\S]*-> restore the file from a copy/);
});

test("commands that are asked for too much say how to go on; offsets are taken back where no broker answers", async (t) => {
  const path = await folder(t);
  await python(MAKE + END, [path]);
  const both = await lab(["restore", path]);
  assert.deepEqual([both.status, /either --version or --at/.test(both.stderr)], [2, true]);
  const short = await lab(["vacuum", path, "--retain", "1h"]);
  assert.deepEqual([short.status, /allow-short-retention/.test(short.stderr)], [2, true]);
  const restored = await lab(["restore", path, "--version", "1", "--rewind-offsets", "--json"], {
    cwd: path,
  });
  assert.deepEqual([restored.status, JSON.parse(restored.stdout).version], [0, 5], restored.stderr);
  assert.deepEqual(JSON.parse(restored.stdout).rewound, [], "the table has no positions");
});

test("on S3 a table is verified, restored, vacuumed and read by delta-rs", {
  timeout: 400_000,
}, async (t) => {
  const server = await sharedS3();
  const uri = `s3://${server.bucket}/${randomUUID()}`;
  const store = await openStore(uri, { signal, s3: server });
  t.after(() => store.close());
  const { table, append } = await sqlTable(store, { id: "long" });
  const first = await append({ select: "SELECT i::BIGINT AS id FROM range(100) r(i)" });
  await append({ select: "SELECT i::BIGINT AS id FROM range(10) r(i)", removes: [first!] });
  await store.put("stray/x.parquet", Buffer.from("x"), signal);
  const run = (...args: string[]) => lab(args, { env: s3Env(server) });
  const verified = await run("verify", uri, "--json");
  assert.equal(verified.status, 0, verified.stdout + verified.stderr);
  assert.deepEqual([JSON.parse(verified.stdout).rows, JSON.parse(verified.stdout).orphans.files], ["10", 1]);
  await restoreTable(table, { to: { version: 1 } }, signal);
  const dry = await run("vacuum", uri, "--retain", "0s", "--allow-short-retention", "--dry-run", "--json");
  assert.deepEqual([JSON.parse(dry.stdout).files, JSON.parse(dry.stdout).ended[0].from], [2, 2], dry.stderr);
  await run("vacuum", uri, "--retain", "0s", "--allow-short-retention");
  assert.equal((await run("checkpoint", uri)).status, 0);
  const read = JSON.parse(
    await python(
      `${READ}print(json.dumps(read(sys.argv[1], storage_options=json.loads(sys.argv[2]))))${END}`,
      [uri, JSON.stringify(s3StorageOptions(server))],
    ),
  );
  assert.deepEqual([read.count, read.operation], [100, "VACUUM END"]);
});
