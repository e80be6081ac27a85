import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { crc32c } from "./crc32c.ts";
import { CODE, LEAST_FOLDED } from "./crc32c-fold.ts";

test("the sums are those of RFC 3720", () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, n) => n)), 0x46dd794e);
  assert.equal(crc32c(new Uint8Array()), 0);
});

test("of long runs, too, whatever their length and wherever they stand, the sum is that of tables that go byte by byte", () => {
  const table = Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    return crc;
  });
  const bytes = new Uint8Array(200_000);
  let state = 1;
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  const lengths = fc.oneof(
    fc.integer({ min: 0, max: 120_000 }),
    // About where folding begins, and where a block of it ends.
    fc.integer({ min: LEAST_FOLDED - 20, max: LEAST_FOLDED + 20 }),
    fc.integer({ min: 36_100, max: 36_130 }),
  );
  fc.assert(
    fc.property(lengths, fc.nat(50), (length, start) => {
      let sum = ~0;
      for (let i = start; i < start + length; i++) sum = (sum >>> 8) ^ table[(sum ^ bytes[i]!) & 0xff]!;
      assert.equal(crc32c(bytes, start, start + length), ~sum >>> 0);
    }),
    { numRuns: 200 },
  );
});

test("any bit that is turned in a long run changes its sum", () => {
  const bytes = new Uint8Array(40_000).fill(0xa5);
  const sum = crc32c(bytes);
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
      bytes[at]! ^= 1 << bit;
      const other = crc32c(bytes);
      bytes[at]! ^= 1 << bit;
      assert.notEqual(other, sum);
    }),
  );
});

test("what is run is what its source says", async (t) => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "fold-"));
  t.after(() => rm(folder, { recursive: true }));
  const outFile = join(folder, "fold.wasm");
  const compiler = join(root, "node_modules/assemblyscript/bin/asc.js");
  const flags = "-O3 --enable simd --runtime stub --initialMemory 1 --maximumMemory 1".split(" ");
  const args = [compiler, "kafka/assembly/fold.ts", ...flags, "--outFile", outFile];
  await promisify(execFile)(process.execPath, args, { cwd: root });
  assert.equal(CODE, await readFile(outFile, "base64"), "put the second into kafka/crc32c-fold.ts");
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
