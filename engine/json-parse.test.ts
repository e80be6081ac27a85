import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonNumber, type JsonValue, parseJsonExactly } from "./json-parse.ts";

/** As JSON.parse says it. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
}

function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    return "refused";
  }
}

test("it takes and refuses what JSON.parse takes and refuses, and reads the same", () => {
  const piece = fc.constantFrom(
    ...[
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"a"',
      '"b":',
      "1",
      "-0",
      "1.5e-3",
      "01",
      "1.",
      "-",
      "true",
      "null",
      "nul",
      "NaN",
    ],
    ...[
      " ",
      "\n",
      "\t",
      "\v",
      "\ufeff",
      "\\",
      '\\"',
      "\\u00e9",
      "\\ud800",
      "\\x",
      "\u0001",
      "é",
      "😀",
      '"__proto__":',
      "//",
    ],
  );
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  const printed = fc
    .tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"))
    .map(([value, gap]) => JSON.stringify(value, null, gap));
  fc.assert(
    fc.property(fc.oneof(soup, printed), (text) => {
      assert.deepEqual(
        outcome(() => plain(parseJsonExactly(text))),
        outcome(() => JSON.parse(text)),
      );
    }),
    { numRuns: 3000 },
  );
});

test("numbers keep their digits, doubled keys their last value", () => {
  const read = parseJsonExactly('{"n":9007199254740993.10e+2,"n2":-0,"k":1,"k":[2]}') as Record<
    string,
    JsonValue
  >;
  assert.equal((read.n as JsonNumber).text, "9007199254740993.10e+2");
  assert.equal((read.n2 as JsonNumber).text, "-0");
  assert.deepEqual(read.k, [new JsonNumber("2")]);
});

test("what was expected is said with its place", () => {
  const messages: readonly (readonly [text: string, message: RegExp])[] = [
    ["", /expected a value but found the end at position 0/],
    ['{"a" 1}', /expected : but found "1" at position 5/],
    ["[1 2]", /expected , or \] but found "2" at position 3/],
    ['{"a":1}x', /expected the end but found "x" at position 7/],
    ['"a\nb"', /expected the end of a string, " but found "\\n" at position 2/],
    ['"\\q"', /escape that does not exist at position 0/],
    ["[".repeat(2000), /nested deeper than 1000/],
  ];
  for (const [text, message] of messages) assert.throws(() => parseJsonExactly(text), { message });
});
