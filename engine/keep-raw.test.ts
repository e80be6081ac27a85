import assert from "node:assert/strict";
import { test } from "node:test";
import { isStruct } from "../delta/schema.ts";
import type { StructType } from "../delta/types.ts";
import { batchOf, openWorkbench, planFor, type ReadValue, struct } from "../test/support/encoder-fixture.ts";
import { kafkaField, withRawValue } from "./kafka-column.ts";

/** `_kafka.value` as it was read back, a character a byte. */
function rawOf(row: { _kafka?: ReadValue } | undefined): string | null {
  const { value } = row!._kafka as { value: string | null };
  return value?.replace(/\\x(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))) ?? null;
}
const kafkaNames = (schema: StructType | undefined) => {
  const type = schema?.fields.at(-1)?.type;
  return type && isStruct(type) ? type.fields.map(({ name }) => name) : [];
};

test("with keepRaw each row holds the bytes of its value, and a table without the place gets it", async (t) => {
  const bench = await openWorkbench(t);
  const values = ['{"id": 1 }', '{"id":2,"new":true}', '{\n"id":3}'];
  const { encoded, rows } = await bench.encode(
    batchOf(values),
    planFor(struct({ id: "long" }), { keepRaw: true }),
  );
  assert.deepEqual([...rows.values()].map(rawOf), values);
  assert.deepEqual(kafkaNames(encoded.evolvedSchema).slice(-2), ["generation", "value"]);
  assert.deepEqual(
    encoded.evolvedSchema?.fields.map(({ name }) => name),
    ["id", "new", "_kafka"],
  );
});

test("a table that has the place is left as it is, with and without keepRaw", async (t) => {
  const bench = await openWorkbench(t);
  const schema = withRawValue(planFor(struct({ id: "long" })).schema);
  for (const keepRaw of [true, false]) {
    const plan = { ...planFor(struct({})), schema, keepRaw };
    const { encoded, rows } = await bench.encode(batchOf(['{"id":1}']), plan);
    assert.equal(encoded.evolvedSchema, undefined);
    assert.equal(rawOf(rows.get(0)), keepRaw ? '{"id":1}' : null);
  }
});

test("the bytes are those of the message, whatever its format was made of it", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"id":1}', '{"id":2}', '{"id":3}'], (i) =>
    i === 0 ? {} : { original: i === 1 ? Buffer.from([65, 0, 255]) : null },
  );
  const { rows } = await bench.encode(batch, planFor(struct({ id: "long" }), { keepRaw: true }));
  assert.deepEqual(
    [0, 1, 2].map((i) => rawOf(rows.get(i))),
    ['{"id":1}', "A\0\xff", null],
  );
});

test("behind a transform the bytes are in _kafka, and the transform may read them", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ size: "long" }), {
    transform: "SELECT octet_length(_kafka.value) AS size, _kafka FROM messages",
    keepRaw: true,
  });
  const { encoded, rows } = await bench.encode(batchOf(['{"id":1}', '{"id":22}']), plan);
  assert.deepEqual(
    [...rows.values()].map((row) => [String(row.size), rawOf(row)]),
    [
      ["8", '{"id":1}'],
      ["9", '{"id":22}'],
    ],
  );
  assert.deepEqual(kafkaNames(encoded.evolvedSchema).at(-1), "value");
});

test("text and bytes keep their bytes, too", async (t) => {
  const bench = await openWorkbench(t);
  for (const [format, type] of [
    ["text", "string"],
    ["bytes", "binary"],
  ] as const) {
    const plan = planFor(struct({ key: type, value: type }), { format, keepRaw: true });
    const { rows } = await bench.encode(batchOf(["a", null]), plan);
    assert.deepEqual([...rows.values()].map(rawOf), ["a", null], format);
  }
});

test("halves of a batch that fails keep the bytes that came", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"id":1}', '{"id":2}'], (i) => ({
    original: Buffer.from(`raw ${i}`),
    ...(i === 1 ? { timestampMs: 1e300 } : {}),
  }));
  const { encoded, rows } = await bench.encode(batch, planFor(struct({ id: "long" }), { keepRaw: true }));
  assert.deepEqual(
    encoded.bad.map(({ code }) => code),
    ["BAD_TIMESTAMP"],
  );
  assert.equal(rawOf(rows.get(0)), "raw 0");
});

test("only a struct _kafka gets the place, once", () => {
  const schema: StructType = { type: "struct", fields: [kafkaField(true)] };
  assert.equal(withRawValue(schema), schema);
  const plain = struct({ a: "long" });
  assert.equal(withRawValue(plain), plain);
});
