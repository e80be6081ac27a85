import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ByteSink, contents, createByteSink } from "./parquet-bytes.ts";
import { putDeltas, putWideDeltas } from "./parquet-delta.ts";

/** Reads what the format says, with numbers of any size. */
function decode(bytes: Uint8Array, bits: 32 | 64): bigint[] {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const next = bytes[at++]!;
      value |= BigInt(next & 127) << shift;
      if (next < 128) return value;
    }
  };
  const zigzag = () => {
    const value = varint();
    return value & 1n ? -(value >> 1n) - 1n : value >> 1n;
  };
  const [block, quarters, count] = [Number(varint()), Number(varint()), Number(varint())];
  const values = [zigzag()];
  if (count === 0) return [];
  while (values.length < count) {
    const least = zigzag();
    const widths = bytes.slice(at, at + quarters);
    at += quarters;
    for (const width of widths) {
      if (values.length >= count) break;
      const size = (block / quarters / 8) * width;
      const packed = bytes.slice(at, at + size).reduceRight((all, byte) => (all << 8n) | BigInt(byte), 0n);
      at += size;
      for (let i = 0; i < block / quarters && values.length < count; i++) {
        const delta = (packed >> BigInt(i * width)) & ((1n << BigInt(width)) - 1n);
        values.push(BigInt.asIntN(bits, values.at(-1)! + least + delta));
      }
    }
  }
  assert.equal(at, bytes.length, "bytes are left");
  return values;
}

const written = (put: (sink: ByteSink) => void) => {
  const sink = createByteSink(1);
  put(sink);
  return contents(sink);
};

const halves = (values: readonly bigint[]) => ({
  low: Int32Array.from(values, (value) => Number(BigInt.asIntN(32, value))),
  high: Int32Array.from(values, (value) => Number(BigInt.asIntN(32, value >> 32n))),
});

test("the format's own example has these bytes, in a block of ours", () => {
  const bytes = written((sink) => putDeltas(sink, Int32Array.from([7, 5, 3, 1, 2, 3, 4, 5]), 0, 8));
  const head = [0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0];
  assert.deepEqual([...bytes], [...head, 0b11000000, 0b00111111, 0, 0, 0, 0, 0, 0]);
});

test("numbers of 32 bits come back, also where a difference has 33", () => {
  const number = fc.oneof(
    fc.integer(),
    fc.integer({ min: -5, max: 5 }),
    fc.constantFrom(-(2 ** 31), 2 ** 31 - 1),
  );
  fc.assert(
    fc.property(fc.array(number, { maxLength: 400 }), fc.nat({ max: 3 }), (values, from) => {
      const bytes = written((sink) =>
        putDeltas(sink, Int32Array.from(values), Math.min(from, values.length), values.length),
      );
      assert.deepEqual(decode(bytes, 32), values.slice(from).map(BigInt));
    }),
  );
});

test("numbers of 64 bits come back from anywhere: near each other by their lower halves, up to 2^52 apart as doubles", () => {
  const base = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 2n ** 52n });
  const offsets = (most: bigint) =>
    fc.array(fc.bigInt({ min: 0n, max: most - 1n }), { minLength: 1, maxLength: 400 });
  fc.assert(
    fc.property(base, offsets(2n ** 31n), (start, steps) => {
      const values = steps.map((step) => start + step);
      const { low, high } = halves(values);
      const bytes = written((sink) => putDeltas(sink, low, 0, low.length, high[0]));
      assert.deepEqual(decode(bytes, 64), values);
    }),
  );
  for (const most of [2n ** 33n, 2n ** 40n, 2n ** 52n])
    fc.assert(
      fc.property(base, offsets(most), (start, steps) => {
        const values = steps.map((step) => start + step);
        const { low, high } = halves(values);
        const bytes = written((sink) => putWideDeltas(sink, low, high, 0, low.length));
        assert.deepEqual(decode(bytes, 64), values);
      }),
    );
});
