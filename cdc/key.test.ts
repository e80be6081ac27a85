import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJsonExactly } from "../engine/json-parse.ts";
import { isJsonObject } from "./json-text.ts";
import { keyText } from "./key.ts";

const keyOf = (value: string) => {
  const row = parseJsonExactly(`{"id":${value}}`);
  assert.ok(isJsonObject(row));
  return keyText(row, ["id"]);
};

test("a number is the same key however it is written, zeros with a sign included, and no text is", () => {
  for (const same of [
    ["7", "7.0", "70e-1", "0.7e1"],
    ["0", "-0", "0.0", "-0.00", "0e5", "-0e-7"],
    ["-1.5", "-1.50", "-15e-1"],
  ])
    for (const one of same) assert.deepEqual(keyOf(one), keyOf(same[0]!), one);
  const different = ["7", '"7"', "-7", "7.1", "18446744073709551615", "18446744073709551616", '"a"', '"A"'];
  assert.equal(new Set(different.map((one) => JSON.stringify(keyOf(one)))).size, different.length);
});
