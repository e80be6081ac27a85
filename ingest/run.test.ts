import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { groupOf } from "./identity.ts";
import type { StreamOptions } from "./options.ts";

const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });

test("of two streams in a process, one that cannot go on ends both, and the other loses nothing", async (t) => {
  const fixture = await streamFixture(t);
  const later = { latencyMs: 60_000, rows: 1e6, bytes: 1 << 28 };
  const stream = (topic: string, more: Partial<StreamOptions>): StreamOptions => {
    fixture.kafka.createTopic(topic, 1);
    const tableUri = topic === "u" ? `${fixture.tableUri}-other` : fixture.tableUri;
    return {
      ...{ topic, tableUri, app: "lab", group: groupOf("lab", tableUri), format: "json", partitionBy: [] },
      ...{ metadata: true, flush: later, start: { kind: "earliest" }, onBadRecord: "deadletter" },
      ...{ onUnknownField: "add", onTopicReset: "fail", tableProperties: {}, once: false, ...more },
    };
  };
  const flush = { ...later, latencyMs: 20 };
  const worker = fixture.start(
    {},
    { streams: [stream("t", {}), stream("u", { onBadRecord: "stop", flush })] },
  );
  fixture.kafka.append("t", 0, [json({ id: 1 }), json({ id: 2 })]);
  await until("the good stream holds what it read", () =>
    worker.ingest?.reports().some((report) => report.topic === "t" && report.buffer.rows === 2),
  );
  fixture.kafka.append("u", 0, [{ key: null, value: "{broken" }]);
  await assert.rejects(worker.ended, (error) => isLabError(error, "BAD_RECORD"));
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
