import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import kafkajs from "kafkajs";
import snappy from "snappyjs";
import { isLabError } from "../core/errors.ts";
import { registerCodecs, unsnap } from "./codecs.ts";

const { CompressionCodecs, CompressionTypes } = kafkajs;

test("importing changes nothing in the client's table", () => {
  assert.throws(() => CompressionCodecs[CompressionTypes.LZ4](), /not implemented/);
});

test("snappy and lz4 read back what they wrote", async () => {
  registerCodecs();
  for (const type of [CompressionTypes.Snappy, CompressionTypes.LZ4] as const) {
    const codec = CompressionCodecs[type]();
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 5000 }),
        fc.integer({ min: 1, max: 40 }),
        async (bytes, times) => {
          const buffer = Buffer.concat(Array.from({ length: times }, () => bytes));
          assert.ok((await codec.decompress(await codec.compress({ buffer }))).equals(buffer));
        },
      ),
      { numRuns: 40 },
    );
  }
});

test("snappy is read framed in chunks as Java does it, and bare as librdkafka does", () => {
  const parts = [Buffer.from("one ".repeat(50)), Buffer.from("two")];
  const header = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
  const framed = parts.flatMap((part) => {
    const packed = snappy.compress(part);
    const length = Buffer.alloc(4);
    length.writeInt32BE(packed.length);
    return [length, packed];
  });
  assert.ok(unsnap(Buffer.concat([header, ...framed])).equals(Buffer.concat(parts)));
  assert.ok(unsnap(snappy.compress(parts[0]!)).equals(parts[0]!));
});

test("what cannot be read says which codec, and that it is of no use to try again", async () => {
  registerCodecs();
  for (const [type, name] of [
    [CompressionTypes.Snappy, "snappy"],
    [CompressionTypes.LZ4, "lz4"],
    [CompressionTypes.ZSTD, "zstd"],
  ] as const) {
    const garbage = Buffer.from("neither this nor that");
    await assert.rejects(CompressionCodecs[type]().decompress(garbage), (error) => {
      assert.ok(isLabError(error, "CODEC_UNSUPPORTED"));
      assert.match(error.message, new RegExp(name));
      assert.equal((error as { retriable?: boolean }).retriable, false);
      return true;
    });
  }
  await assert.rejects(
    CompressionCodecs[CompressionTypes.ZSTD]().compress({ buffer: Buffer.alloc(1) }),
    (error) => isLabError(error, "CODEC_UNSUPPORTED"),
  );
});
