import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { serializeSchema } from "../delta/schema.ts";
import { withTypeChanges } from "../delta/type-widening.ts";
import type { DataType } from "../delta/types.ts";
import { kafkaField } from "../engine/kafka-column.ts";
import { fakeKafka } from "../kafka/fake.ts";
import { partitionOf } from "../kafka/partitioner.ts";
import type { Kafka } from "../kafka/ports.ts";
import { type LakeTable, lakeTable, signal, type TestRow } from "../test/support/lake-table.ts";
import { readTopic } from "../test/support/read-topic.ts";
import { sqlTable, structOf } from "../test/support/sql-table.ts";
import { openLake } from "./lake.ts";
import { type ReplayOptions, replay } from "./run.ts";

const rows = (partition: number, from: number, count: number, more: Partial<TestRow> = {}): TestRow[] =>
  Array.from({ length: count }, (_, n) => ({ partition, offset: from + n, ms: 1000 + from + n, ...more }));

const optionsFor = (
  { table, work }: Pick<LakeTable, "table" | "work">,
  kafka: Kafka,
  more: Partial<ReplayOptions> = {},
): ReplayOptions => ({
  ...{ table, kafka, target: "x", from: { kind: "start" }, value: "auto", isAppended: false },
  ...{ isCompared: true, work, signal, now: Date.now },
  ...more,
});

test("no key, no value, an empty one, bytes that are no text, and headers that are doubled or null come back as they were", async (t) => {
  const lake = await lakeTable(t, { keepRaw: true });
  const doubled =
    "[{'key': 'h', 'value': ''::BLOB}, {'key': 'h', 'value': NULL}, {'key': 'a', 'value': 'x'::BLOB}]";
  const nothing = { columns: "NULL::VARCHAR AS v" };
  await lake.append([
    { partition: 0, offset: 0, ms: 1, raw: "'\\x00\\xFF\\x80'::BLOB", headers: doubled },
    { partition: 0, offset: 1, ms: 2, key: "'k'::BLOB", ...nothing },
    { partition: 0, offset: 2, ms: 3, key: "''::BLOB", raw: "''::BLOB", ...nothing },
  ]);
  const kafka = fakeKafka();
  const result = await replay(optionsFor(lake, kafka));
  assert.deepEqual([result.sent, result.reencoded, result.comparison], [3, 0, "same"]);
  const [records] = await readTopic(kafka, "x");
  assert.deepEqual(
    records!.map(({ key, value, timestampMs }) => [key, value, timestampMs]),
    [
      [null, Buffer.from([0, 255, 128]), 1],
      [Buffer.from("k"), null, 2],
      [Buffer.alloc(0), Buffer.alloc(0), 3],
    ],
  );
  assert.deepEqual(records![0]!.headers, [
    ["h", Buffer.alloc(0)],
    ["h", null],
    ["a", Buffer.from("x")],
  ]);
});

test("records keep their partitions in a topic that has more of them, and one that has fewer is refused", async (t) => {
  const lake = await lakeTable(t);
  for (let partition = 0; partition < 6; partition++)
    await lake.append(rows(partition, 0, 2, { key: partition % 2 ? "NULL" : "'same'::BLOB" }));
  const kafka = fakeKafka();
  const keeps = { "retention.ms": "-1" };
  kafka.createTopic("wide", 12, keeps);
  kafka.createTopic("narrow", 3, keeps);
  await replay(optionsFor(lake, kafka, { target: "wide" }));
  const found = (await readTopic(kafka, "wide")).map((records) =>
    records.map(({ value }) => JSON.parse(String(value)).v),
  );
  assert.deepEqual(
    found,
    Array.from({ length: 12 }, (_, n) => (n < 6 ? [`${n}:0`, `${n}:1`] : [])),
  );
  await assert.rejects(
    replay(optionsFor(lake, kafka, { target: "narrow" })),
    (error) => isLabError(error, "TARGET_UNFIT") && error.details.needed === 6,
  );
  assert.deepEqual(await readTopic(kafka, "narrow"), [[], [], []]);
});

test("spread anew, records are where Java's client puts their keys, those of one key in their order, and those without one keep their partition", async (t) => {
  const lake = await lakeTable(t, { windowRows: 7 });
  for (let partition = 0; partition < 4; partition++)
    await lake.append(
      rows(partition, 0, 10).map((row) => ({
        ...row,
        ms: 1000 + row.offset * 4 + partition,
        key: row.offset % 5 === 0 ? "NULL" : `'key ${(row.offset * 4 + partition) % 9}'::BLOB`,
      })),
    );
  const kafka = fakeKafka();
  const spread = optionsFor(lake, kafka, { repartition: 3, transactionBytes: 400 });
  const result = await replay(spread);
  assert.deepEqual([result.sent, result.partitions, result.comparison], [40, 3, "same"]);
  assert.equal((await replay(spread)).sentNow, 0);
  const found = await readTopic(kafka, "x");
  const timesOf = new Map<string, number[]>();
  for (const [partition, records] of found.entries())
    for (const { key, value, timestampMs } of records) {
      const from = Number(String(JSON.parse(String(value)).v).split(":")[0]);
      assert.equal(partition, key === null ? from % 3 : partitionOf(key, 3));
      if (key !== null) timesOf.set(String(key), [...(timesOf.get(String(key)) ?? []), timestampMs]);
    }
  assert.equal(timesOf.size, 9);
  for (const times of timesOf.values())
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    );
  await assert.rejects(replay({ ...spread, repartition: 4 }), (error) => isLabError(error, "TARGET_UNFIT"));
});

test("a partition that is empty, one that ends early and one that is a day behind hold nobody up, and no record comes before its time", async (t) => {
  const lake = await lakeTable(t, { windowRows: 5 });
  const DAY = 86_400_000;
  const timed = (partition: number, startMs: number, count: number) =>
    rows(partition, 0, count).map((row) => ({ ...row, ms: startMs + row.offset * 1000 }));
  const all = [...timed(0, DAY, 30), ...timed(2, DAY, 4), ...timed(3, 0, 30), ...timed(4, DAY + 10_000, 25)];
  // In whatever files.
  for (let file = 0; file < 3; file++) await lake.append(all.filter(({ offset }) => offset % 3 === file));
  const records = await lake.read();
  assert.equal(records.length, all.length);
  const waiting = new Map<number, number[]>();
  for (const { partition, ms } of all) waiting.set(partition, [...(waiting.get(partition) ?? []), ms]);
  for (const { partition, timestampMs } of records) {
    for (const [other, times] of waiting)
      if (other !== partition && times.length > 0)
        assert.ok(timestampMs <= times[0]!, `${timestampMs} of ${partition} before ${times[0]} of ${other}`);
    assert.equal(waiting.get(partition)!.shift(), timestampMs);
  }
});

test("columns that came, went and grew wider between versions: all rows are sent as the version says that is sent", async (t) => {
  const { folder, work } = await lakeTable(t);
  const kafkaType = kafkaField(false).type;
  const columns = (more: Record<string, DataType>) => ({ ...more, _kafka: kafkaType });
  const { table, append } = await sqlTable(`${folder}/evolving`, columns({ a: "integer", b: "string" }), {
    configuration: { "delta.enableTypeWidening": "true" },
  });
  const origin = (offset: number) =>
    `{'topic': 't', 'partition': 0, 'offset': ${offset}::BIGINT, 'timestamp': make_timestamptz(${offset}), 'generation': 0} AS _kafka`;
  await append({ select: `SELECT 1::INTEGER AS a, 'gone' AS b, ${origin(0)}` });
  const first = await table.latest(signal);
  const noted = withTypeChanges(
    structOf(columns({ a: "integer" })),
    structOf(columns({ a: "long", c: "string" })),
  );
  await table.commit(
    {
      ...{ readSnapshot: first, operation: "CHANGE COLUMN" },
      metadata: { ...first.metadata, schemaString: serializeSchema(noted) },
    },
    signal,
  );
  await append({ select: `SELECT 9007199254740993::BIGINT AS a, 'new' AS c, ${origin(1)}` });
  const kafka = fakeKafka();
  const valuesOf = async (target: string, to?: number) => {
    await replay(optionsFor({ table, work }, kafka, { target, to }));
    return (await readTopic(kafka, target)).flat().map(({ value }) => String(value));
  };
  assert.deepEqual(await valuesOf("newest"), ['{"a":1}', '{"a":9007199254740993,"c":"new"}']);
  assert.deepEqual(await valuesOf("older", 1), ['{"a":1,"b":"gone"}']);
});

test("killed while it finds out how far it came, a replay sends nothing twice", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 10, { key: "NULL" }));
  const kafka = fakeKafka();
  const crash = new LabError("INTERNAL", "killed");
  const slow = { transactionBytes: 1, rate: 8 };
  const stop = new AbortController();
  const stopped = replay(
    optionsFor(lake, kafka, {
      ...{ ...slow, signal: stop.signal },
      onProgress: ({ sent }) => sent >= 4 && stop.abort(crash),
    }),
  );
  await assert.rejects(stopped, (error) => error === crash);
  for (const failing of ["watermarks", "recordAt"] as const) {
    const blind: Kafka = {
      ...kafka,
      async admin() {
        return { ...(await kafka.admin()), [failing]: () => Promise.reject(crash) };
      },
    };
    await assert.rejects(replay(optionsFor(lake, blind, slow)), (error) => error === crash);
  }
  const { sent, isResumed, sentNow } = await replay(optionsFor(lake, kafka));
  assert.deepEqual([sent, isResumed, sentNow < 10], [10, true, true]);
  assert.equal((await readTopic(kafka, "x"))[0]!.length, 10);
});

test("files that all hold everything are put in order within the memory that is given, although they are larger", async (t) => {
  const { folder, work } = await lakeTable(t);
  const kafkaType = kafkaField(false).type;
  const { table, append } = await sqlTable(`${folder}/mixed`, { v: "string", _kafka: kafkaType });
  const [FILES, ROWS] = [4, 20_000];
  // A value of about 1.5 kB that does not pack, and offsets that jump: each file holds some of every stretch.
  for (let file = 0; file < FILES; file++)
    await append({
      select: `SELECT repeat(md5(r::VARCHAR), 48) AS v,
        {'topic': 't', 'partition': (r % 3)::INTEGER, 'offset': (r // 3)::BIGINT, 'timestamp': make_timestamptz((1000000 + r) * 1000), 'generation': 0} AS _kafka
        FROM (SELECT range * ${FILES} + ${file} AS r FROM range(${ROWS})) ORDER BY hash(r)`,
    });
  let [next, bytes] = [0, 0];
  const seen: number[] = [0, 0, 0];
  const memoryLimitBytes = 112 << 20;
  const snapshot = await table.latest(signal);

  const lake = await openLake({
    ...{ table: snapshot, store: table.store, adds: snapshot.files(), signal },
    work: { ...work, memoryLimitBytes },
  });
  try {
    for await (const records of lake.records(new Map(), signal))
      for (const { partition, offset, timestampMs, value } of records) {
        bytes += value!.length;
        assert.equal(timestampMs, 1_000_000 + next++);
        assert.equal(offset, BigInt(seen[partition]!++));
      }
  } finally {
    await lake.close();
  }
  assert.equal(next, FILES * ROWS);
  assert.ok(bytes > memoryLimitBytes, `${bytes} bytes of values`);
});
