import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { Kafka } from "../kafka/ports.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { type HybridBatch, type HybridOptions, hybridRecords } from "./hybrid.ts";
import type { LakeRecord } from "./lake.ts";

const { signal } = new AbortController();

async function openHybrid(t: TestContext, lab: Fixture) {
  const store = await openStore(lab.tableUri, { signal });
  t.after(() => store.close());
  const table = await openTable(store, signal);
  const work = {
    scratchDir: join(lab.folder, "scratch"),
    memoryLimitBytes: 256 << 20,
    threads: 1,
    cache: () => Promise.reject(new Error("a local table needs no cache")),
    windowRows: 20,
  };
  return (more: Partial<HybridOptions> = {}) =>
    hybridRecords({ table, kafka: lab.kafka, topic: "t", work, signal, pollMs: 10, ...more });
}

/** Batches up to the one that `isLast` says, which is among them. */
async function take(stream: AsyncGenerator<HybridBatch>, isLast: (all: HybridBatch[]) => boolean) {
  const all: HybridBatch[] = [];
  for await (const batch of stream) {
    all.push(batch);
    if (isLast(all)) return all;
  }
  throw new Error("the stream ended");
}

const recordsOf = (batches: readonly HybridBatch[]) => batches.flatMap(({ records }) => records);
const offsetsOf = (records: readonly LakeRecord[], of: number) =>
  records.filter(({ partition }) => partition === of).map(({ offset }) => Number(offset));
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
/** Each of its own millisecond: records of one are read together, however many they are. */
const json = (id: number) => ({
  ...{ key: `k${id}`, value: JSON.stringify({ id }), headers: { h: `${id}` } },
  timestampMs: 1_700_000_000_000 + id,
});

test("the table up to what it settled, then the topic at the next offset: no gap and no double, while a producer runs and whoever reads is stopped anywhere", async (t) => {
  const lab = await streamFixture(t, { mostRecordsPerBatch: 7 });
  lab.kafka.createTopic("t", 2);
  const produce = (from: number, to: number) => {
    for (const id of range(from, to)) lab.kafka.append("t", id % 2, [json(id)]);
  };
  produce(0, 60);
  const worker = lab.start({ keepRaw: true });
  await lab.hasRows(60);
  await worker.end();
  produce(60, 90);
  // What is not committed is at the very next offset of one partition, and a letter would be on the other.
  const transaction = lab.kafka.transaction("t");
  transaction.append(0, [json(1_000)]);
  transaction.abort();

  const open = await openHybrid(t, lab);
  const got: LakeRecord[] = [];
  let from: HybridBatch["position"] | undefined;
  const phases = new Set<string>();
  for (let round = 0; got.length < 150; round++) {
    if (round < 60) produce(90 + round, 91 + round);
    const produced = 90 + Math.min(round + 1, 60);
    // Each reader has a few batches, or all there is, and leaves its place to the next.
    const isLast = (all: HybridBatch[]) =>
      all.length > round % 3 || got.length + recordsOf(all).length === produced;
    for (const { records, position } of await take(open(from ? { from } : {}), isLast)) {
      got.push(...records);
      phases.add(`${from?.phase}-${position.phase}`);
      from = JSON.parse(JSON.stringify(position, longs), revive) as HybridBatch["position"];
    }
  }
  for (const one of ["table-table", "table-topic", "topic-topic"])
    assert.ok(phases.has(one), [...phases].join());
  // The aborted record and its marker are two offsets that nobody sees.
  const first = offsetsOf(got, 0);
  assert.deepEqual(first, [...range(0, 45), ...range(47, 77)]);
  assert.deepEqual(offsetsOf(got, 1), range(0, 75));
  const ids = got.map(({ value }) => (JSON.parse(String(value)) as { id: number }).id);
  assert.deepEqual(
    [...ids].sort((a, b) => a - b),
    range(0, 150),
  );
  for (const [at, record] of got.entries()) {
    assert.equal(String(record.key), `k${ids[at]}`);
    assert.deepEqual(record.headers, [["h", Buffer.from(String(ids[at]))]]);
    assert.equal(record.isOriginal, true);
  }
});

/** As a program would keep a position: longs and maps in JSON. */
function longs(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return { long: String(value) };
  return value instanceof Map ? { map: [...value] } : value;
}
function revive(_key: string, value: unknown): unknown {
  const { long, map } = (value ?? {}) as { long?: string; map?: [number, unknown][] };
  return long !== undefined ? BigInt(long) : Array.isArray(map) ? new Map(map) : value;
}

test("whose client joins anew at the switch and behind it loses nothing and gets nothing twice", async (t) => {
  const lab = await streamFixture(t, { mostRecordsPerBatch: 3 });
  lab.kafka.createTopic("t", 2);
  const produce = (from: number, to: number) => {
    for (const id of range(from, to)) lab.kafka.append("t", id % 2, [json(id)]);
  };
  produce(0, 20);
  const worker = lab.start({ keepRaw: true });
  await lab.hasRows(20);
  await worker.end();
  produce(20, 60);
  const groups: string[] = [];
  const kafka: Kafka = {
    ...lab.kafka,
    source(wish) {
      groups.push(wish.group);
      return lab.kafka.source(wish);
    },
  };
  const open = await openHybrid(t, lab);
  const all = await take(open({ kafka }), (batches) => {
    const { position } = batches.at(-1)!;
    if (position.phase === "topic" && groups.length > 0) lab.kafka.rebalance(groups[0]!);
    return recordsOf(batches).length >= 60;
  });
  assert.equal(groups.length, 1);
  assert.deepEqual(
    [offsetsOf(recordsOf(all), 0), offsetsOf(recordsOf(all), 1)],
    [range(0, 30), range(0, 30)],
  );
});

test("letters before the switch are not seen, also at the very edge, and bad records behind it are", async (t) => {
  const lab = await streamFixture(t);
  lab.kafka.createTopic("t", 1);
  const append = (value: string) => lab.kafka.append("t", 0, [{ key: null, value }]);
  for (const value of ['{"id":0}', "{bad", '{"id":2}', "{bad too"]) append(value);
  const worker = lab.start();
  await until(
    "four settled",
    async () =>
      worker.ingest?.reports()[0] !== undefined &&
      (await lab.rows("SELECT 1 FROM letters", "letters").catch(() => [])).length === 2 &&
      (await lab.rows("SELECT 1 FROM t")).length === 2,
  );
  await worker.end();
  for (const value of ["{bad again", '{"id":5}']) append(value);
  const open = await openHybrid(t, lab);
  const all = await take(open(), (batches) => recordsOf(batches).length === 4);
  assert.deepEqual(offsetsOf(recordsOf(all), 0), [0, 2, 4, 5]);
  assert.deepEqual(
    recordsOf(all).map(({ value }) => String(value)),
    ['{"id":0}', '{"id":2}', "{bad again", '{"id":5}'],
  );
});

test("where retention took what comes next, newer versions of the table are read, and where none comes the stream says what is lost", async (t) => {
  const lab = await streamFixture(t);
  lab.kafka.createTopic("t", 1);
  for (const id of range(0, 10)) lab.kafka.append("t", 0, [json(id)]);
  const worker = lab.start();
  await lab.hasRows(10);
  const open = await openHybrid(t, lab);
  const reader = open();
  const before = await take(reader, (all) => all.at(-1)!.position.phase === "topic");
  const { position } = before.at(-1)!;
  for (const id of range(10, 20)) lab.kafka.append("t", 0, [json(id)]);
  await lab.hasRows(20);
  await worker.end();
  lab.kafka.trim("t", 0, 15n);
  lab.kafka.append("t", 0, [json(20)]);
  const after = await take(open({ from: position }), (all) => recordsOf(all).length === 11);
  assert.deepEqual(offsetsOf(recordsOf(after), 0), range(10, 21));
  lab.kafka.append("t", 0, [json(21)]);
  lab.kafka.trim("t", 0, 21n);
  await assert.rejects(
    take(open({ patienceMs: 30 }), () => false),
    (error) => isLabError(error, "OFFSET_EXPIRED") && error.details.partition === 0,
  );
});

test("a topic that was made anew is not taken for the one that the table was made of", async (t) => {
  const lab = await streamFixture(t);
  lab.kafka.createTopic("t", 1);
  for (const id of range(0, 5)) lab.kafka.append("t", 0, [json(id)]);
  const worker = lab.start();
  await lab.hasRows(5);
  await worker.end();
  const admin = await lab.kafka.admin();
  const open = await openHybrid(t, lab);
  const isReset = (error: unknown) => isLabError(error, "TOPIC_RESET");
  await admin.deleteTopic("t");
  lab.kafka.createTopic("t", 1);
  await assert.rejects(
    take(open(), () => false),
    isReset,
  );
  for (const id of range(100, 110)) lab.kafka.append("t", 0, [json(id)]);
  await assert.rejects(
    take(open(), () => false),
    isReset,
  );
  const elsewhere = { tableId: "another", phase: "table", version: 0, reached: new Map() } as const;
  await assert.rejects(
    take(open({ from: elsewhere }), () => false),
    (error) => isLabError(error, "USAGE"),
  );
});
