import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { decompress } from "fzstd";
import { loadZstd, nodeZstd } from "./parquet-zstd.ts";

test("what is packed is unpacked by another implementation, by the package and by Node where it has one", () => {
  const views = [0, 1, 100_000].map((size) => new Uint8Array(randomBytes(size)));
  const text = new Uint8Array(Buffer.from("streams ".repeat(50_000)));
  const implementations = [loadZstd(1), nodeZstd(1)].filter((compress) => compress !== undefined);
  assert.ok(implementations.length > 0);
  for (const compress of implementations) {
    for (const bytes of [...views, text, text.subarray(3, 77)])
      assert.deepEqual(new Uint8Array(decompress(compress(bytes))), new Uint8Array(bytes));
    assert.ok(compress(text).length < text.length / 100);
  }
});
