import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson, stringifyJson } from "./json.ts";

test("whole numbers keep all of their digits", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const text = `{"a":[${value}],"b":"x"}`;
      const parsed = parseJson(text) as { a: [number | bigint] };
      assert.equal(BigInt(parsed.a[0]), value);
      assert.equal(stringifyJson(parsed), text);
    }),
  );
});

test("small numbers and fractions are plain numbers", () => {
  assert.deepEqual(parseJson('{"a":1,"b":0.1,"c":1234567890123456.5}'), {
    a: 1,
    b: 0.1,
    c: 1234567890123456.5,
  });
});

test("JSON without bigints is written as JSON.stringify does", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(stringifyJson(value), JSON.stringify(value));
    }),
  );
});
