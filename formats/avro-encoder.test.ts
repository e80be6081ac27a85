import assert from "node:assert/strict";
import { test } from "node:test";
import { batchOf, openWorkbench, planFor, struct } from "../test/support/encoder-fixture.ts";
import { writerOf } from "./avro.fixture.ts";
import { planAvro } from "./avro-plan.ts";
import { parseAvroSchema } from "./avro-schema.ts";
import { createDecodeValue } from "./avro-value.ts";

test("the encoder writes every type into the columns that the schema promises", async (t) => {
  const schema = {
    type: "record",
    name: "All",
    fields: [
      { name: "i", type: "int" },
      { name: "l", type: "long" },
      { name: "f", type: "float" },
      { name: "d", type: "double" },
      { name: "neg0", type: "double" },
      { name: "huge", type: "double" },
      { name: "b", type: "boolean" },
      { name: "s", type: "string" },
      { name: "y", type: "bytes" },
      { name: "dec", type: { type: "bytes", logicalType: "decimal", precision: 38, scale: 4 } },
      { name: "bigdec", type: { type: "bytes", logicalType: "decimal", precision: 60, scale: 3 } },
      { name: "day", type: { type: "int", logicalType: "date" } },
      { name: "ms", type: { type: "long", logicalType: "timestamp-millis" } },
      { name: "us", type: { type: "long", logicalType: "timestamp-micros" } },
      { name: "local", type: { type: "long", logicalType: "local-timestamp-micros" } },
      { name: "e", type: { type: "enum", name: "E", symbols: ["A", "B"] } },
      { name: "arr", type: { type: "array", items: ["null", "long"] } },
      { name: "map", type: { type: "map", values: "bytes" } },
      { name: "u", type: ["null", "int", "string"] },
      {
        name: "rec",
        type: {
          type: "record",
          name: "Inner",
          fields: [
            { name: "self", type: ["null", "Inner"] },
            { name: "no", type: { type: "record", name: "Empty", fields: [] } },
          ],
        },
      },
      { name: "nul", type: "null" },
    ],
  };
  const { object, columns } = decodedAs(schema, {
    i: -(2 ** 31),
    l: 2n ** 63n - 1n,
    f: Math.fround(0.1),
    d: 5e-324,
    neg0: -0,
    huge: 2 ** 70,
    b: true,
    s: 'é"\\\u0001\u2028😀',
    y: Buffer.from([0, 255]),
    dec: Buffer.from("4b3b4ca85a86c47a098a223fffffffff", "hex"), // 10^38 - 1
    bigdec: Buffer.concat([Buffer.from([1]), Buffer.alloc(20)]), // 2^160
    day: -719162,
    ms: -62135596800000n,
    us: 253402300799999999n,
    local: -1n,
    e: "B",
    arr: [null, { long: -(2n ** 63n) }],
    map: { k: Buffer.from("v") },
    u: { string: "x" },
    rec: { self: { Inner: { self: null, no: {} } }, no: {} },
    nul: null,
  });
  const bench = await openWorkbench(t);
  const { encoded, rows } = await bench.encode(batchOf([object]), planFor(columns));
  assert.deepEqual(encoded.bad, []);
  assert.equal(encoded.evolvedSchema, undefined, "no column was missing");
  const { _kafka, ...row } = rows.get(0)!;
  const digits = JSON.parse(
    JSON.stringify(row, (_, value) => (value?.isLosslessNumber ? `#${value.value}` : value)),
  );
  assert.deepEqual(digits, {
    i: "#-2147483648",
    l: "#9223372036854775807",
    f: `#${Math.fround(0.1)}`,
    d: "#5e-324",
    neg0: "#-0.0",
    huge: "#1.1805916207174113e21",
    b: true,
    s: 'é"\\\u0001\u2028😀',
    y: "\\x00\\xFF",
    dec: "#9999999999999999999999999999999999.9999",
    bigdec: "1461501637330902918203684832716283019655932542.976",
    day: "0001-01-01",
    ms: "0001-01-01 00:00:00+00",
    us: "9999-12-31 23:59:59.999999+00",
    local: "1969-12-31T23:59:59.999999",
    e: "B",
    arr: [null, "#-9223372036854775808"],
    map: { k: "v" },
    u: { int: null, string: "x" },
    rec: { self: '{"self":null,"no":{}}', no: {} },
    nul: null,
  });
});

test("times that no new table has a column for fit one that another writer made", async (t) => {
  const time = (logicalType: string) => ({ type: "long", logicalType });
  const schema = {
    type: "record",
    name: "Times",
    fields: [
      { name: "local", type: time("local-timestamp-millis") },
      { name: "nanos", type: time("timestamp-nanos") },
    ],
  };
  const write = (local: bigint, nanos: bigint) => decodedAs(schema, { local, nanos }).object;
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ local: "timestamp_ntz", nanos: "timestamp" }));
  const { encoded, rows } = await bench.encode(batchOf([write(1500n, 1_000n), write(1500n, 1_001n)]), plan);
  const { _kafka, ...row } = rows.get(0)!;
  assert.deepEqual(row, { local: "1970-01-01 00:00:01.5", nanos: "1970-01-01 00:00:00.000001+00" });
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => [index, code]),
    [[1, "BAD_TIME"]],
  );
});

test("fields that cannot be columns make letters, not other columns", async (t) => {
  const fields = (...names: string[]) => ({
    type: "record",
    name: "R",
    fields: names.map((name) => ({ name, type: "int" })),
  });
  const twins = decodedAs(fields("id", "ID"), { id: 1, ID: 2 });
  const reserved = decodedAs(fields("id", "_kafka"), { id: 1, _kafka: 2 });
  const bench = await openWorkbench(t);
  const { encoded } = await bench.encode(batchOf([twins.object, reserved.object]), planFor(twins.columns));
  assert.deepEqual(
    encoded.bad.map(({ code }) => code),
    ["UNKNOWN_FIELD", "RESERVED_FIELD"],
  );
});

function decodedAs(schema: unknown, value: unknown) {
  const plan = planAvro(parseAvroSchema({ text: JSON.stringify(schema), references: [] }));
  const decoded = createDecodeValue()(writerOf(structuredClone(schema)).toBuffer(value), 0, plan);
  assert.ok("objects" in decoded, JSON.stringify(decoded));
  return { object: decoded.objects[0]!, columns: plan.columns };
}
