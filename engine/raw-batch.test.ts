import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { batchBytes, type RecordSpec } from "../kafka/fetch/batch.fixture.ts";
import { recordsOf } from "../kafka/fetch/columns.ts";
import { readRange } from "../kafka/fetch/range.ts";
import { createRawBatch, NULL_KEY, type RawMessage } from "./raw-batch.ts";

const bytes = fc.option(fc.uint8Array({ maxLength: 40 }), { nil: null });
const message: fc.Arbitrary<RawMessage> = fc.record(
  {
    topic: fc.constantFrom("orders", "my-topic", "größe"),
    partition: fc.nat(),
    offset: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    timestampMs: fc.integer({ min: -1, max: 8.64e15 }),
    timestampType: fc.constantFrom("create", "append"),
    generation: fc.nat(),
    key: bytes,
    value: bytes,
    headers: fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 5 }), bytes), { maxLength: 3 }),
  },
  { noNullPrototype: true },
);

test("what was appended is read back, whatever it is and however often the buffers grow", () => {
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 30 }),
      fc.constantFrom(1, 64, 1 << 16),
      (messages, capacityBytes) => {
        const batch = createRawBatch({ capacityBytes });
        for (const each of messages) batch.append(each);
        assert.equal(batch.length, messages.length);
        assert.equal(
          batch.bytes,
          messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
        );
        messages.forEach((expected, i) => {
          const actual = {
            topic: batch.topic(i),
            partition: batch.partition(i),
            offset: batch.offset(i),
            timestampMs: batch.timestampMs(i),
            timestampType: batch.timestampType(i),
            generation: batch.generation(i),
            key: batch.key(i),
            value: batch.value(i),
            headers: batch.headers(i),
          };
          assert.deepEqual(actual, expected);
          const line = batch.values.subarray(batch.valueStart(i), batch.valueEnd(i) + 1);
          assert.deepEqual([...line], [...(expected.value ?? []), 10]);
        });
      },
    ),
  );
});

test("messages in columns are what they are one by one, between others and however the buffers grow", () => {
  const buffer = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes));
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 60 }),
      fc.array(message, { maxLength: 2 }),
      fc.constantFrom(1, 1 << 16),
      (messages, others, capacityBytes) => {
        const [expected, actual] = [createRawBatch(), createRawBatch({ capacityBytes })];
        const { topic, partition, timestampType, generation } = messages[0]!;
        const place = { topic, partition, timestampType, generation };
        const records = messages.map(({ offset, timestampMs, key, value, headers }) => ({
          ...{ offset, timestampMs, key: buffer(key), value: buffer(value) },
          headers: headers.map(([name, content]) => [name, buffer(content)] as const),
        }));
        for (const batch of [expected, actual])
          for (const other of others) batch.append({ ...other, original: null });
        for (const record of records) expected.append({ ...record, ...place });
        actual.appendAll(place, recordsOf(records));
        for (const batch of [expected, actual]) for (const other of others) batch.append(other);
        assert.deepEqual([actual.length, actual.bytes], [expected.length, expected.bytes]);
        for (let i = 0; i < expected.length; i++) assert.deepEqual(actual.message(i), expected.message(i));
        assert.deepEqual(actual.headerBytes, expected.headerBytes);
      },
    ),
  );
});

/** As a broker has them: one batch of records, with all that frames them between the values. */
async function fetched(records: readonly Omit<RecordSpec, "offsetDelta">[]) {
  const specs = records.map((record, offsetDelta) => ({ ...record, offsetDelta }));
  const bytes = batchBytes({ baseOffset: 5n, records: specs });
  const pieces = [];
  for await (const piece of readRange({ topic: "t", partition: 0, aborted: [], records: bytes }, 5n))
    pieces.push(piece);
  assert.equal(pieces.length, 1);
  return pieces[0]!.records;
}

const PLACE = { topic: "t", partition: 3, timestampType: "append", generation: 2 } as const;

test("messages that a broker frames are what they are one by one, whatever stands between their values", async () => {
  const content = fc.oneof(
    { weight: 8, arbitrary: fc.uint8Array({ minLength: 50, maxLength: 400 }) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
  const record = fc.record(
    {
      key: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: bytes }),
      value: content,
      headers: fc.array(fc.tuple(fc.string({ maxLength: 5 }), bytes), { maxLength: 1 }),
      timestampDelta: fc.nat(1 << 20),
    },
    { noNullPrototype: true },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(record, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(1, 1 << 16),
      async (pieces, capacityBytes) => {
        const [expected, actual] = [createRawBatch(), createRawBatch({ capacityBytes })];
        for (const piece of pieces) {
          const records = await fetched(piece);
          const before = Buffer.from(records.bytes);
          for (const each of records.toArray()) expected.append({ ...PLACE, ...each });
          actual.appendAll(PLACE, records);
          assert.ok(before.equals(records.bytes), "what was fetched is as it was");
        }
        assert.deepEqual([actual.length, actual.bytes], [expected.length, expected.bytes]);
        for (let i = 0; i < expected.length; i++) {
          assert.deepEqual(actual.message(i), expected.message(i));
          const next = i + 1 < actual.length ? actual.valueStart(i + 1) : actual.values.length;
          const between = actual.values.subarray(actual.valueEnd(i), next);
          assert.match(Buffer.from(between).toString("latin1"), /^\n *$/);
        }
        assert.deepEqual(actual.keys, expected.keys);
        assert.deepEqual(actual.headerBytes, expected.headerBytes);
      },
    ),
  );
});

test("large messages with little around them are NDJSON as they lie, and take little more than their bytes", async () => {
  const objects = Array.from({ length: 100 }, (_, id) => ({ id, text: "x".repeat(900) }));
  const values = objects.map((object) => Buffer.from(JSON.stringify(object)));
  const batch = createRawBatch();
  for (let times = 0; times < 2; times++)
    batch.appendAll(PLACE, await fetched(values.map((value) => ({ value, key: Buffer.from("k") }))));
  const lines = Buffer.from(batch.values).toString().trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [...objects, ...objects],
  );
  assert.ok(batch.values.length < 1.02 * batch.bytes);
  // Of small ones as much would stand between them as in them: that is left out.
  const small = createRawBatch();
  small.appendAll(PLACE, await fetched(Array.from({ length: 100 }, () => ({ value: Buffer.from("{}") }))));
  assert.equal(Buffer.from(small.values).toString(), "{}\n".repeat(100));
});

test("a batch that was cleared is an empty one, and holds other messages as a new one does", () => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 30 }),
      fc.array(message, { minLength: 1, maxLength: 30 }),
      fc.boolean(),
      (before, after, hasOriginals) => {
        const [expected, actual] = [createRawBatch(), createRawBatch({ capacityBytes: 1 })];
        for (const each of before) actual.append(hasOriginals ? { ...each, original: each.key } : each);
        actual.clear();
        assert.deepEqual([actual.length, actual.bytes, actual.values.length], [0, 0, 0]);
        assert.equal(actual.hasOriginals, false);
        for (const batch of [expected, actual]) for (const each of after) batch.append(each);
        for (let i = 0; i < expected.length; i++) assert.deepEqual(actual.message(i), expected.message(i));
        for (const piece of ["values", "keys", "headerBytes"] as const)
          assert.deepEqual(actual[piece], expected[piece]);
      },
    ),
  );
});

test("thousands of messages keep their places", () => {
  const batch = createRawBatch({ capacityBytes: 1 });
  for (let i = 0; i < 5000; i++)
    batch.append({
      topic: "orders",
      partition: i % 7,
      offset: BigInt(i),
      timestampMs: i,
      timestampType: "create",
      generation: 0,
      key: i % 2 === 0 ? null : Buffer.from(`k${i}`),
      value: Buffer.from(`v${i}`),
      headers: i % 100 === 0 ? [["n", Buffer.from(String(i))]] : [],
    });
  for (const i of [0, 1, 1023, 1024, 4999]) {
    assert.equal(Buffer.from(batch.value(i)!).toString(), `v${i}`);
    assert.equal(batch.key(i) && Buffer.from(batch.key(i)!).toString(), i % 2 === 0 ? null : `k${i}`);
    assert.equal(batch.offset(i), BigInt(i));
    assert.equal(batch.headers(i).length, i % 100 === 0 ? 1 : 0);
  }
});

test("a place that does not exist is a bug said aloud", () => {
  const batch = createRawBatch();
  for (const read of [batch.topic, batch.partition, batch.offset, batch.value, batch.key, batch.headers])
    for (const index of [-1, 0, Number.NaN])
      assert.throws(
        () => read(index),
        (error) => isLabError(error, "INTERNAL"),
      );
});

test("originals are kept where given, null included; else the value is the original", () => {
  const batch = createRawBatch();
  const message = {
    topic: "t",
    partition: 0,
    offset: 0n,
    timestampMs: 0,
    timestampType: "create" as const,
    generation: 0,
    key: null,
    headers: [],
  };
  const originals = Array.from({ length: 3000 }, (_, i) =>
    i % 3 === 0 ? undefined : i % 3 === 1 ? Buffer.from(`o${i}`) : null,
  );
  originals.forEach((original, i) => {
    const value = Buffer.from(`v${i}`);
    batch.append({ ...message, value, ...(original === undefined ? {} : { original }) });
  });
  const textOf = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString();
  for (const [i, original] of originals.entries()) {
    assert.equal(textOf(batch.original(i)), original === undefined ? `v${i}` : textOf(original));
    assert.equal("original" in batch.message(i), original !== undefined);
  }
  const copy = createRawBatch();
  for (let i = 0; i < batch.length; i++) copy.append(batch.message(i));
  for (let i = 0; i < batch.length; i++) assert.deepEqual(copy.message(i), batch.message(i));
});

test("offsets are there as an array, and keys and headers in one piece each", () => {
  const batch = createRawBatch();
  const offsets = [0n, 1n, 0xffff_ffffn, 0x1_0000_0000n, 2n ** 63n - 1n];
  for (const [i, offset] of offsets.entries())
    batch.append({
      ...{ topic: "t", partition: 0, offset, timestampMs: 0, timestampType: "create", generation: 0 },
      key: i % 2 === 0 ? null : Buffer.from(`key ${i}`),
      value: null,
      headers: i === 3 ? [["größe", Buffer.from("5")]] : [],
    });
  const { columns } = batch;
  assert.deepEqual([...columns.offsets], offsets);
  assert.deepEqual(
    offsets.map((_, i) => {
      const [start, end] = [i === 0 ? 0 : columns.keyEnds[i - 1]!, columns.keyEnds[i]!];
      return (columns.flags[i]! & NULL_KEY) === 0 && Buffer.from(batch.keys).toString("utf8", start, end);
    }),
    [false, "key 1", false, "key 3", false],
  );
  assert.deepEqual(
    offsets.map((_, i) => batch.headerEnd(i) - batch.headerStart(i)),
    [0, 0, 0, 8 + Buffer.byteLength("größe") + 1, 0],
  );
  assert.equal(Buffer.from(batch.headerBytes).readInt32LE(batch.headerStart(3)), Buffer.byteLength("größe"));
  assert.equal(batch.hasOriginals, false);
});
