import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { crc32c } from "./crc32c.ts";
import type { ExactRecord } from "./ports.ts";
import { createBatchWriter, recordBytes } from "./record-batch.ts";

/** Reads a batch by the letter of the message format, with big integers throughout. */
function decode(bytes: Buffer) {
  let at = 61;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return (value >> 1n) ^ -(value & 1n);
    }
  };
  const part = () => {
    const length = Number(varint());
    if (length < 0) return null;
    at += length;
    return Buffer.from(bytes.subarray(at - length, at));
  };
  const baseTimestamp = bytes.readBigInt64BE(27);
  const records = Array.from({ length: bytes.readInt32BE(57) }, (_, index) => {
    const end = Number(varint()) + at;
    assert.equal(bytes[at++], 0);
    const timestampMs = Number(baseTimestamp + varint());
    assert.equal(varint(), BigInt(index));
    const [key, value] = [part(), part()];
    const headers = Array.from({ length: Number(varint()) }, () => [part()!.toString(), part()] as const);
    assert.equal(at, end);
    return { partition: 0, timestampMs, key, value, headers };
  });
  assert.equal(at, bytes.length);
  return records;
}

const part = fc.option(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)));
const exactRecord: fc.Arbitrary<ExactRecord> = fc.record(
  {
    partition: fc.constant(0),
    timestampMs: fc.oneof(fc.integer({ min: -1, max: 2 ** 42 }), fc.constant(-1), fc.integer()),
    key: part,
    value: part,
    headers: fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 20 }), part), { maxLength: 5 }),
  },
  { noNullPrototype: true },
);

test("a batch says what its records say, headers in their order, doubled and null ones among them", () => {
  // One for all: what was in a batch is not in the next.
  const writer = createBatchWriter();
  fc.assert(
    fc.property(
      fc.array(exactRecord, { minLength: 1, maxLength: 150 }),
      fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
      fc.nat(32_767),
      fc.nat(2 ** 31 - 1),
      (records, producerId, producerEpoch, sequence) => {
        for (const record of records) {
          assert.ok(writer.takes(record.timestampMs));
          writer.add(record);
        }
        const held = writer.bytes;
        const bytes = writer.finish({ producerId, producerEpoch, sequence });
        assert.deepEqual([bytes.length, writer.records], [held, 0]);
        assert.deepEqual(decode(bytes), records);
        assert.equal(bytes.readInt32BE(8), bytes.length - 12);
        assert.equal(bytes.readUInt32BE(17), crc32c(bytes.subarray(21)));
        assert.equal(bytes.readInt32BE(23), records.length - 1);
        const latest = Math.max(...records.map(({ timestampMs }) => timestampMs));
        assert.equal(bytes.readBigInt64BE(35), BigInt(latest));
        assert.deepEqual(
          [bytes.readBigInt64BE(43), bytes.readInt16BE(51), bytes.readInt32BE(53)],
          [producerId, producerEpoch, sequence],
        );
        assert.ok(bytes.length <= 61 + records.reduce((sum, one) => sum + recordBytes(one), 0));
      },
    ),
  );
});
