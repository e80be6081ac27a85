import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { partitionDirectory } from "./partition-path.ts";
import { decodePath, encodePath } from "./path.ts";

test("columns and values stand as Hive writes them, in the table's order", () => {
  assert.equal(partitionDirectory(["b", "a"], { a: "x y", b: "1:2" }), "b=1%3A2/a=x y");
  assert.equal(encodePath(partitionDirectory(["x"], { x: "a:b" })), "x=a%253Ab");
  assert.equal(partitionDirectory([], {}), "");
});

test("null and the empty string share a folder", () => {
  for (const value of [null, ""])
    assert.equal(partitionDirectory(["c"], { c: value }), "c=__HIVE_DEFAULT_PARTITION__");
});

const value = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary", maxLength: 400 }));

const special = "/\\:*?\"#'[]^{=\u007f";

test("any value makes one folder level with a name that file systems take", () => {
  fc.assert(
    fc.property(value, (text) => {
      const folder = partitionDirectory(["column"], { column: text });
      const isPlain = [...folder.slice("column=".length)].every(
        (char) => char >= " " && !special.includes(char),
      );
      assert.ok(isPlain, folder);
      assert.ok(Buffer.byteLength(folder) <= 240);
      assert.equal(decodePath(encodePath(folder)), Buffer.from(folder).toString());
    }),
  );
});

test("short values can be told from their folders", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 15 }), (text) => {
      const folder = partitionDirectory(["c"], { c: text });
      assert.equal(
        folder.slice(2).replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
        text,
      );
    }),
  );
});
