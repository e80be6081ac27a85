import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { nativeUnzstd, plainUnzstd, type Unzstd } from "./zstd.ts";

type Package = { Encoder: new (level: number) => { encodeSync(bytes: Buffer): Buffer } };
const { Encoder } = createRequire(import.meta.url)("@toondepauw/node-zstd") as Package;
const native = nativeUnzstd();
assert.ok(native, "the package is there where tests run");
const ways: [string, Unzstd][] = [
  ["by the package", native],
  ["in plain JavaScript", plainUnzstd],
];

for (const [how, unzstd] of ways) {
  test(`${how}, what was packed is unpacked, frames one behind the other, too`, () => {
    const encoder = new Encoder(3);
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 60 }),
        (parts, times) => {
          const pieces = parts.map((part) => Buffer.concat(Array.from({ length: times }, () => part)));
          const packed = Buffer.concat(pieces.map((piece) => encoder.encodeSync(piece)));
          assert.ok(Buffer.concat(pieces).equals(unzstd(packed)));
        },
      ),
      { numRuns: 40 },
    );
  });

  test(`${how}, what is cut off or is no such thing throws`, () => {
    const packed = new Encoder(3).encodeSync(Buffer.from("some words ".repeat(50)));
    for (const wrong of [packed.subarray(0, -1), packed.subarray(0, 8), Buffer.from("neither this nor that")])
      assert.throws(() => unzstd(wrong));
  });
}
