/**
 * Changes of a database end to end: a random history on a real broker, a merging ingester that is killed at every step and at random, and the
 * table that comes of it read by others. It must be what the database holds.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { connectKafka } from "../kafka/client.ts";
import { type Customer, customersAfter } from "../producer/customers.ts";
import { sharedBroker } from "./support/kafka.ts";
import { lab, startLab } from "./support/lab.ts";
import { referee } from "./support/python.ts";
import { seeded } from "./support/seeded.ts";
import { until } from "./support/until.ts";

const FAILPOINTS = ["before-upload", "after-letters", "after-upload", "after-commit", "in-checkpoint"];
const RANDOM_KILLS = 6;
/** Messages of the history that are there before anything else. */
const FIRST = 200;

/** Messages that are no change, and one whose value no column can take: a table has found its columns by then. */
function poison(n: number): { key: string; value: string } {
  const key = JSON.stringify({ id: -1 - n });
  const after = { id: -1 - n, name: "Nobody", credit: "much" };
  const change = { before: null, after, source: { connector: "postgresql" }, op: "c", ts_ms: n };
  return { key, value: [`no change ${n}`, JSON.stringify(change), `{"op":"c","after":null}`][n % 3]! };
}

test("a merging ingester killed at every step and at random leaves what the database holds, once", {
  timeout: 600_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-cdc-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const brokers = await sharedBroker();
  const kafka = ["--kafka", brokers.join(",")];
  const seed = Number(process.env.LAB_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`LAB_SEED=${seed} repeats the history and the moments of the kills`);
  const random = seeded(seed);
  const topic = `cdc-${randomUUID()}`;
  const tableUri = join(folder, "customers");

  const source = ["--source", "customers", "--seed", String(seed), "--partitions", "3"];
  const begun = await lab(["produce", "--topic", topic, ...source, "--count", String(FIRST), ...kafka]);
  assert.equal(begun.status, 0, begun.stderr);
  const merge = (group: string, env: NodeJS.ProcessEnv = {}) => {
    const args = ["--topic", topic, "--table", tableUri, "--flush-latency", "200ms", "--group", group];
    const run = startLab(["merge", ...args, ...kafka], { cwd: folder, env });
    t.after(() => run.child.kill("SIGKILL"));
    return run;
  };
  // The table finds its columns before anything contradicts them.
  const once = ["--topic", topic, "--table", tableUri, "--once", ...kafka];
  const first = await lab(["merge", ...once], { cwd: folder });
  assert.equal(first.status, 0, first.stderr.slice(-2000));

  const producer = startLab(["produce", "--topic", topic, ...source, "--rate", "100/s", "--json", ...kafka], {
    cwd: folder,
  });
  t.after(() => producer.child.kill("SIGKILL"));
  const client = connectKafka({ brokers, clientId: "cdc", connectTimeoutMs: 30_000 });
  const sink = await client.sink({ acks: "all", idempotent: true });
  const admin = await client.admin();
  t.after(async () => {
    await sink.close();
    await admin.close();
  });
  // It goes on behind what the topic was given, as long as all of that is its own.
  await until("more of the history", async () => {
    const ends = [...(await admin.watermarks(topic)).values()];
    return ends.reduce((sum, { high }) => sum + Number(high), 0) > FIRST;
  });
  let isOver = false;
  const poisoning = (async () => {
    let n = 0;
    for (; !isOver; n++) {
      await sink.send(topic, [poison(n)]);
      await delay(100);
    }
    return n;
  })();
  poisoning.catch(() => {});

  let starts = 0;
  for (const failpoint of FAILPOINTS) {
    const run = merge(`${topic}-${starts++}`, { LAB_FAILPOINT: failpoint });
    const { signal } = await run.ended;
    assert.equal(signal, "SIGKILL", `the ingester killed itself ${failpoint}: ${run.stderr().slice(-2000)}`);
  }
  for (let n = 0; n < RANDOM_KILLS; n++) {
    const run = merge(`${topic}-${starts++}`);
    await run.printed(/"assigned"/);
    await delay(random() * 1200);
    assert.equal(run.child.exitCode, null, `the ingester ended by itself: ${run.stderr().slice(-2000)}`);
    run.child.kill("SIGKILL");
    await run.ended;
  }
  isOver = true;
  const poisoned = await poisoning;
  producer.child.kill("SIGTERM");
  assert.equal((await producer.ended).status, 0, producer.stderr());
  const last = await lab(["merge", ...once], { cwd: folder });
  assert.equal(last.status, 0, last.stderr.slice(-2000));

  const { acked } = JSON.parse(producer.stdout()) as { acked: { total: string } };
  const sent = FIRST + Number(acked.total);
  const found = JSON.parse(await referee("keyed.py", [tableUri])) as {
    rows: (Customer & { phone: string | null })[];
    letters: number;
    distinctLetters: number;
  };
  assert.deepEqual([found.letters, found.distinctLetters], [poisoned, poisoned]);
  const expected = [...customersAfter(seed, sent).values()].sort((a, b) => a.id - b.id);
  const told = ({ since, phone, ...rest }: (typeof found.rows)[number] | Customer) => ({
    ...rest,
    phone: phone ?? null,
    since: Date.parse(since),
  });
  assert.deepEqual(found.rows.map(told), expected.map(told));
  const sql = "SELECT id FROM customers ORDER BY id";
  const listed = await lab(["query", sql, "--table", `customers=${tableUri}`, "--json"], { cwd: folder });
  assert.equal(listed.status, 0, listed.stderr);
  assert.deepEqual(
    (JSON.parse(listed.stdout) as { id: string }[]).map(({ id }) => Number(id)),
    expected.map(({ id }) => id),
  );
  t.diagnostic(`${sent} messages, ${expected.length} customers, ${poisoned} letters`);
});
