import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { fakeKafka } from "../kafka/fake.ts";
import { inspectTarget, misfitOf, prepareTarget, type Target } from "./target.ts";

const HOUR = 3_600_000;
const now = 1_700_000_000_000;
const at = { nowMs: now, signal: new AbortController().signal };
const day: Target = {
  ...{ topic: "x", source: "s", partitions: 2, oldestMs: now - 24 * HOUR, newestMs: now - HOUR },
  ...{ isAppended: false, isExact: false, fillsTable: false, largest: async () => null },
};

test("a topic that would change or lose what it is sent is refused with the setting to change", () => {
  const misfit = (config: Record<string, string>, target: Partial<Target> = {}) =>
    misfitOf(new Map(Object.entries(config)), { ...day, ...target }, now)?.details.setting;
  assert.equal(misfit({}), undefined);
  assert.equal(misfit({ "message.timestamp.type": "LogAppendTime" }), "message.timestamp.type");
  assert.equal(misfit({ "cleanup.policy": "compact,delete" }), "cleanup.policy");
  assert.equal(misfit({ "retention.ms": String(HOUR) }), "retention.ms");
  assert.equal(misfit({ "retention.ms": String(25 * HOUR) }), undefined);
  assert.equal(misfit({ "retention.ms": "-1" }), undefined);
  assert.equal(
    misfit({ "message.timestamp.before.max.ms": String(HOUR) }),
    "message.timestamp.before.max.ms",
  );
  assert.equal(misfit({ "message.timestamp.before.max.ms": "9223372036854775807" }), undefined);
  assert.equal(
    misfit({ "message.timestamp.difference.max.ms": String(HOUR) }),
    "message.timestamp.difference.max.ms",
  );
  const ahead = { newestMs: now + 2 * HOUR };
  assert.equal(
    misfit({ "message.timestamp.after.max.ms": String(HOUR) }, ahead),
    "message.timestamp.after.max.ms",
  );
  assert.equal(misfit({ "message.timestamp.after.max.ms": String(3 * HOUR) }, ahead), undefined);
  assert.equal(
    misfit({ "retention.ms": "0", "message.timestamp.before.max.ms": "0" }, { oldestMs: null }),
    undefined,
  );
});

test("a missing topic is made so that it keeps everything; one that is there needs the partitions, and to be empty unless that was said", async () => {
  const kafka = fakeKafka();
  const admin = await kafka.admin();
  const unfit = (topic: string, more: Partial<Target> = {}) =>
    assert.rejects(
      prepareTarget(admin, { ...day, topic, ...more }, at),
      (error) => isLabError(error, "TARGET_UNFIT") && error.exit === 2,
    );
  assert.deepEqual(await prepareTarget(admin, { ...day, topic: "new" }, at), { isNew: true });
  assert.equal((await admin.partitions("new"))?.length, 2);
  assert.equal(misfitOf(await admin.topicConfig("new"), { ...day, oldestMs: 0 }, now), null);
  assert.deepEqual(await prepareTarget(admin, { ...day, topic: "new" }, at), { isNew: false });
  await unfit("new", { partitions: 3 });
  kafka.createTopic("wide", 7);
  assert.deepEqual(await prepareTarget(admin, { ...day, topic: "wide" }, at), { isNew: false });
  await unfit("wide", { isExact: true });
  kafka.append("wide", 5, [{ key: null, value: "v" }]);
  await unfit("wide");
  assert.deepEqual(await prepareTarget(admin, { ...day, topic: "wide", isAppended: true }, at), {
    isNew: false,
  });
  kafka.trim("wide", 5, 1n);
  const transaction = kafka.transaction("wide");
  transaction.append(5, [{ key: null, value: "never seen" }]);
  transaction.abort();
  assert.deepEqual(await prepareTarget(admin, { ...day, topic: "wide" }, at), { isNew: false });
});

test("a topic that takes smaller messages than the source did is refused where the largest record does not go into it, and records are not looked into for less", async () => {
  const kafka = fakeKafka();
  const admin = await kafka.admin();
  kafka.createTopic("s", 2, { "max.message.bytes": "5000" });
  kafka.createTopic("same", 2, { "max.message.bytes": "5000", "retention.ms": "-1" });
  kafka.createTopic("small", 2, { "max.message.bytes": "2000", "retention.ms": "-1" });
  const of = (topic: string, bytes: number, source = "s") => ({
    ...{ ...day, topic, source },
    largest: async () => ({ bytes, place: "s-1 offset 7" }),
  });
  const never = () => Promise.reject(new Error("nobody need know"));
  assert.equal(await inspectTarget(admin, { ...of("same", 0), largest: never }, at), true);
  assert.equal(await inspectTarget(admin, of("small", 1800), at), true);
  for (const source of ["s", "gone"])
    await assert.rejects(
      inspectTarget(admin, of("small", 2001, source), at),
      (error) =>
        isLabError(error, "TARGET_UNFIT") &&
        error.details.setting === "max.message.bytes" &&
        /s-1 offset 7/.test(error.message),
    );
  assert.equal(await inspectTarget(admin, { ...day, topic: "missing" }, at), false);
  assert.equal(await admin.partitions("missing"), null);
});

test("a topic that the table is filled from is refused, also to append, once it held a record: rows would be doubled", async () => {
  const kafka = fakeKafka();
  const admin = await kafka.admin();
  const target = { ...day, topic: "own", source: "own", fillsTable: true, isAppended: true };
  assert.deepEqual(await prepareTarget(admin, target, at), { isNew: true });
  assert.deepEqual(await prepareTarget(admin, target, at), { isNew: false });
  kafka.append("own", 1, [{ key: null, value: "v" }]);
  const isLoop = (error: unknown) => isLabError(error, "TARGET_UNFIT") && /once more/.test(error.message);
  await assert.rejects(prepareTarget(admin, target, at), isLoop);
  // Retention took it: the next record still has an offset that the stream has not read.
  kafka.trim("own", 1, 1n);
  await assert.rejects(inspectTarget(admin, target, at), isLoop);
  assert.equal(await inspectTarget(admin, { ...target, fillsTable: false }, at), true);
});
