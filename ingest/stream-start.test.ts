/** Where a topic is begun, and that this is decided once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => json({ id: from + n }));
const ids = async (fixture: Fixture) =>
  (await fixture.rows("SELECT id FROM t ORDER BY id")).map((row) => Number(row.id));
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

test("explicit start offsets are asked about once: a rebalance after progress ends nobody", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  for (const p of [0, 1]) fixture.kafka.append("t", p, numbered(p * 100, p * 100 + 5));
  const start = { kind: "offsets" as const, next: new Map([[0, 2n]]) };
  const worker = fixture.start({ start });
  await fixture.hasRows(8);
  const guest = fixture.start();
  await until("the guest has its share", () => (guest.ingest?.reports()[0]?.partitions.length ?? 0) > 0);
  await guest.end();
  for (const p of [0, 1]) fixture.kafka.append("t", p, numbered(p * 100 + 5, p * 100 + 8));
  await fixture.hasRows(14);
  await worker.end();
  assert.deepEqual(await ids(fixture), [...range(2, 8), ...range(100, 108)]);
});

test("latest is where the first start found the end: what comes to a quiet partition while nobody reads is not skipped", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  for (const p of [0, 1]) fixture.kafka.append("t", p, numbered(p * 100, p * 100 + 5));
  const start = { kind: "latest" as const };
  const worker = fixture.start({ start });
  await until("it runs", () => worker.ingest?.reports()[0]?.state === "running");
  fixture.kafka.append("t", 0, numbered(5, 8));
  await fixture.hasRows(3);
  await worker.end();
  fixture.kafka.append("t", 1, numbered(105, 108));
  await fixture.start({ start, once: true }).ended;
  assert.deepEqual(await ids(fixture), [...range(5, 8), ...range(105, 108)]);
});

test("latest survives a rebalance before the first commit", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 5));
  const start = { kind: "latest" as const };
  const worker = fixture.start({ start, flush: { latencyMs: 2_000, rows: 1e6, bytes: 1 << 28 } });
  await until("it runs", () => worker.ingest?.reports()[0]?.state === "running");
  fixture.kafka.append("t", 0, numbered(5, 8));
  await until("all is read", () => worker.ingest?.reports()[0]?.buffer.rows === 3);
  const guest = fixture.start({ start });
  await until("the guest is in", () => (guest.ingest?.reports()[0]?.totals.rebalances ?? 0) > 0);
  await guest.end();
  fixture.kafka.append("t", 0, numbered(8, 9));
  await fixture.hasRows(1);
  await worker.end();
  assert.deepEqual(await ids(fixture), range(5, 9));
});

test("a partition added to a topic that was begun at latest is read from its start", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const start = { kind: "latest" as const };
  const worker = fixture.start({ start });
  await until("it runs", () => worker.ingest?.reports()[0]?.state === "running");
  fixture.kafka.append("t", 0, numbered(0, 3));
  await fixture.hasRows(3);
  await worker.end();
  fixture.kafka.addPartitions("t", 2);
  fixture.kafka.append("t", 1, numbered(100, 103));
  await fixture.start({ start, once: true }).ended;
  assert.deepEqual(await ids(fixture), [...range(0, 3), ...range(100, 103)]);
});
