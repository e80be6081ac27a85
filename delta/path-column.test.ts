import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isOwnKey } from "./file-key.ts";
import { keyHash, pathColumn } from "./path-column.ts";

const around = fc.oneof(
  fc.constantFrom("", "day=2024-01-01/", "part-00000-", "-c000.zstd.parquet", "\u0000", "%20", "ü/"),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const middle = fc.oneof(
  { weight: 5, arbitrary: fc.uuid() },
  fc.constantFrom(
    "",
    "550E8400-E29B-41D4-A716-446655440000",
    "550e8400-e29b-41d4-a716-44665544000",
    "550e8400xe29b-41d4-a716-446655440000",
    "00000000-0000-0000-0000-000000000000-ffffffff-ffff-ffff-ffff-ffffffffffff",
  ),
);
const path = fc.tuple(around, middle, around).map((parts) => parts.join(""));

test("every path comes back, and its hash is that of its text, with a UUID in it or without, as text or as bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(path, fc.boolean()), { maxLength: 150 }), (paths) => {
      const column = pathColumn();
      for (const [text, isText] of paths) {
        const bytes = Buffer.from(`<${text}>`);
        const slice = { bytes, start: 1, length: bytes.length - 2 };
        const hash = column.push(isText ? text : slice);
        assert.equal(hash, isOwnKey(slice) ? keyHash(text) : undefined);
      }
      paths.forEach(([text], row) => {
        assert.equal(column.get(row), text);
      });
    }),
  );
});

test("what is before a UUID and what is behind it are told apart, whatever they are made of", () => {
  const uuid = "550e8400-e29b-41d4-a716-446655440000";
  for (const mark of ["\u0000", " ", "1 ", "/", "ü"]) {
    const column = pathColumn();
    const paths = [mark + uuid, uuid + mark, uuid, `${mark}${uuid}${mark}`, `${mark}${mark}${uuid}`];
    for (const path of paths) column.push(path);
    assert.deepEqual(
      paths.map((_, row) => column.get(row)),
      paths,
    );
  }
});

test("more paths than a block holds come back, and more texts around UUIDs than are remembered", () => {
  const column = pathColumn();
  const nth = (n: number) => {
    const uuid = `${n.toString(16).padStart(8, "0")}-0000-4000-8000-${n.toString(16).padStart(12, "f")}`;
    return n % 3 === 0 ? `other-${n}` : `p=${n % 20_000}/${uuid}.parquet`;
  };
  for (let n = 0; n < 50_000; n++) assert.equal(column.push(nth(n)), keyHash(nth(n)));
  for (let n = 0; n < 50_000; n++) assert.equal(column.get(n), nth(n));
});
