import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hashText, keyIndex } from "./key-index.ts";
import type { PackedBlock, PackedText } from "./slice.ts";
import { stringColumn } from "./string-column.ts";

/** Blocks of three texts, which are packed one by one. */
function packer(): (text: string) => PackedText {
  let texts: string[] = [];
  let block: PackedBlock | undefined;
  return (text) => {
    if (!block || texts.length === 3) {
      const mine: string[] = [];
      block = {
        unpack() {
          const lengths = Int32Array.from(mine, (one) => Buffer.byteLength(one));
          const starts = lengths.map((_, at) =>
            lengths.slice(0, at).reduce((sum, length) => sum + length, 0),
          );
          return { bytes: Buffer.from(mine.join("")), starts, lengths };
        },
      };
      texts = mine;
    }
    return { block, number: texts.push(text) - 1 };
  };
}

test("every value comes back, absent and empty ones told apart, as text, as bytes or packed", () => {
  const value = fc.oneof(fc.string({ unit: "grapheme" }), fc.constant(undefined), fc.constant(""));
  const form = fc.constantFrom("text", "bytes", "packed");
  fc.assert(
    fc.property(fc.array(fc.tuple(value, form), { maxLength: 200 }), (values) => {
      const first = stringColumn();
      const packed = packer();
      for (const [text, how] of values) {
        const bytes = Buffer.from(`<${text}>`);
        if (text === undefined || how === "text") first.push(text);
        else if (how === "packed") first.push(packed(text));
        else first.push({ bytes, start: 1, length: bytes.length - 2 });
      }
      const column = stringColumn();
      for (const at of values.keys()) column.push(first.held(at));
      assert.deepEqual(
        values.map((_, at) => column.get(at)),
        values.map(([text]) => text),
      );
      assert.equal(column.length, values.length);
    }),
  );
});

test("a few megabytes of packed values stay unpacked for whoever asks next, and of more than that a few blocks", () => {
  for (const { blocks, size, again } of [
    { blocks: 8, size: 500_000, again: 0 },
    { blocks: 8, size: 4_000_000, again: 8 },
  ]) {
    const column = stringColumn();
    let unpacked = 0;
    const held = new Set<Buffer>();
    for (let n = 0; n < blocks; n++) {
      const unpack = (into?: Buffer) => {
        unpacked++;
        const bytes = into ?? Buffer.alloc(size);
        bytes.write(`value ${n}`);
        held.add(bytes);
        return { bytes, starts: Int32Array.of(0), lengths: Int32Array.of(7) };
      };
      column.push({ block: { unpack }, number: 0 });
    }
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < blocks; n++) assert.equal(column.get(n), `value ${n}`);
    assert.equal(unpacked, blocks + again);
    assert.ok(held.size * size <= Math.max(4 * 2 ** 20 + size, 3 * size), `${held.size} buffers`);
  }
});

test("values larger than a chunk and more than a chunk holds are kept", () => {
  const column = stringColumn();
  const large = "x".repeat(20 * 1024 * 1024);
  column.push(large);
  for (let n = 0; n < 20_000; n++) column.push(`${n}-`.repeat(60));
  column.push("last");
  assert.equal(column.get(0), large);
  assert.equal(column.get(12_345), "12344-".repeat(60));
  assert.equal(column.get(20_001), "last");
});

test("the index finds the newest row of each key, also where hashes collide", () => {
  const hashes = [(key: string) => hashText(key), (key: string) => key.length % 3];
  for (const hashOf of hashes) {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 300 }), (keys) => {
        const index = keyIndex();
        const newest = new Map<string, number>();
        for (const [row, key] of keys.entries()) {
          const hash = hashOf(key);
          const found = index.put(hash, row, (other) => keys[other] === key);
          assert.equal(found, newest.get(key));
          newest.set(key, row);
        }
      }),
    );
  }
});
