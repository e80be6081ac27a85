import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";

const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => json({ id: from + n }));
const ids = async (fixture: Fixture) =>
  (await fixture.rows("SELECT id FROM t ORDER BY id")).map((row) => Number(row.id));

async function twoPartitions(t: TestContext): Promise<Fixture> {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  return fixture;
}

async function makeAnew(fixture: Fixture): Promise<void> {
  const admin = await fixture.kafka.admin();
  await admin.deleteTopic("t");
  await admin.close();
  fixture.kafka.createTopic("t", 2);
}

test("a restart on a topic made anew is asked for once, and reads each of its records once", async (t) => {
  const fixture = await twoPartitions(t);
  for (const partition of [0, 1]) fixture.kafka.append("t", partition, numbered(0, 3));
  await fixture.start({ once: true }).ended;
  await makeAnew(fixture);
  fixture.kafka.append("t", 0, numbered(10, 12));
  await assert.rejects(fixture.start({ once: true }).ended, (error) => isLabError(error, "TOPIC_RESET"));
  await fixture.start({ once: true, onTopicReset: "restart" }).ended;
  // Partition 1 had no record to commit; its position is settled all the same.
  await fixture.start({ once: true }).ended;
  fixture.kafka.append("t", 0, numbered(12, 14));
  fixture.kafka.append("t", 1, numbered(14, 20));
  await fixture.start({ once: true, onTopicReset: "restart" }).ended;
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), [0, 0, 1, 1, 2, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  const keys = "SELECT DISTINCT (_kafka.partition, _kafka.offset, _kafka.generation) FROM t";
  assert.equal((await fixture.rows(keys)).length, 16);
});

test("letters of the topic that is gone are no verdicts on the records of the new one", async (t) => {
  const fixture = await twoPartitions(t);
  const bad = { key: null, value: "{broken", timestampMs: 1_000 };
  fixture.kafka.append("t", 0, [...numbered(0, 3), bad, bad]);
  await fixture.start({ once: true }).ended;
  await makeAnew(fixture);
  fixture.kafka.append("t", 0, numbered(10, 12));
  await fixture.start({ once: true, onTopicReset: "restart" }).ended;
  fixture.kafka.append("t", 0, numbered(12, 15));
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), [0, 1, 2, 10, 11, 12, 13, 14]);
});

test("a record with the offset and the time of a letter of the topic that is gone, and another content, is a row", async (t) => {
  const fixture = await twoPartitions(t);
  const at = (value: string) => ({ key: null, value, timestampMs: 1_000 });
  fixture.kafka.append("t", 0, [at('{"id":0}'), at("{broken"), at("{broken")]);
  await fixture.start({ once: true }).ended;
  await makeAnew(fixture);
  fixture.kafka.append("t", 0, [at('{"id":10}'), at('{"id":11}')]);
  await fixture.start({ once: true, onTopicReset: "restart" }).ended;
  fixture.kafka.append("t", 0, [at('{"id":12}')]);
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), [0, 10, 11, 12]);
});

test("skip goes on at the new topic's end, is asked for once, and keeps row keys apart", async (t) => {
  const fixture = await twoPartitions(t);
  fixture.kafka.append("t", 0, numbered(0, 5));
  await fixture.start({ once: true }).ended;
  await makeAnew(fixture);
  fixture.kafka.append("t", 0, numbered(10, 12));
  await fixture.start({ once: true, onTopicReset: "skip" }).ended;
  fixture.kafka.append("t", 0, numbered(12, 15));
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), [0, 1, 2, 3, 4, 12, 13, 14]);
  const keys = "SELECT DISTINCT (_kafka.partition, _kafka.offset, _kafka.generation) FROM t";
  assert.equal((await fixture.rows(keys)).length, 8);
});

for (const [word, found] of [
  ["skip", [0, 1, 2, 3, 4, 5, 6, 7]],
  ["restart", [0, 1, 2, 3, 4, 5, 6, 7, 15, 16]],
] as const)
  test(`${word} on an expired partition leaves the others where they are`, async (t) => {
    const fixture = await twoPartitions(t);
    fixture.kafka.append("t", 0, numbered(0, 2));
    fixture.kafka.append("t", 1, numbered(2, 5));
    await fixture.start({ once: true }).ended;
    fixture.kafka.append("t", 0, numbered(12, 17));
    fixture.kafka.append("t", 1, numbered(5, 8));
    fixture.kafka.trim("t", 0, 5n);
    await assert.rejects(fixture.start({ once: true }).ended, (error) => isLabError(error, "OFFSET_EXPIRED"));
    await fixture.start({ once: true, onTopicReset: word }).ended;
    await fixture.start({ once: true }).ended;
    assert.deepEqual(await ids(fixture), found);
  });
