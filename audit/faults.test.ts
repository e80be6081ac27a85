import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Table } from "../delta/table.ts";
import type { RawRecord } from "../kafka/ports.ts";
import { createTally, type Tally } from "../producer/tally.ts";
import { auditLab, type Bridge } from "../test/support/audit-lab.ts";
import { restoreTable } from "../upkeep/restore.ts";
import type { DayAnswer } from "./day-answer.ts";
import { AUDIT_HEADER, decodeStamp, WINDOW_MS, windowOf } from "./header.ts";
import { rollUp } from "./rollup.ts";

const DAY = "2026-05-04";
const { signal } = new AbortController();
const events = (count: number, minute = 1) =>
  Array.from({ length: count }, (_, n) => ({ n, at: `${DAY}T10:0${minute}:00Z` }));
const WINDOW = Date.parse(`${DAY}T10:00:00Z`);

const stampOf = (record: RawRecord) =>
  decodeStamp(record.headers.find(([name]) => name === AUDIT_HEADER)![1]!)!;
const placeOf = (record: RawRecord) => stampOf(record).windowSequence;
/** Does `harm` to those of these places in their window. */
const harming =
  (places: readonly number[], harm: Bridge): Bridge =>
  (record, at) =>
    places.includes(placeOf(record)) ? harm(record, at) : [record];

function told({ topics }: DayAnswer) {
  return topics.flatMap(({ findings }) =>
    findings.map(({ origin, windowMs, stage, cause, count, named }) => ({
      ...{ origin, windowMs, stage, cause, count },
      ...(named && { sequences: named.sequences, places: named.places.length }),
    })),
  );
}
const about = { origin: "shop", windowMs: WINDOW };

test("three messages that the broker acknowledged and lost are named, with their window and the stage", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(20));
  await lab.settle(harming([3, 7, 8], () => []));
  assert.deepEqual(told(await lab.ask(DAY)), [
    {
      ...{ ...about, stage: "broker", cause: "lost", count: 3, places: 0 },
      sequences: [
        [3, 3],
        [7, 8],
      ],
    },
  ]);
});

test("messages that are in the topic and were passed over on the way to the table are lost there, and their offsets told", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(20));
  const next = new Map([
    [0, 2n],
    [1, 1n],
  ]);
  await lab.settle(undefined, { start: { kind: "offsets", next } });
  const answer = await lab.ask(DAY);
  const [finding] = told(answer);
  assert.deepEqual(
    [finding?.stage, finding?.cause, finding?.count, finding?.places],
    ["ingest", "lost", 3, 3],
  );
  const places = answer.topics[0]!.findings[0]!.named!.places.map((one) => `${one.partition}:${one.offset}`);
  assert.deepEqual(places.sort(), ["0:0", "0:1", "1:0"]);
  assert.equal(answer.topics[0]!.percent, 85);
});

test("a message that was sent twice is the producer's double, with both offsets; a row that stands twice is the table's", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(20));
  await lab.settle(harming([5], (record) => [record, record]));
  const sent = await lab.ask(DAY);
  assert.deepEqual(told(sent), [
    { ...about, stage: "producer", cause: "doubled", count: 1, sequences: [[5, 5]], places: 2 },
  ]);
  await addAgain(await lab.table("t"));
  const rows = await lab.ask(DAY, { explaining: { allRows: true } });
  assert.deepEqual(
    told(rows).map(({ stage, cause, count }) => [stage, cause, count]),
    [
      ["producer", "doubled", 1],
      ["ingest", "doubled", 21],
    ],
  );
});

/** As another writer does that appends rows of the table to it. */
async function addAgain(table: Table): Promise<void> {
  const readSnapshot = await table.latest(signal);
  const adds = [];
  for (const add of readSnapshot.files()) {
    const copy = `again-${add.path.split("/").at(-1)}`;
    await table.store.put(copy, await table.store.get(add.path, signal), signal);
    adds.push({ ...add, path: copy });
  }
  const result = await table.commit({ readSnapshot, operation: "WRITE", adds }, signal);
  assert.equal(result.kind, "committed");
}

test("one lost and one doubled in the same window do not hide each other", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(10));
  await lab.settle((record) =>
    placeOf(record) === 2 ? [] : placeOf(record) === 4 ? [record, record] : [record],
  );
  assert.deepEqual(
    told(await lab.ask(DAY)).map(({ stage, cause, sequences }) => [stage, cause, sequences]),
    [
      ["broker", "lost", [[2, 2]]],
      ["producer", "doubled", [[4, 4]]],
    ],
  );
});

test("a value that changed on the way shows in a window whose count is right", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(10));
  await lab.settle(
    harming([6], (record) => [{ ...record, value: Buffer.from(`{"n":60,"at":"${DAY}T10:01:00Z"}`) }]),
  );
  assert.deepEqual(told(await lab.ask(DAY)), [{ ...about, stage: "ingest", cause: "altered", count: 10 }]);
});

test("what comes later is in flight, and the day complete once it came; heartbeats may come twice and in any order", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(12));
  const late: [RawRecord, number][] = [];
  await lab.settle(
    harming([1, 2], (record, { partition }) => {
      late.push([record, partition]);
      return [];
    }),
  );
  for (const [record, partition] of late)
    lab.kafka.appendRaw("t", partition, { ...record, timestampMs: Date.now() });
  const waiting = await lab.ask(DAY);
  assert.deepEqual(
    told(waiting).map(({ cause, count }) => [cause, count]),
    [["in flight", 2]],
  );
  assert.equal(waiting.answer, "not yet");
  await lab.ingest("t");
  // Heartbeats again, the newest first.
  const admin = await lab.kafka.admin();
  for (const [partition, { high }] of await admin.watermarks("audit"))
    for (let at = high - 1n; at >= 0n; at--) {
      const record = await admin.recordAt({ topic: "audit", partition, nextOffset: at }, signal);
      lab.kafka.appendRaw("audit", partition, record!);
    }
  await lab.ingest("audit");
  const whole = await lab.ask(DAY);
  assert.deepEqual([whole.answer, whole.topics[0]?.percent], ["yes", 100]);
});

test("dead letters are settled and told; a message without an event time is nobody's, and in no window of the day", async (t) => {
  const lab = await auditLab(t);
  await lab.run([...events(5), { n: 5, at: `${DAY}T10:02:00Z`, note: "\ud800" }, { n: 6 }]);
  await lab.settle();
  const { answer, topics } = await lab.ask(DAY);
  assert.deepEqual([answer, topics[0]?.produced, topics[0]?.settled, topics[0]?.letters], ["yes", 6, 6, 1]);
  const today = await lab.ask(new Date().toISOString().slice(0, 10));
  assert.equal(today.topics[0]?.unstamped, 1);
});

test("what a late run brings takes a yes back, until it is there, too", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(5));
  await lab.settle();
  assert.equal((await lab.ask(DAY)).answer, "yes");
  await lab.run(events(3, 7));
  await lab.carry();
  await lab.ingest("audit");
  assert.equal((await lab.ask(DAY)).answer, "not yet");
  await lab.ingest("t");
  const { answer, topics } = await lab.ask(DAY);
  assert.deepEqual([answer, topics[0]?.produced], ["yes", 8]);
});

test("a restore that takes the positions back counts nothing twice, whether commits were rolled up before or not", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(6));
  await lab.settle();
  await lab.run(events(4, 2));
  await lab.settle();
  const table = await lab.table("t");
  const roll = async () =>
    rollUp({
      ...{ table, audit: await lab.table("audit"), app: "lab", scratchDir: join(lab.folder, "scratch") },
      ...{ now: Date.now, signal },
    });
  for (const isRolled of [false, true]) {
    if (isRolled) await roll();
    await restoreTable(table, { to: { version: 1 }, rewindOffsets: true }, signal);
    await lab.ingest("t");
    const { answer, topics } = await lab.ask(DAY);
    assert.deepEqual([answer, topics[0]?.settled], ["yes", 10], `rolled up: ${isRolled}`);
  }
  await roll();
  assert.equal((await lab.ask(DAY)).answer, "yes");
});

test("what a transform leaves out is not lost: messages that are missing are among those that are no row", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(10));
  await lab.settle(
    harming([4], () => []),
    { transform: "SELECT * FROM messages WHERE n % 2 = 1" },
  );
  const answer = await lab.ask(DAY);
  const [finding] = answer.topics[0]!.findings;
  assert.deepEqual([finding?.cause, finding?.count, finding?.named?.isExact], ["lost", 1, false]);
  assert.deepEqual(
    finding?.named?.sequences,
    [0, 2, 4, 6, 8].map((n) => [n, n]),
  );
  const rows = await lab.ask(DAY, { explaining: { allRows: true } });
  assert.equal(rows.topics[0]?.absent, 4);
});

test("a message that becomes several rows is there once", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(6));
  await lab.settle(undefined, { transform: "SELECT n, UNNEST([1, 2, 3]) AS part, _kafka FROM messages" });
  const { answer, topics } = await lab.ask(DAY, { explaining: { allRows: true } });
  assert.deepEqual([answer, topics[0]?.absent, topics[0]?.findings], ["yes", 0, []]);
});

test("a topic that goes to two tables has to be whole in each", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(6));
  await lab.settle();
  const second = { tableUri: `file://${join(lab.folder, "tables", "second")}`, group: "second" };
  const both = async () => {
    const { answer, topics } = await lab.ask(DAY, { tables: ["t", "second"] });
    return [answer, ...topics.map(({ table, settled }) => `${table} ${settled}`)];
  };
  assert.deepEqual(await both(), ["yes", "t 6"]);
  await lab.ingest("t", { ...second, start: { kind: "latest" } });
  assert.deepEqual(await both(), ["yes", "t 6"], "nothing was written to the second one yet");
  await lab.run(events(2, 6));
  await lab.settle();
  await lab.ingest("t", { ...second, start: { kind: "latest" } });
  await lab.ingest("t", second);
  assert.deepEqual(await both(), ["yes", "t 8", "second 8"]);
});

test("a restore of the audit table that takes positions back is made up for by the next roll-up", async (t) => {
  const lab = await auditLab(t);
  await lab.run(events(6));
  await lab.settle();
  const [table, audit] = [await lab.table("t"), await lab.table("audit")];
  const roll = () =>
    rollUp({
      ...{ table, audit, app: "lab", scratchDir: join(lab.folder, "scratch"), now: Date.now, signal },
    });
  const before = await audit.latest(signal);
  assert.equal((await roll()).rows, 1);
  await restoreTable(audit, { to: { version: before.version }, rewindOffsets: true }, signal);
  assert.equal((await lab.ask(DAY)).answer, "yes");
  assert.equal((await roll()).rows, 1);
  assert.equal((await lab.ask(DAY)).answer, "yes");
});

test("a look finds what is late, clocks that are off, and what is not rolled up", async (t) => {
  const lab = await auditLab(t);
  const nowMs = Date.now();
  const origin = (name: string) =>
    createTally({ topic: "t", origin: name, epoch: nowMs - 3_600_000, host: "h", isTimed: true });
  const say = (tally: Tally, atMs: number, receivedMs: number) => {
    for (const row of tally.heartbeat(atMs, false))
      lab.kafka.appendRaw("audit", 0, {
        ...{ key: null, value: Buffer.from(JSON.stringify(row)), headers: [], timestampMs: receivedMs },
      });
  };
  lab.kafka.append("t", 0, [{ key: null, value: "{}" }]);
  const late = origin("late");
  const send = (ms: number) => late.landed(late.stamp(ms), "x");
  const windowMs = windowOf(nowMs - 1_800_000);
  send(windowMs);
  send(windowMs + WINDOW_MS);
  say(late, nowMs - 50_000, nowMs - 50_000);
  send(windowMs + 1);
  say(late, nowMs - 40_000, nowMs - 40_000);
  const fast = origin("fast");
  for (const n of [3, 2, 1]) say(fast, nowMs - n * 10_000 + 40_000, nowMs - n * 10_000);
  const once = origin("once");
  for (const n of [3, 2, 1]) say(once, nowMs - n * 10_000 + (n === 2 ? 90_000 : 0), nowMs - n * 10_000);
  await lab.ingest("t");
  await lab.ingest("audit");
  const { late: found, skews, rollUps, answers } = await lab.look(nowMs);
  assert.deepEqual(
    found.map(({ origin: who, windowMs: window, count }) => [who, window, count]),
    [["late", windowMs, 2]],
  );
  assert.deepEqual(
    skews.map(({ origin: who, skewMs }) => [who, skewMs]),
    [["fast", 40_000]],
  );
  assert.deepEqual(
    rollUps.map(({ topic, table }) => [topic, table]),
    [["t", "t"]],
  );
  assert.ok(answers.length >= 2, "today and yesterday");
});
