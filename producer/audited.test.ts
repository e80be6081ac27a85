import assert from "node:assert/strict";
import { test } from "node:test";
import { AUDIT_HEADER, decodeStamp, type Stamp } from "../audit/header.ts";
import { fakeKafka } from "../kafka/fake.ts";
import type { RawRecord } from "../kafka/ports.ts";
import { until } from "../test/support/until.ts";
import { eventTimeFrom } from "./event-time.ts";
import { type ProduceOptions, produce } from "./produce.ts";
import type { MessageSource } from "./source.ts";
import type { AuditRow } from "./tally.ts";

const NOON = Date.UTC(2026, 10, 29, 12);
const AUDIT = { topic: "audit", origin: "shop", host: "here", eventTime: undefined };

const source = (values: readonly string[], more: Partial<MessageSource> = {}): MessageSource => ({
  name: "values",
  isEndless: false,
  *messages() {
    for (const value of values) yield { key: null, value };
  },
  ...more,
});

function options(kafka: ReturnType<typeof fakeKafka>, more: Partial<ProduceOptions>): ProduceOptions {
  return {
    ...{ kafka, topic: "t", source: source(["a", "b", "c"]), partitions: 2, acks: "all", origin: "run-1" },
    ...{ audit: AUDIT, now: () => NOON, signal: new AbortController().signal },
    ...more,
  };
}

async function recordsOf(kafka: ReturnType<typeof fakeKafka>, topic: string): Promise<RawRecord[]> {
  const admin = await kafka.admin();
  const { signal } = new AbortController();
  const found: RawRecord[] = [];
  for (const [partition, { high }] of await admin.watermarks(topic))
    for (let at = 0n; at < high; at++)
      found.push((await admin.recordAt({ topic, partition, nextOffset: at }, signal))!);
  return found;
}

async function stampsOf(kafka: ReturnType<typeof fakeKafka>): Promise<(Stamp | null)[]> {
  return (await recordsOf(kafka, "t")).map(({ headers }) => {
    const bytes = headers.find(([name]) => name === AUDIT_HEADER)?.[1];
    return bytes ? decodeStamp(bytes) : null;
  });
}

const rowsOf = async (kafka: ReturnType<typeof fakeKafka>) =>
  (await recordsOf(kafka, "audit")).map(({ value }) => JSON.parse(String(value)) as AuditRow);

test("messages are stamped, and the last heartbeat says what was sent of each window and that no more will come", async () => {
  const kafka = fakeKafka();
  await produce(options(kafka, {}));
  const stamps = await stampsOf(kafka);
  assert.deepEqual(stamps.map((stamp) => stamp?.windowSequence).sort(), [0, 1, 2]);
  assert.ok(stamps.every((stamp) => stamp?.origin === "shop" && stamp.epoch === NOON));
  const rows = await rowsOf(kafka);
  assert.equal(rows.filter(({ stage }) => stage === "produced").at(-1)?.count, 3);
  assert.deepEqual([rows.at(-1)?.stage, rows.at(-1)?.closed, rows[0]?.closed], ["heartbeat", true, false]);
});

test("an idle run sends heartbeats", async () => {
  const kafka = fakeKafka();
  const stopping = new AbortController();
  const idle = source([], {
    async *messages(_from: number, signal: AbortSignal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  });
  const run = produce(options(kafka, { source: idle, signal: stopping.signal }));
  await until("a first heartbeat", async () => {
    const admin = await kafka.admin();
    if ((await admin.partitions("audit")) === null) return false;
    return (await rowsOf(kafka)).length > 0;
  });
  stopping.abort();
  await run;
  assert.deepEqual(
    (await rowsOf(kafka)).map(({ stage, closed }) => [stage, closed]),
    [
      ["heartbeat", false],
      ["heartbeat", true],
    ],
  );
});

test("a run that fails says no last word", async () => {
  const kafka = fakeKafka();
  const broken = source([], {
    *messages() {
      yield { key: null, value: "a" };
      throw new Error("the source broke");
    },
  });
  await assert.rejects(produce(options(kafka, { source: broken })), /the source broke/);
  const rows = await rowsOf(kafka);
  assert.deepEqual([rows.length > 0, rows.some(({ closed }) => closed)], [true, false]);
});

test("an event's time is the message's own where it is asked for; one without goes without a stamp", async () => {
  const kafka = fakeKafka();
  const values = ['{"at":"2026-11-28T23:59:59.999Z"}', '{"at":1795867200000}', '{"at":"soon"}'];
  await produce(options(kafka, { source: source(values), audit: { ...AUDIT, eventTime: "at" } }));
  const stamps = await stampsOf(kafka);
  assert.equal(stamps.filter((stamp) => stamp === null).length, 1);
  const windows = (await rowsOf(kafka)).flatMap((row) => (row.stage === "produced" ? row.window_start : []));
  assert.deepEqual([...new Set(windows)].sort(), ["2026-11-28T12:00:00.000Z", "2026-11-28T23:55:00.000Z"]);
});

test("an event's time is read from text with a zone and from milliseconds, and never guessed", () => {
  const at = (value: string) => eventTimeFrom("at", { key: null, value });
  assert.equal(at('{"at":"2026-11-29T13:00:00+01:00"}'), NOON);
  assert.equal(at(`{"at":${NOON}}`), NOON);
  for (const value of [
    '{"at":"2026-11-29T12:00:00"}',
    '{"at":"29.11.2026"}',
    '{"at":true}',
    '{"at":1e300}',
    "{}",
    "no",
  ])
    assert.equal(at(value), null, value);
});
