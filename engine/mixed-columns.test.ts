import assert from "node:assert/strict";
import { test } from "node:test";
import { batchOf, openWorkbench, planFor, signal, struct } from "../test/support/encoder-fixture.ts";
import { mixedColumns } from "./mixed-columns.ts";

test("a column that is text because few messages differ from the others says how many, what they had, and which is the first", async (t) => {
  const { encoder } = await openWorkbench(t);
  const mixed = async (...values: string[]) => {
    const schema = await encoder.inferSchema(batchOf(values), { format: "json" }, signal);
    return mixedColumns(schema!).map(({ column, why }) => `${column}: ${why}`);
  };
  const place = (index: number) => {
    const batch = batchOf(Array.from({ length: index + 1 }, () => "{}"));
    return `${batch.topic(index)}/${batch.partition(index)}@${batch.offset(index)}`;
  };
  const many = Array.from({ length: 1_500 }, (_, n) =>
    n === 1_200 ? '{"amount":"n/a"}' : `{"amount":${n}}`,
  );
  assert.deepEqual(await mixed(...many), [
    `amount: 1 of 1,500 messages had text there, first ${place(1_200)}, where the others had a number`,
  ]);
  const one = async (...values: string[]) =>
    (await mixed(...values.map((value) => `{"x":${value}}`))).map((text) =>
      text.replace(/ there.*where/, ""),
    );
  const time = '"2024-01-01T00:00:00Z"';
  assert.deepEqual(await one("1", "2", "true"), [
    "x: 1 of 3 messages had true or false the others had a number",
  ]);
  assert.deepEqual(await one(time, time, '"soon"'), ["x: 1 of 3 messages had text the others had a time"]);
  assert.deepEqual(await one("{}", "[]", "[]", "null"), [
    "x: 1 of 3 messages had an object the others had a list",
  ]);
  assert.deepEqual(await one('{"y":1}', '{"y":2}', '{"y":"a"}'), [
    "x.y: 1 of 3 messages had text the others had a number",
  ]);
  assert.deepEqual(await one('[{"y":1},{"y":2}]', '[{"y":1}]', '[{"y":"a"}]'), [
    "x.y: 1 of 3 messages had text the others had a number",
  ]);
  // Text that always was text, or that no number could hold, is no oddity.
  for (const plain of [['"a"', '"b"'], ['"soon"', '"a"'], ["null"], ["1".repeat(39)], ["1", "2.5"], [time]])
    assert.deepEqual(await one(...plain), [], plain.join());
});

test("a new field of a later batch says it, too, and what the table says already stays", async (t) => {
  const { encode } = await openWorkbench(t);
  const batch = ['{"id":1,"x":1}', '{"id":2,"x":2}', '{"id":3,"x":"a"}'];
  const first = await encode(batchOf(batch), planFor(struct({ id: "long" })));
  const schema = first.encoded.evolvedSchema!;
  const [found, ...others] = mixedColumns(schema);
  assert.match(found!.why, /^1 of 3 messages had text there/);
  assert.deepEqual([found!.column, others], ["x", []]);
  const later = await encode(batchOf(['{"id":4,"x":"b","z":1}']), planFor(struct({}), { schema }));
  assert.deepEqual(mixedColumns(later.encoded.evolvedSchema!), [found]);
});
