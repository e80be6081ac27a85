import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { decodeBatch, payloads } from "./decode-batch.ts";
import type { Decoder } from "./decoder.ts";
import { createJsonLinesDecoder } from "./json-lines.ts";

function batchOf(...values: (Uint8Array | string | null)[]) {
  const bytes = values.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
  return { length: bytes.length, value: (index: number) => bytes[index]! };
}

function decode(
  values: ReturnType<typeof batchOf>,
  decoder: Decoder | null,
  options: { gzip: boolean; maxBytes?: number } = { gzip: true },
) {
  const decoded = decodeBatch(values, decoder, options);
  if (decoded === "unchanged") return decoded;
  const parts = decoded.parts.map(({ index, json }) => [index, Buffer.from(json).toString()]);
  return { parts, bad: decoded.bad.map(({ index, code }) => [index, code]) };
}

test("JSON that nobody packed is unchanged, whatever it is", () => {
  assert.equal(decode(batchOf('{"a":1}', null, "", "nonsense", Buffer.from([0x1f])), null), "unchanged");
  assert.equal(decode(batchOf(), null), "unchanged");
});

test("without unpacking, what begins as gzip is left to the encoder", () => {
  assert.equal(decode(batchOf(gzipSync("{}")), null, { gzip: false }), "unchanged");
});

test("JSON is unpacked where it was packed, and the rest of the batch goes along as it is", () => {
  const values = batchOf('{"a":1}', gzipSync('{"a":2}'), null, "", gzipSync("no JSON"));
  assert.deepEqual(decode(values, null), {
    parts: [
      [0, '{"a":1}'],
      [1, '{"a":2}'],
      [3, ""],
      [4, "no JSON"],
    ],
    bad: [[2, "NULL_VALUE"]],
  });
});

test("what cannot be unpacked is bad, the others are not", () => {
  const values = batchOf(gzipSync("{}").subarray(0, 15), gzipSync('{"a":1}'), gzipSync(Buffer.alloc(99)));
  assert.deepEqual(decode(values, null, { gzip: true, maxBytes: 50 }), {
    parts: [[1, '{"a":1}']],
    bad: [
      [0, "MALFORMED_GZIP"],
      [2, "TOO_LARGE"],
    ],
  });
});

test("several objects of a message share its place, in order, packed or not", () => {
  const values = batchOf('{"a":1}\n{"a":2}', "[]", gzipSync('{"a":3}\n{"a":4}\n'), null);
  assert.deepEqual(decode(values, createJsonLinesDecoder()), {
    parts: [
      [0, '{"_kafka_index":0,"a":1}'],
      [0, '{"_kafka_index":1,"a":2}'],
      [2, '{"_kafka_index":0,"a":3}'],
      [2, '{"_kafka_index":1,"a":4}'],
    ],
    bad: [
      [1, "NOT_AN_OBJECT"],
      [3, "NULL_VALUE"],
    ],
  });
});

test("a decoder gets to prepare for what it will decode", () => {
  const values = batchOf("plain", gzipSync("packed"), null, gzipSync("cut").subarray(0, 12));
  const seen = [...payloads(values, { gzip: true })].map((value) => value && Buffer.from(value).toString());
  assert.deepEqual(seen, ["plain", "packed", null, null]);
});

test("a batch ends where it holds enough, and the next one goes on behind it", () => {
  const values = batchOf(gzipSync('{"a":1}'), null, gzipSync('{"a":2}'), gzipSync('{"a":3}'));
  const from = (start: number) => {
    const decoded = decodeBatch(values, null, { gzip: true, from: start, batchBytes: 8 });
    assert.ok(decoded !== "unchanged");
    return { end: decoded.end, parts: decoded.parts.map(({ index }) => index), bad: decoded.bad.length };
  };
  assert.deepEqual(from(0), { end: 3, parts: [0, 2], bad: 1 });
  assert.deepEqual(from(3), { end: 4, parts: [3], bad: 0 });
});
