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

test("keys and texts of any kind beside long numbers stay what they are", () => {
  const text = `{"__proto__":{"a":9007199254740993},"constructor":1,"t":"\\"9007199254740993, 12345678901234567890","d":[1.12345678901234567890,1e3]}`;
  const parsed = parseJson(text) as Record<string, unknown>;
  assert.deepEqual(Object.keys(parsed), ["__proto__", "constructor", "t", "d"]);
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  assert.deepEqual(Object.getOwnPropertyDescriptor(parsed, "__proto__")?.value, { a: 9007199254740993n });
  assert.equal(parsed.t, '"9007199254740993, 12345678901234567890');
  assert.deepEqual(parsed.d, [1.1234567890123457, 1000]);
  assert.throws(() => parseJson('{"a":9007199254740993,}'), SyntaxError);
  assert.throws(() => parseJson('{"a":00000000000000001}'), SyntaxError);
});
