import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readHybrid } from "../delta/parquet/hybrid.ts";
import { bitWidth, putHybrid, putPacked } from "./parquet-bits.ts";
import { contents, createByteSink } from "./parquet-bytes.ts";

test("numbers are packed from the lowest bit on, as the format's own example has them", () => {
  const sink = createByteSink();
  putPacked(sink, Int32Array.from([0, 1, 2, 3, 4, 5, 6, 7]), 0, 8, 3);
  assert.deepEqual([...contents(sink)], [0b10001000, 0b11000110, 0b11111010]);
});

test("a run takes few bytes, whatever its length, and one that starts amid a group fills it up", () => {
  const sink = createByteSink();
  putHybrid(sink, new Uint8Array(1000).fill(1), 0, 1000, 1);
  assert.deepEqual([...contents(sink)], [0xd0, 0x0f, 1]);
  sink.length = 0;
  putHybrid(sink, Uint8Array.from([0, 1, ...new Uint8Array(200).fill(2)]), 0, 202, 2);
  assert.deepEqual([...contents(sink)], [3, 0b10100100, 0b10101010, 0x84, 0x03, 2]);
});

test("levels and places come back from another reader, at any width and with runs anywhere", () => {
  const width = fc.integer({ min: 1, max: 24 });
  const runs = fc.array(fc.tuple(fc.nat(), fc.constantFrom(1, 1, 2, 3, 7, 8, 9, 15, 70, 200)), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(width, runs, fc.nat({ max: 5 }), (bits, all, before) => {
      const values = all.flatMap(([value, times]) => new Array<number>(times).fill(value % 2 ** bits));
      const sink = createByteSink(1);
      putHybrid(
        sink,
        Int32Array.from([...new Array(before).fill(1), ...values, 1]),
        before,
        before + values.length,
        bits,
      );
      assert.deepEqual([...readHybrid(contents(sink), bits, new Int32Array(values.length))], values);
    }),
  );
});

test("a width is that of the largest number", () => {
  assert.deepEqual([0, 1, 2, 255, 256, 2 ** 31, 2 ** 32 - 1].map(bitWidth), [0, 1, 2, 8, 9, 32, 32]);
});
