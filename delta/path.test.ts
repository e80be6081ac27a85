import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalPath, decodePath, encodePath, localPathOutside, storePath } from "./path.ts";

test("a path comes back from its encoded form, whatever characters it has", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (path) => {
      const encoded = encodePath(path);
      assert.match(encoded, /^[\x21-\x7e]*$/);
      assert.equal(decodePath(encoded), path);
    }),
  );
});

test("plus signs stay, and percent signs are encoded once more", () => {
  assert.equal(encodePath("a=b+c/x%3Ay z.parquet"), "a=b+c/x%253Ay%20z.parquet");
  assert.equal(decodePath("a+b%2Bc"), "a+b+c");
});

test("a lone percent sign of an old writer is taken as it stands", () => {
  assert.equal(decodePath("100%.parquet"), "100%.parquet");
});

test("all spellings of one local file are one file", () => {
  const spellings = ["file:/t/a b", "file:///t/a%20b", "file://localhost/t/a b", "/t/a b", "file:///t/a b"];
  assert.deepEqual(
    new Set(spellings.map((path) => canonicalPath("file:///other", path))),
    new Set(["file:///t/a b"]),
  );
  for (const path of [...spellings, "a%20b"]) assert.equal(canonicalPath("file:///t", path), "a b");
  assert.equal(canonicalPath("s3://bucket/key", "s3a://bucket/key/x"), "x");
});

test("the store is asked for files below its root only", () => {
  assert.equal(storePath("s3://bucket/t", "s3://bucket/t/p=1/x%20y"), "p=1/x y");
  assert.equal(storePath("s3://bucket/t", "p=1/x%2520y"), "p=1/x%20y");
  assert.equal(storePath("s3://bucket/t", "s3://bucket/table/x"), undefined);
  assert.equal(storePath("file:///a", "/b/x"), undefined);
});

test("a file outside of a local table is found in the local file system, of any other table it is not", () => {
  for (const path of ["file:/b/x%20y", "file:///b/x%20y", "/b/x%20y"])
    assert.equal(localPathOutside("file:///a", path), "/b/x y");
  for (const path of ["/a/x", "x", "s3://bucket/x"])
    assert.equal(localPathOutside("file:///a", path), undefined);
  assert.equal(localPathOutside("s3://bucket/t", "file:///etc/passwd"), undefined);
});
