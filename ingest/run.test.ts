import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { groupOf } from "./identity.ts";
import type { StreamOptions } from "./options.ts";
import type { Ingest } from "./run.ts";

const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });

const later = { latencyMs: 60_000, rows: 1e6, bytes: 1 << 28 };

/** Streams of topics `t` and `u`, each into a table of its own, over fresh topics. */
function twoStreams(fixture: Fixture, more: Partial<StreamOptions>): StreamOptions[] {
  return ["t", "u"].map((topic): StreamOptions => {
    fixture.kafka.createTopic(topic, 1);
    const tableUri = topic === "u" ? `${fixture.tableUri}-other` : fixture.tableUri;
    return {
      ...{ topic, tableUri, app: "lab", group: groupOf("lab", tableUri), format: "json", partitionBy: [] },
      ...{ keepRaw: false, maxTables: 100, maxBad: null },
      ...{ metadata: true, flush: later, start: { kind: "earliest" }, onBadRecord: "deadletter" },
      ...{ onUnknownField: "add", onTopicReset: "fail", tableProperties: {}, once: false },
      ...(topic === "u" ? more : {}),
    };
  });
}

const stateOf = (worker: { ingest?: Ingest }, topic: string) =>
  worker.ingest?.reports().find((report) => report.topic === topic);

test("of two streams in a process, one that cannot go on ends alone: it is reported, and the other goes on", async (t) => {
  const fixture = await streamFixture(t);
  const flush = { ...later, latencyMs: 20 };
  const streams = twoStreams(fixture, { onBadRecord: "stop", flush });
  const worker = fixture.start({}, { streams });
  fixture.kafka.append("u", 0, [{ key: null, value: "{broken" }]);
  await until("the bad stream has failed", () => stateOf(worker, "u")?.state === "failed");
  assert.equal(stateOf(worker, "u")?.lastError?.code, "BAD_RECORD");
  fixture.kafka.append("t", 0, [json({ id: 1 }), json({ id: 2 })]);
  await until("the good one reads on", () => stateOf(worker, "t")?.buffer.rows === 2);
  await assert.rejects(worker.end(), (error) => isLabError(error, "BAD_RECORD"));
  assert.deepEqual(await fixture.rows("SELECT id FROM t ORDER BY id"), [{ id: 1n }, { id: 2n }]);
});

test("a stream that cannot even begin is reported as failed, and the others run", async (t) => {
  const fixture = await streamFixture(t);
  const [good, bad] = twoStreams(fixture, { topic: "missing" });
  const worker = fixture.start({}, { streams: [good!, bad!] });
  await until("it has failed", () => stateOf(worker, "missing")?.state === "failed");
  fixture.kafka.append("t", 0, [json({ id: 1 })]);
  await until("the other reads", () => stateOf(worker, "t")?.buffer.rows === 1);
  await assert.rejects(worker.end(), (error) => isLabError(error, "TOPIC_MISSING"));
});

test("where several streams fail, the last words name each with its topic, reason and code", async (t) => {
  const fixture = await streamFixture(t);
  const missing = ["gone", "lost"].map((topic) => twoStreams(fixture, { topic })[1]!);
  missing[1] = { ...missing[1]!, format: "text" };
  const worker = fixture.start({}, { streams: missing });
  await assert.rejects(worker.ended, (error) => {
    assert.ok(isLabError(error, "TOPIC_MISSING"));
    assert.match(
      error.message,
      /^2 streams ended: gone: topic gone .*; lost: topic lost .*\(TOPIC_MISSING\)$/,
    );
    assert.match(error.hint ?? "", /--topic gone --source FILE\.ndjson/);
    return true;
  });
});

test("several topics fill one table, each record once, over restarts", async (t) => {
  const fixture = await streamFixture(t);
  const shared = { tableUri: fixture.tableUri, group: groupOf("lab", fixture.tableUri) };
  const flush = { ...later, latencyMs: 20 };
  const streams = twoStreams(fixture, {}).map((stream) => ({ ...stream, ...shared, flush }));
  const row = (id: number) => json({ id });
  fixture.kafka.append("t", 0, [row(1), { key: null, value: "{bad" }]);
  fixture.kafka.append("u", 0, [row(2), row(3)]);
  const worker = fixture.start({}, { streams });
  await fixture.hasRows(3);
  await worker.end();
  fixture.kafka.append("u", 0, [row(4)]);
  fixture.kafka.append("t", 0, [row(5)]);
  await fixture.start({}, { streams: streams.map((stream) => ({ ...stream, once: true })) }).ended;
  assert.deepEqual(await fixture.rows('SELECT id, _kafka.topic AS "of" FROM t ORDER BY id'), [
    { id: 1n, of: "t" },
    { id: 2n, of: "u" },
    { id: 3n, of: "u" },
    { id: 4n, of: "u" },
    { id: 5n, of: "t" },
  ]);
  assert.deepEqual(await fixture.rows('SELECT topic, "offset" AS o FROM letters', "letters"), [
    { topic: "t", o: 1n },
  ]);
});

test("too many bad ones among the last records end the stream before they are letters, and it goes on where it was", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const bad = { key: null, value: "{bad" };
  fixture.kafka.append("t", 0, [json({ id: 1 }), json({ id: 2 }), bad]);
  const maxBad = { most: 2, window: 4 };
  await fixture.start({ once: true, maxBad }).ended;
  fixture.kafka.append("t", 0, [bad, bad, bad, json({ id: 3 })]);
  const worker = fixture.start({ maxBad });
  await assert.rejects(worker.ended, (error) => isLabError(error, "TOO_MANY_BAD"));
  assert.equal((await fixture.rows("SELECT * FROM letters", "letters")).length, 1);
  await fixture.start({ once: true }).ended;
  assert.equal((await fixture.rows("SELECT * FROM letters", "letters")).length, 4);
  assert.equal((await fixture.rows("SELECT * FROM t")).length, 3);
});

test("a bug in one stream ends the process, and the other stream loses nothing", async (t) => {
  const fixture = await streamFixture(t);
  const streams = twoStreams(fixture, { flush: { ...later, latencyMs: 20 } });
  const worker = fixture.start(
    {},
    {
      streams,
      onStep: () => {
        if (stateOf(worker, "t")?.state === "running") throw new Error("a bug");
      },
    },
  );
  fixture.kafka.append("t", 0, [json({ id: 1 }), json({ id: 2 })]);
  await until("the good stream holds what it read", () => stateOf(worker, "t")?.buffer.rows === 2);
  fixture.kafka.append("u", 0, [json({ id: 3 })]);
  await assert.rejects(worker.ended, /a bug/);
  assert.deepEqual(await fixture.rows("SELECT id FROM t ORDER BY id"), [{ id: 1n }, { id: 2n }]);
});

test("a client that delivers nothing, though there is something, ends the process and not its silence", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ id: 1 })]);
  const { source } = fixture.kafka;
  fixture.kafka.source = (options) => ({ ...source(options), start: () => {} });
  const worker = fixture.start({}, { stallMs: 500 });
  await assert.rejects(worker.ended, (error) => isLabError(error, "NO_PROGRESS"));
});

test("a quiet topic is no stall, and neither is a commit that waits", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ id: 1 })]);
  const worker = fixture.start({ flush: { latencyMs: 1_500, rows: 1e6, bytes: 1 << 28 } }, { stallMs: 300 });
  await fixture.hasRows(1);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await worker.end();
});
