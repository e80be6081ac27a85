import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson, parseSpelled, stringifyJson } from "./json.ts";

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

test("bigints are written as digits wherever they stand, and texts beside them stay what they are", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: "binary" }),
      fc.integer(),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
      fc.array(tie("any")),
      fc.dictionary(fc.string(), tie("any")),
    ),
  })).any;
  /** A bigint that a number holds exactly is read as one. */
  const asRead = (one: unknown): unknown => {
    if (typeof one === "bigint") return Number.isSafeInteger(Number(one)) ? Number(one) : one;
    if (Array.isArray(one)) return one.map(asRead);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, inner]) => [name, asRead(inner)]));
  };
  fc.assert(
    fc.property(value, (one) => {
      assert.deepEqual(parseJson(stringifyJson([one])), [asRead(one)]);
    }),
  );
});

test("the spelling of each number is told, and texts that look like numbers are none", () => {
  const parsed = parseSpelled('{"a":[1.0,-0,1e3,12345678901234567890],"1":"2"}', (digits) => [digits]);
  assert.deepEqual(parsed, { a: [["1.0"], ["-0"], ["1e3"], ["12345678901234567890"]], "1": "2" });
  assert.throws(() => parseSpelled('{"a":01}', String), SyntaxError);
  assert.throws(() => parseSpelled('{"a":1 2}', String), SyntaxError);
});
