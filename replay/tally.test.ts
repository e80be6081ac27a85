import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { count } from "./tally.ts";

test("a tally is the CRC-32 of all its records, whatever their lengths, as zlib has it", () => {
  const part = fc.option(fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes)));
  const record = fc.record({
    timestampMs: fc.integer(),
    key: part,
    value: part,
    headers: fc.array(fc.tuple(fc.string(), part), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(record), (records) => {
      const tally = { since: 0n, count: 0, crc: 0 };
      const pieces: Buffer[] = [];
      for (const one of records) {
        count(tally, one);
        const head = Buffer.alloc(20);
        head.writeDoubleBE(one.timestampMs, 0);
        head.writeInt32BE(one.key?.length ?? -1, 8);
        head.writeInt32BE(one.value?.length ?? -1, 12);
        head.writeInt32BE(one.headers.length, 16);
        pieces.push(head, one.key ?? Buffer.alloc(0), one.value ?? Buffer.alloc(0));
        for (const [name, content] of one.headers)
          pieces.push(Buffer.from(JSON.stringify([name, content?.length ?? -1])), content ?? Buffer.alloc(0));
      }
      assert.deepEqual(tally, { since: 0n, count: records.length, crc: crc32(Buffer.concat(pieces)) });
    }),
  );
});
