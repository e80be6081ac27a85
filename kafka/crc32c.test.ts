import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { crc32c } from "./crc32c.ts";

test("the sums are those of RFC 3720", () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, n) => n)), 0x46dd794e);
  assert.equal(crc32c(new Uint8Array()), 0);
});

test("whatever the bytes and wherever they stand, the sum is that of one bit after the other", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(9), (bytes, start) => {
      let sum = ~0;
      for (const byte of bytes) {
        sum ^= byte;
        for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
      }
      const placed = new Uint8Array(start + bytes.length + 3);
      placed.set(bytes, start);
      assert.equal(crc32c(placed, start, start + bytes.length), ~sum >>> 0);
    }),
  );
});
