import assert from "node:assert/strict";
import { test } from "node:test";
import { packedText, type Slice, sliceText } from "../slice.ts";
import { leafReader, type Value } from "./leaf.ts";
import { type Page, PLAIN } from "./pages.ts";

const node = {
  name: "text",
  repetition: "required" as const,
  definition: 0,
  repeated: 0,
  children: [],
  column: 0,
  type: 6,
};

/** A page of texts that all have the length they should, but the last, which claims `more`. */
function pageOf(texts: readonly string[], more = 0): Page {
  const plain = Buffer.concat(
    texts.map((text, at) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length + (at === texts.length - 1 ? more : 0));
      return Buffer.concat([length, Buffer.from(text)]);
    }),
  );
  // One literal of up to 60 bytes.
  const body = Buffer.concat([Buffer.from([plain.length, (plain.length - 1) << 2]), plain]);
  return {
    isDictionary: false,
    values: texts.length,
    encoding: PLAIN,
    levels: undefined,
    isCompressed: true,
    size: plain.length,
    levelBytes: Buffer.alloc(0),
    body,
  };
}

const textOf = (value: Value | undefined) =>
  typeof value === "object" && "block" in value ? packedText(value) : sliceText(value as Slice);

for (const packed of [undefined, { damaged: (cause: unknown) => cause as Error }]) {
  test(`a text never goes on into what an earlier page left behind, ${packed ? "packed" : "plain"}`, () => {
    const leaf = leafReader(node, { packed });
    leaf.begin([pageOf(["some longer text", "x"]), pageOf(["ab", "c"], 3)]);
    assert.equal(textOf(leaf.next()), "some longer text");
    assert.equal(textOf(leaf.next()), "x");
    assert.throws(() => [textOf(leaf.next()), textOf(leaf.next())], /beyond its page/);
  });
}

test("a row group that begins has nothing of the one before, whether that was read to its end or not", () => {
  const leaf = leafReader(node);
  leaf.begin([pageOf(["a", "b"])]);
  assert.equal(textOf(leaf.next()), "a");
  leaf.begin([pageOf(["c"])]);
  assert.equal(textOf(leaf.next()), "c");
  assert.throws(() => leaf.next(), /fewer rows/);
});
