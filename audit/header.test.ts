import assert from "node:assert/strict";
import { test } from "node:test";
import avsc from "avsc";
import fc from "fast-check";
import { fingerprint } from "../formats/avro-fingerprint.ts";
import {
  addChecksums,
  decodeSequence,
  decodeStamp,
  encodeSequence,
  encodeStamp,
  messageChecksum,
  STAMP_PREFIX,
  STAMP_SCHEMA,
  windowOf,
} from "./header.ts";

test("a sequence comes back as it was, colons in the origin included", () => {
  for (const sequence of [
    { origin: "orders-7", n: 0 },
    { origin: "a:b", n: 123_456 },
  ]) {
    assert.deepEqual(decodeSequence(encodeSequence(sequence)), sequence);
  }
});

test("what is no sequence is null", () => {
  for (const text of ["", "7", "a:", ":7", "a:-1", "a:1.5"]) assert.equal(decodeSequence(text), null);
});

/** As far as a date reaches. */
const MOST = 8.64e15;
const place = fc.integer({ min: 0, max: 2 ** 52 });
const stamps = fc.record(
  {
    origin: fc.string({ minLength: 1, unit: "grapheme" }),
    epoch: place,
    host: fc.string({ unit: "grapheme" }),
    eventTimeMs: fc.integer({ min: -MOST / 2, max: MOST / 2 }),
    sequence: place,
    windowSequence: place,
  },
  { noNullPrototype: true },
);

test("a stamp comes back as it was", () => {
  fc.assert(fc.property(stamps, (stamp) => assert.deepEqual(decodeStamp(encodeStamp(stamp)), stamp)));
});

test("Avro's own reader reads a stamp by its schema, and the prefix names that schema", () => {
  const type = avsc.Type.forSchema(JSON.parse(JSON.stringify(STAMP_SCHEMA)));
  const { name, namespace, fields } = STAMP_SCHEMA;
  const canonical = JSON.stringify({ name: `${namespace}.${name}`, type: "record", fields });
  assert.equal(STAMP_PREFIX.readBigUInt64LE(2), fingerprint(canonical));
  const place = { origin: "o", epoch: 1_767_225_600_000, host: "h", sequence: 70, windowSequence: 3 };
  const encoded = encodeStamp({ ...place, eventTimeMs: -5 });
  assert.deepEqual({ ...type.fromBuffer(encoded.subarray(10)) }, { ...place, eventTime: -5 });
});

test("what is no stamp is null, cut off at any byte and with bytes behind it", () => {
  const whole = encodeStamp({
    ...{ origin: "orders", epoch: 1_767_225_600_000, host: "here", eventTimeMs: 1_767_225_600_123 },
    ...{ sequence: 300, windowSequence: 200 },
  });
  for (let length = 0; length < whole.length; length++)
    assert.equal(decodeStamp(whole.subarray(0, length)), null, String(length));
  assert.equal(decodeStamp(Buffer.concat([whole, Buffer.of(0)])), null);
  fc.assert(fc.property(fc.uint8Array(), (bytes) => decodeStamp(bytes) === null));
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      decodeStamp(Buffer.concat([STAMP_PREFIX, bytes]));
    }),
  );
});

test("a window holds its first instant and not its last, before 1970, too", () => {
  assert.equal(windowOf(300_000), 300_000);
  assert.equal(windowOf(599_999), 300_000);
  assert.equal(windowOf(-1), -300_000);
});

test("a checksum is the same in any order, and tells content, places and absent values", () => {
  const sum = (values: readonly (readonly [number, string | null])[]) =>
    values.reduce((all, [n, value]) => addChecksums(all, messageChecksum(n, value)), 0);
  const [a, b] = [[0, "first"] as const, [1, "second"] as const];
  assert.equal(sum([a, b]), sum([b, a]));
  assert.notEqual(
    sum([a, b]),
    sum([
      [0, "second"],
      [1, "first"],
    ]),
  );
  assert.notEqual(sum([a]), sum([[0, "first!"]]));
  assert.notEqual(sum([[0, ""]]), sum([[0, null]]));
  assert.equal(messageChecksum(7, "text"), messageChecksum(7, Buffer.from("text")));
});
