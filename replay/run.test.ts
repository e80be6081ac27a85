import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError, LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { type FakeKafka, fakeKafka } from "../kafka/fake.ts";
import type { ExactRecord, Kafka, RawRecord } from "../kafka/ports.ts";
import { type LakeTable, lakeTable, placesOf, signal, type TestRow } from "../test/support/lake-table.ts";
import { readTopic } from "../test/support/read-topic.ts";
import { progressTopicOf, readProgress, transactionalIdOf } from "./progress.ts";
import { type ReplayOptions, replay } from "./run.ts";

const rows = (partition: number, from: number, count: number, more: Partial<TestRow> = {}): TestRow[] =>
  Array.from({ length: count }, (_, n) => ({
    partition,
    offset: from + n,
    ms: 1000 + from + n,
    key: `'${from + n}'::BLOB`,
    ...more,
  }));

function optionsFor(lake: LakeTable, kafka: Kafka, more: Partial<ReplayOptions> = {}): ReplayOptions {
  return {
    ...{ table: lake.table, kafka, target: "x", from: { kind: "start" }, value: "auto", isAppended: false },
    isCompared: true,
    ...{ work: lake.work, signal, now: Date.now, transactionBytes: 300 },
    ...more,
  };
}

const keysOf = (records: readonly RawRecord[][]) =>
  records.map((one) => one.map(({ key }) => Number(String(key))));
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

test("rows go back as they came: partition, order, key, headers, time, and what values were made again is counted", async (t) => {
  const lake = await lakeTable(t, { keepRaw: true });
  const headers = "[{'key': 'b', 'value': '1'::BLOB}, {'key': 'a', 'value': NULL}]";
  await lake.append([...rows(2, 0, 3, { raw: "'raw'::BLOB", headers }), ...rows(0, 5, 1)]);
  const kafka = fakeKafka();
  const result = await replay(optionsFor(lake, kafka));
  assert.deepEqual(
    { ...result, bytes: 0, progressTopic: "" },
    {
      ...{
        topic: "t",
        target: "x",
        progressTopic: "",
        version: 1,
        sent: 4,
        bytes: 0,
        reencoded: 1,
        sentNow: 4,
      },
      ...{
        isResumed: false,
        isTargetNew: true,
        partitions: 3,
        comparison: "same",
        withoutOrigin: 0,
        rewrites: [],
      },
    },
  );
  const found = await readTopic(kafka, "x");
  assert.deepEqual(keysOf(found), [[5], [], [0, 1, 2]]);
  const { offset: _, ...first } = found[2]![0]!;
  assert.deepEqual(first, {
    timestampMs: 1000,
    key: Buffer.from("0"),
    value: Buffer.from("raw"),
    headers: [
      ["b", Buffer.from("1")],
      ["a", null],
    ],
  });
  assert.equal(String(found[0]![0]!.value), '{"v":"0:5"}');
});

/** A Kafka whose transactional sinks fail at the calls that `failsAt` names, before the call takes place or after it. */
function failing(
  kafka: FakeKafka,
  failsAt: ReadonlyMap<number, { isAfter: boolean; error: LabError }>,
): Kafka {
  let calls = 0;
  const faulty = async (call: () => Promise<void>) => {
    const fault = failsAt.get(calls++);
    if (fault === undefined || fault.isAfter) await call();
    if (fault !== undefined) throw fault.error;
  };
  return {
    source: kafka.source,
    sink: kafka.sink,
    admin: kafka.admin,
    async transactionalSink(options) {
      const sink = await kafka.transactionalSink(options);
      return {
        send: (topic, records) => faulty(() => sink.send(topic, records)),
        commit: () => faulty(sink.commit),
        close: sink.close,
      };
    },
  };
}

test("killed or cut off at any call, before or after it took place, and started again, each record is there once and in order", async (t) => {
  const lake = await lakeTable(t, { windowRows: 7 });
  await lake.append([...rows(0, 0, 20), ...rows(1, 100, 10)]);
  await lake.append([...rows(0, 20, 5), ...rows(1, 110, 15)]);
  const outage = new LabError("BROKER_UNREACHABLE", "no broker");
  const crash = new LabError("INTERNAL", "killed");
  const fault = fc.record({ isAfter: fc.boolean(), error: fc.constantFrom(outage, crash) });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(fc.nat(60), fault), { maxLength: 4, selector: ([at]) => at }),
      async (faults) => {
        const kafka = fakeKafka();
        const faulty = failing(kafka, new Map(faults));
        let result: Awaited<ReturnType<typeof replay>> | undefined;
        for (let run = 0; result === undefined && run < 10; run++)
          result = await replay(optionsFor(lake, faulty)).catch((error: unknown) => {
            assert.ok(error === crash || error === outage, String(error));
            return undefined;
          });
        assert.equal(result?.sent, 50);
        assert.deepEqual(keysOf(await readTopic(kafka, "x")), [range(0, 25), range(100, 125)]);
      },
    ),
    { numRuns: 15 },
  );
});

test("a second run takes over from the first, which ends; together they send each record once", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 40));
  const kafka = fakeKafka();
  let younger: Promise<unknown> | undefined;
  const elder = replay(
    optionsFor(lake, kafka, {
      rate: 20,
      onProgress: ({ sent }) => {
        if (sent >= 10) younger ??= replay(optionsFor(lake, kafka));
      },
    }),
  );
  await assert.rejects(elder, (error) => isLabError(error, "PRODUCER_FENCED"));
  await younger;
  assert.deepEqual(keysOf(await readTopic(kafka, "x")), [range(0, 40)]);
});

test("what is done goes on with the rows that came since; another range needs a topic of its own, or a word", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 3));
  const kafka = fakeKafka();
  await replay(optionsFor(lake, kafka));
  const again = await replay(optionsFor(lake, kafka));
  assert.deepEqual([again.sent, again.sentNow, again.isResumed], [3, 0, true]);
  await lake.append(rows(0, 3, 2));
  const more = await replay(optionsFor(lake, kafka));
  assert.deepEqual([more.sent, more.sentNow, more.version], [5, 2, 2]);
  const other = { from: { kind: "offsets", first: new Map([[0, 4n]]) } } as const;
  await assert.rejects(replay(optionsFor(lake, kafka, other)), (error) => isLabError(error, "TARGET_UNFIT"));
  await replay(optionsFor(lake, kafka, { ...other, isAppended: true }));
  assert.deepEqual(keysOf(await readTopic(kafka, "x")), [[0, 1, 2, 3, 4, 4]]);

  const crash = new LabError("INTERNAL", "killed");
  const faulty = failing(kafka, new Map([[3, { isAfter: false, error: crash }]]));
  const slow = { transactionBytes: 1, rate: 10, target: "y" };
  await assert.rejects(replay(optionsFor(lake, faulty, slow)), (error) => error === crash);
  await assert.rejects(
    replay(optionsFor(lake, kafka, { ...other, target: "y" })),
    (error) => isLabError(error, "REPLAY_UNDERWAY") && /from start to version 2/.test(error.message),
  );
  // What is under way ends with the rows it began with, whatever came meanwhile.
  await lake.append(rows(0, 5, 1));
  assert.equal((await replay(optionsFor(lake, kafka, { target: "y" }))).version, 2);
  assert.deepEqual(keysOf(await readTopic(kafka, "y")), [range(0, 5)]);
});

test("where a replay begins is said by version, time or offset", async (t) => {
  const lake = await lakeTable(t);
  const settle = async (offset: number, generation = 0) => {
    const readSnapshot = await lake.table.latest(signal);
    const lab = {
      v: 1,
      app: "lab",
      generation,
      partitions: [{ topic: "t", partition: 0, first: "0", last: String(offset) }],
    };
    const txns = [{ appId: "lab/t-0", version: BigInt(offset) }];
    await lake.table.commit({ readSnapshot, operation: "STREAMING UPDATE", txns, info: { lab } }, signal);
  };
  await lake.append(rows(0, 0, 4));
  await settle(4);
  await lake.append([...rows(0, 5, 3), { partition: 1, offset: 0, ms: 1000, key: "'0'::BLOB" }]);
  await settle(7);
  const kafka = fakeKafka();
  let targets = 0;
  const sent = async (more: Partial<ReplayOptions>) => {
    const target = `x${targets++}`;
    await replay(optionsFor(lake, kafka, { target, ...more }));
    return keysOf(await readTopic(kafka, target));
  };
  assert.deepEqual(await sent({ from: { kind: "version", version: 3 } }), [[5, 6, 7], [0]]);
  assert.deepEqual(await sent({ from: { kind: "version", version: 0 }, to: 2 }), [[0, 1, 2, 3]]);
  assert.deepEqual(await sent({ from: { kind: "time", timestampMs: 1003 } }), [[3, 5, 6, 7], []]);
  assert.deepEqual(await sent({ from: { kind: "offsets", first: new Map([[0, 6n]]) } }), [[6, 7], []]);
  const nowhere = { kind: "offsets", first: new Map([[9, 0n]]) } as const;
  await assert.rejects(
    sent({ from: nowhere }),
    (error) => isLabError(error, "USAGE") && error.details.partition === 9,
  );
  await assert.rejects(sent({ from: { kind: "version", version: 99 } }), (error) =>
    isLabError(error, "VERSION_NOT_FOUND"),
  );
  await assert.rejects(sent({ topic: "u" }), (error) => isLabError(error, "USAGE"));
  // The topic is made anew: its offsets begin again, and those of its predecessor stay behind version 6.
  await lake.append(rows(0, 0, 2, { generation: 1 }));
  await settle(1, 1);
  assert.deepEqual(await sent({ from: { kind: "version", version: 5 } }), [[0, 1], [0]]);
  assert.deepEqual(await sent({}), [[0, 1, 2, 3, 5, 6, 7, 0, 1], [0]]);
});

test("how far a replay came is found among many records, others' among them", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 9));
  const kafka = fakeKafka();
  await replay(optionsFor(lake, kafka, { transactionBytes: 1, rate: 1000 }));
  const admin = await kafka.admin();
  const { id } = (await lake.table.latest(signal)).metadata;
  const topic = progressTopicOf(id, "x");
  for (let n = 0; n < 50; n++) kafka.append(topic, 0, [{ key: "other", value: "{}" }]);
  const progress = await readProgress(admin, topic, transactionalIdOf(id, "x"), signal);
  assert.deepEqual(
    [progress?.sent, progress?.isDone, placesOf([{ partition: 0, ...progress!.reached.get(0)! }])],
    [9, true, ["0:8"]],
  );
  assert.equal(await readProgress(admin, topic, "nobody", signal), null);
  kafka.append(topic, 0, [{ key: transactionalIdOf(id, "x"), value: "no progress" }]);
  await assert.rejects(replay(optionsFor(lake, kafka)), (error) => isLabError(error, "KAFKA_PROTOCOL"));
});

test("what the target lost, got twice, in another order or otherwise than it was sent is found by reading it again, also by the next run", async (t) => {
  const lake = await lakeTable(t);
  await lake.append([...rows(0, 0, 9), ...rows(1, 0, 9)]);
  type Change = (records: readonly ExactRecord[]) => readonly ExactRecord[];
  /** A client that does something to the records of partition 1 on their way. */
  const changing = (kafka: FakeKafka, change: Change): Kafka => ({
    ...{ source: kafka.source, sink: kafka.sink, admin: kafka.admin },
    async transactionalSink(options) {
      const sink = await kafka.transactionalSink(options);
      const send = (topic: string, records: readonly ExactRecord[]) => {
        const ours = records.filter(({ partition }) => partition === 1);
        if (topic !== "x") return sink.send(topic, records);
        return sink.send(topic, [...records.filter(({ partition }) => partition !== 1), ...change(ours)]);
      };
      return { send, commit: sink.commit, close: sink.close };
    },
  });
  const changes: Record<string, Change> = {
    lost: (records) => records.slice(1),
    doubled: (records) => [...records, ...records.slice(-1)],
    swapped: (records) => [...records].reverse(),
    "another time": (records) => records.map((one) => ({ ...one, timestampMs: one.timestampMs + 1 })),
    "no header": (records) => records.map((one) => ({ ...one, headers: [["h", null]] })),
    "empty, not null": (records) => records.map((one) => ({ ...one, value: Buffer.alloc(0) })),
  };
  for (const [name, change] of Object.entries(changes)) {
    const kafka = fakeKafka();
    const differs = (error: unknown) => isLabError(error, "REPLAY_DIFFERS") && error.details.partition === 1;
    await assert.rejects(replay(optionsFor(lake, changing(kafka, change))), differs, name);
    await assert.rejects(replay(optionsFor(lake, kafka)), differs, name);
    const left = await replay(optionsFor(lake, kafka, { isCompared: false }));
    assert.deepEqual([left.comparison, left.sentNow], ["off", 0]);
  }
});

test("a comparison waits until what was committed can be read: Kafka answers a commit before that, and the records looked lost", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 5));
  const kafka = fakeKafka();
  /** As Kafka: what was committed shows by the time that the next transaction has begun, and maybe no sooner. */
  let shown: ReturnType<Awaited<ReturnType<Kafka["admin"]>>["watermarks"]> | null = null;
  const late: Kafka = {
    ...{ source: kafka.source, sink: kafka.sink },
    async admin() {
      const admin = await kafka.admin();
      return {
        ...admin,
        watermarks: (topic) => (topic === "x" && shown !== null ? shown : admin.watermarks(topic)),
      };
    },
    async transactionalSink(options) {
      const [admin, sink] = [await kafka.admin(), await kafka.transactionalSink(options)];
      return {
        close: sink.close,
        async send(topic, records) {
          shown = null;
          // The table has been read to its end by then, so that all is one transaction.
          if (topic === "x") await sleep(200, signal);
          await sink.send(topic, records);
        },
        async commit() {
          shown = admin.watermarks("x");
          await shown;
          await sink.commit();
        },
      };
    },
  };
  const inOne = { transactionBytes: 1_000_000 };
  assert.equal((await replay(optionsFor(lake, late, inOne))).comparison, "same");
});

test("each run is compared with what it sent, however much stood there before, and not with what nobody can see any more", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 5));
  const kafka = fakeKafka();
  kafka.createTopic("x", 2, { "retention.ms": "-1" });
  kafka.append("x", 0, [{ key: "before", value: "v" }]);
  const options = optionsFor(lake, kafka, { isAppended: true });
  assert.equal((await replay(options)).comparison, "same");
  // Between two runs others may write.
  kafka.append("x", 0, [{ key: "between", value: "v" }]);
  await lake.append(rows(0, 5, 5));
  const read: number[] = [];
  const again = await replay({ ...options, onCompared: (one) => void read.push(one.read, one.total) });
  assert.deepEqual([again.comparison, again.sentNow, ...read.slice(-2)], ["same", 5, 5, 5]);
  await lake.append(rows(0, 10, 5));
  const crash = new LabError("INTERNAL", "killed");
  const faulty = failing(kafka, new Map([[3, { isAfter: true, error: crash }]]));
  await assert.rejects(replay({ ...options, kafka: faulty }), (error) => error === crash);
  const { low, high } = (await (await kafka.admin()).watermarks("x")).get(0)!;
  kafka.trim("x", 0, high - 1n);
  assert.ok(high - 1n > low);
  assert.equal((await replay(options)).comparison, "expired");
  assert.equal((await replay(options)).comparison, "same");
  const denied = new LabError("KAFKA_DENIED", "no right to read");
  const blind: Kafka = {
    ...{ sink: kafka.sink, admin: kafka.admin, transactionalSink: kafka.transactionalSink },
    source: (wish) => ({ ...kafka.source(wish), run: () => Promise.reject(denied) }),
  };
  await lake.append(rows(0, 15, 1));
  assert.equal((await replay({ ...options, kafka: blind })).comparison, "denied");
  assert.equal((await replay(options)).comparison, "same");
});

test("the topic of the table, lost and made anew by a replay, is not sent again what has become rows since", async (t) => {
  const lake = await lakeTable(t, { keepRaw: true });
  await lake.append(rows(0, 0, 3, { raw: "'raw'::BLOB" }));
  const kafka = fakeKafka();
  const options = optionsFor(lake, kafka, { target: "t" });
  // A run that ended within its first transaction left nothing that can be seen.
  const lost = new LabError("INTERNAL", "killed");
  const first = failing(kafka, new Map([[1, { isAfter: false, error: lost }]]));
  await assert.rejects(replay({ ...options, kafka: first }), lost);
  assert.equal((await replay(options)).sent, 3);
  await lake.append(rows(0, 3, 3, { raw: "'raw'::BLOB" }));
  const isLoop = (error: unknown) => isLabError(error, "TARGET_UNFIT") && /once more/.test(error.message);
  await assert.rejects(replay(options), isLoop);
  await assert.rejects(replay({ ...options, isAppended: true }), isLoop);
  assert.equal((await readTopic(kafka, "t"))[0]!.length, 3);
});
