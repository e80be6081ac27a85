import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { inferMessages } from "../engine/json-evolve.ts";
import { batchOf, signal } from "../test/support/encoder-fixture.ts";
import { openColumns } from "./columns.ts";
import { inferByWalk } from "./json-infer.ts";

const columns = openColumns();

/** Values that settle a type, and rarely one that changes it. */
const usual = fc.constantFrom(
  "1",
  "-20",
  "123456789012345",
  "0.5",
  '"text"',
  '"2025-01-02T03:04:05Z"',
  "true",
  "null",
  "[]",
  "[1,2]",
  "{}",
  '{"a":1}',
);
const rare = fc.constantFrom(
  "9007199254740993",
  "123456789012345678",
  "9223372036854775808",
  "1e3",
  "1e400",
  '"2025-01-02"',
  '["x",null]',
  "[[]]",
  '{"a":"b","B":[{}]}',
  '"\\u0041"',
  "-0",
);

/** Of each field the text of nearly all values, and where other ones stand. */
const fields = fc.dictionary(
  fc.constantFrom("a", "b", "A", "c", "_kafka", 'q\\"'),
  fc.record({
    value: usual,
    others: fc.array(fc.tuple(fc.nat({ max: 299 }), fc.oneof(usual, rare)), { maxLength: 3 }),
  }),
  { minKeys: 1 },
);

test("one odd value far behind is told of, whatever it is and wherever it stands", async () => {
  const values = ["1", "0.5", '"text"', '"2025-01-02T03:04:05Z"', "true", "[1]", '{"a":1}'];
  const around = [(value: string) => `{"f":${value}}`, (value: string) => `{"s":{"f":[{"f":${value}}]}}`];
  for (const usual of values)
    for (const odd of values)
      for (const message of around)
        for (const place of [64, 299]) {
          const messages = Array.from({ length: 300 }, (_, i) => message(i === place ? odd : usual));
          const batch = batchOf(messages);
          assert.deepEqual(await inferByWalk(columns, batch, signal), await inferMessages(batch, signal));
        }
});

test("a walk that parses few messages infers what a look at all of them does", async () => {
  await fc.assert(
    fc.asyncProperty(
      fields,
      fc.array(fc.tuple(fc.nat({ max: 299 }), fc.constantFrom("[]", "{", "", '{"a":1,"a":"x"}'))),
      async (given, broken) => {
        const messages = Array.from({ length: 300 }, (_, i) => {
          const members = Object.entries(given).map(([name, { value, others }]) => {
            const other = others.find(([place]) => place === i);
            return `"${name}":${other === undefined ? value : other[1]}`;
          });
          return broken.find(([place]) => place === i)?.[1] ?? `{${members.join(",")}}`;
        });
        const batch = batchOf(messages);
        assert.deepEqual(await inferByWalk(columns, batch, signal), await inferMessages(batch, signal));
      },
    ),
  );
});
