import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { fakeKafka } from "../kafka/fake.ts";
import type { Kafka } from "../kafka/ports.ts";
import { lakeTable, signal, type TestRow } from "../test/support/lake-table.ts";
import { type PlanOptions, planReplay } from "./plan.ts";
import { replay } from "./run.ts";

const rows = (partition: number, from: number, count: number, more: Partial<TestRow> = {}): TestRow[] =>
  Array.from({ length: count }, (_, n) => ({ partition, offset: from + n, ms: 1000 + from + n, ...more }));

test("a plan tells what would be sent, from where, and what was already, and neither makes nor sends nor fences anything", async (t) => {
  const lake = await lakeTable(t, { windowRows: 3 });
  await lake.append([...rows(0, 0, 6), ...rows(2, 10, 4)]);
  const kafka = fakeKafka();
  const options: PlanOptions = {
    ...{ table: lake.table, kafka, target: "x", topic: undefined, from: { kind: "start" }, to: undefined },
    ...{ value: "auto", isAppended: false, work: lake.work, signal, now: Date.now },
  };
  const plan = await planReplay(options);
  assert.deepEqual(plan, {
    ...{ topic: "t", target: "x", version: 1, partitions: 3, isTargetNew: true, sent: 0, isResumed: false },
    ...{ rows: 10, withoutOrigin: 0, rewrites: [] },
    parts: [
      { partition: 0, rows: 6, first: 0n, last: 5n },
      { partition: 2, rows: 4, first: 10n, last: 13n },
    ],
  });
  const admin = await kafka.admin();
  assert.deepEqual(await admin.topics(), []);
  const offsets = { kind: "offsets", first: new Map([[2, 12n]]) } as const;
  const part = await planReplay({ ...options, from: offsets });
  assert.deepEqual(part.parts, [{ partition: 2, rows: 2, first: 12n, last: 13n }]);

  // While a replay is under way, the plan is what is left of it, and the replay goes on.
  let middle: Promise<Awaited<ReturnType<typeof planReplay>>> | undefined;
  await replay({
    ...{ ...options, isCompared: true, transactionBytes: 1, rate: 40 },
    onProgress: ({ sent }) => {
      if (sent >= 4) middle ??= planReplay(options);
    },
  });
  const { sent, isResumed, rows: left, isTargetNew } = await middle!;
  assert.equal(sent + left, 10);
  assert.deepEqual([isResumed, isTargetNew, sent > 0], [true, false, true]);
  assert.equal((await planReplay(options)).rows, 0);
  await assert.rejects(planReplay({ ...options, from: offsets }), (error) =>
    isLabError(error, "TARGET_UNFIT"),
  );
});

test("versions that took rows out are told where versions were asked for: what is gone is not sent", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 3));
  const add = await lake.append(rows(0, 3, 3));
  await lake.append(rows(0, 4, 2), { removes: [add] });
  const kafka = fakeKafka();
  const options: PlanOptions = {
    ...{ table: lake.table, kafka, target: "x", topic: undefined, to: undefined },
    ...{ from: { kind: "version", version: 0 }, value: "auto", isAppended: false },
    ...{ work: lake.work, signal, now: Date.now },
  };
  const { rewrites, parts } = await planReplay(options);
  assert.deepEqual(rewrites, [{ version: 3, operation: "WRITE" }]);
  assert.deepEqual(parts, [{ partition: 0, rows: 5, first: 0n, last: 5n }]);
  const result = await replay({ ...options, isCompared: true });
  assert.deepEqual([result.rewrites, result.sent], [rewrites, 5]);
});

test("the largest value that was kept decides whether it goes into a topic that takes less than its source", async (t) => {
  const lake = await lakeTable(t, { keepRaw: true });
  await lake.append(rows(0, 0, 3, { raw: "repeat('x', 100)::BLOB" }));
  await lake.append(rows(1, 0, 1, { raw: "repeat('x', 3000)::BLOB" }));
  const kafka = fakeKafka();
  kafka.createTopic("t", 2, { "max.message.bytes": "9000" });
  kafka.createTopic("x", 2, { "max.message.bytes": "2000", "retention.ms": "-1" });
  const options: PlanOptions = {
    ...{ table: lake.table, kafka, target: "x", topic: undefined, from: { kind: "start" }, to: undefined },
    ...{ value: "auto", isAppended: false, work: lake.work, signal, now: Date.now },
  };
  const isRefused = (error: unknown) =>
    isLabError(error, "TARGET_UNFIT") && error.details.bytes === 3000 && /t-1 offset 0/.test(error.message);
  await assert.rejects(planReplay(options), isRefused);
  const none: Kafka = {
    ...kafka,
    async transactionalSink(wish) {
      const sink = await kafka.transactionalSink(wish);
      return { ...sink, send: () => Promise.reject(new LabError("INTERNAL", "a record was sent")) };
    },
  };
  await assert.rejects(replay({ ...options, kafka: none, isCompared: true }), isRefused);
  const small = { kind: "offsets", first: new Map([[0, 0n]]) } as const;
  assert.equal((await planReplay({ ...options, from: small })).rows, 3);
});
