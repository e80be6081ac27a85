/** Deleted keys that are kept beside a table in S3: two commits a batch, and a kill between them. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { customersAfter } from "../producer/customers.ts";
import { sharedBroker } from "./support/kafka.ts";
import { lab, startLab } from "./support/lab.ts";
import { s3Env, sharedS3 } from "./support/s3.ts";

const SEED = 11;
const PARTS = [300, 300];

test("a merge that is killed between the commit of deleted keys and that of the table is made again, and no deleted row is left", {
  timeout: 300_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-cdc-s3-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [brokers, s3] = [await sharedBroker(), await sharedS3()];
  const env = s3Env(s3);
  const store = `s3://${s3.bucket}/tables`;
  const topic = `cdc-${randomUUID().slice(0, 8)}`;
  const table = topic.replaceAll("-", "_");
  const kafka = ["--kafka", brokers.join(",")];
  const merge = ["merge", "--topic", topic, "--table", table, "--cdc-deletes", "aside", "--once"];
  const args = [...merge, "--store", store, ...kafka];
  const versionOf = async (name: string) => {
    const listed = await lab(["history", name, "--json", "--store", store], { cwd: folder, env });
    assert.equal(listed.status, 0, listed.stderr);
    return Math.max(...(JSON.parse(listed.stdout) as { version: number }[]).map(({ version }) => version));
  };
  const versions = async () => [await versionOf(table), await versionOf(`${table}__deletes`)] as const;
  const query = async (sql: string) => {
    const { status, stdout, stderr } = await lab(["query", sql, "--json", "--store", store], {
      ...{ cwd: folder, env },
    });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout) as Record<string, string>[];
  };

  let sent = 0;
  for (const count of PARTS) {
    const source = ["--source", "customers", "--seed", String(SEED), "--partitions", "2"];
    const produced = await lab(["produce", "--topic", topic, ...source, "--count", String(count), ...kafka], {
      cwd: folder,
    });
    assert.equal(produced.status, 0, produced.stderr);
    sent += count;
    if (sent > count) {
      const before = await versions();
      const run = startLab(args, { cwd: folder, env: { ...env, LAB_FAILPOINT: "after-upload" } });
      t.after(() => run.child.kill("SIGKILL"));
      assert.equal((await run.ended).signal, "SIGKILL", run.stderr().slice(-2000));
      const [main, aside] = await versions();
      assert.deepEqual(
        [main, aside > before[1]],
        [before[0], true],
        "the deleted keys stand, the table does not know yet",
      );
    }
    const merged = await lab(args, { cwd: folder, env });
    assert.equal(merged.status, 0, merged.stderr.slice(-2000));
    const expected = [...customersAfter(SEED, sent).values()].sort((a, b) => a.id - b.id);
    const rows = await query(`SELECT id, name, city, _cdc.deleted AS deleted FROM ${table} ORDER BY id`);
    assert.deepEqual(
      rows.map(({ id, name, city, deleted }) => [Number(id), name, city, deleted]),
      expected.map(({ id, name, city }) => [id, name, city, false]),
    );
  }
});
