import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { gunzip, isGzip, MOST_UNPACKED_BYTES } from "./gzip.ts";

const codeOf = (value: Uint8Array, maxBytes?: number) => {
  const outcome = gunzip(value, maxBytes);
  return outcome instanceof Uint8Array ? "unpacked" : outcome.code;
};

test("what gzip packed is unpacked, in one member or several", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 3 }), (texts) => {
      const value = Buffer.concat(texts.map((text) => gzipSync(text)));
      assert.ok(isGzip(value));
      assert.deepEqual(Buffer.from(gunzip(value) as Uint8Array), Buffer.concat(texts));
    }),
    { numRuns: 50 },
  );
});

test("a member that is cut off anywhere is bad, and so is one with a wrong checksum or length", () => {
  const value = gzipSync('{"id":1}');
  for (let length = 2; length < value.length; length++)
    assert.equal(codeOf(value.subarray(0, length)), "MALFORMED_GZIP", `${length} bytes`);
  for (const at of [value.length - 8, value.length - 1]) {
    const damaged = Buffer.from(value);
    damaged[at]! ^= 1;
    assert.equal(codeOf(damaged), "MALFORMED_GZIP");
  }
});

test("anything after the last member is bad: zeros, text, half of another member", () => {
  const value = gzipSync("{}");
  const rests = [Buffer.alloc(1), Buffer.alloc(600), Buffer.from("x"), value.subarray(0, 9)];
  for (const rest of [...rests, value.subarray(0, 1)])
    assert.equal(codeOf(Buffer.concat([value, rest])), "MALFORMED_GZIP");
});

test("a value that would unpack beyond the limit is bad, in one member or in many", () => {
  const limit = 1000;
  assert.equal(codeOf(gzipSync(Buffer.alloc(limit)), limit), "unpacked");
  assert.equal(codeOf(gzipSync(Buffer.alloc(limit + 1)), limit), "TOO_LARGE");
  const half = gzipSync(Buffer.alloc(600));
  assert.equal(codeOf(Buffer.concat([half, half]), limit), "TOO_LARGE");
  assert.equal(codeOf(gzipSync(Buffer.alloc(MOST_UNPACKED_BYTES + 1))), "TOO_LARGE");
});

test("no bytes after the magic make it throw or hang", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (rest) => {
      gunzip(Buffer.concat([Buffer.from([0x1f, 0x8b]), rest]), 10_000);
      gunzip(Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), rest]), 10_000);
    }),
    { numRuns: 500 },
  );
});

test("only the two bytes of gzip are taken for it", () => {
  for (const other of [deflateRawSync("{}"), Buffer.from('{"a":1}'), Buffer.from([0x1f]), Buffer.alloc(0)])
    assert.equal(isGzip(other), false);
});
