import assert from "node:assert/strict";
import { test } from "node:test";
import { AUDIT_HEADER, encodeStamp } from "../audit/header.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { AuditInfo } from "../engine/lab-info.ts";
import { streamFixture } from "../test/support/stream-fixture.ts";

const { signal } = new AbortController();
const NOON = Date.UTC(2026, 10, 29, 12);

test("of thousands of origins each message is counted in the commit that brings its row, and no commit counts more than a thousand and a fetch", async (t) => {
  const [origins, perFetch] = [3_000, 300];
  const fixture = await streamFixture(t, { mostRecordsPerBatch: perFetch });
  fixture.kafka.createTopic("t", 1);
  const stamped = Array.from({ length: origins }, (_, n) => {
    const stamp = {
      origin: `o${n}`,
      epoch: 1,
      host: "here",
      eventTimeMs: NOON,
      sequence: 0,
      windowSequence: 0,
    };
    return { key: null, value: JSON.stringify({ id: n }), headers: { [AUDIT_HEADER]: encodeStamp(stamp) } };
  });
  fixture.kafka.append("t", 0, stamped);
  await fixture.start({ once: true, flush: { latencyMs: 600_000, rows: 1e9, bytes: 1e12 } }).ended;
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const counted: string[] = [];
  for await (const { commitInfo } of table.history({ signal })) {
    const lab = commitInfo?.lab as { partitions: { rows: number }[]; audit?: AuditInfo[] } | undefined;
    if (lab?.audit === undefined) continue;
    const pairs = lab.audit.flatMap(({ origin, windows }) => windows.map(() => origin));
    assert.ok(pairs.length < 1_000 + perFetch, `${pairs.length} in a commit`);
    assert.equal(pairs.length, lab.partitions[0]!.rows);
    counted.push(...pairs);
  }
  assert.deepEqual(counted.sort(), stamped.map((_, n) => `o${n}`).sort());
  assert.equal((await fixture.rows("SELECT id FROM t")).length, origins);
});

test("windows of messages without a stamp are bounded in a commit, too, once one had a stamp", async (t) => {
  const [windows, perFetch] = [3_000, 300];
  const fixture = await streamFixture(t, { mostRecordsPerBatch: perFetch });
  fixture.kafka.createTopic("t", 1);
  const place = { epoch: 1, host: "here", eventTimeMs: NOON, sequence: 0, windowSequence: 0 };
  const stamp = { [AUDIT_HEADER]: encodeStamp({ origin: "o", ...place }) };
  const bare = Array.from({ length: windows }, (_, n) => ({
    ...{ key: null, value: JSON.stringify({ id: n }), timestampMs: NOON + n * 300_000 },
  }));
  fixture.kafka.append("t", 0, [{ key: null, value: '{"id":-1}', headers: stamp }, ...bare]);
  await fixture.start({ once: true, flush: { latencyMs: 600_000, rows: 1e9, bytes: 1e12 } }).ended;
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  for await (const { commitInfo } of table.history({ signal })) {
    const lab = commitInfo?.lab as { audit?: AuditInfo[] } | undefined;
    const pairs = (lab?.audit ?? []).flatMap((one) => one.windows);
    assert.ok(pairs.length < 1_000 + perFetch, `${pairs.length} in a commit`);
  }
  assert.equal((await fixture.rows("SELECT id FROM t")).length, windows + 1);
});
