import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "lossless-json";
import { sampleOf, samples, scalars, writerOf } from "./avro.fixture.ts";
import { planAvro } from "./avro-plan.ts";
import { parseAvroSchema } from "./avro-schema.ts";
import { createDecodeValue } from "./avro-value.ts";

const decodeValue = createDecodeValue();
const planOf = (schema: unknown) =>
  planAvro(parseAvroSchema({ text: JSON.stringify(schema), references: [] }));

function decode(schema: unknown, bytes: Uint8Array) {
  return decodeValue(bytes, 0, planOf(schema));
}

function jsonOf(schema: unknown, bytes: Uint8Array): string {
  const decoded = decode(schema, bytes);
  assert.ok("objects" in decoded, JSON.stringify(decoded));
  assert.equal(decoded.objects.length, 1);
  return Buffer.from(decoded.objects[0]!).toString("utf8");
}

function badOf(schema: unknown, bytes: Uint8Array) {
  const decoded = decode(schema, bytes);
  assert.ok("bad" in decoded, "bad" in decoded ? "" : Buffer.from(decoded.objects[0]!).toString());
  return decoded.bad;
}

const record = (...fields: unknown[]) => ({
  type: "record",
  name: "R",
  fields: fields.map((type, i) => ({ name: `f${i}`, type })),
});
/** A long as Avro writes it. */
const long = (value: bigint) => writerOf("long").toBuffer(value);

for (const [name, shapes] of scalars) {
  test(`every ${name} that another encoder writes is read back exactly`, () => {
    const made = shapes.chain(sampleOf);
    fc.assert(
      fc.property(made, ({ schema, bytes, check }) => {
        check((parse(jsonOf(schema, bytes)) as { value: unknown }).value);
      }),
    );
  });
}

test("records of any types that another encoder writes are read back exactly", () => {
  fc.assert(
    fc.property(samples, ({ schema, bytes, check }) => {
      check(parse(jsonOf(schema, bytes)));
    }),
    { numRuns: 150 },
  );
});

test("a message that ends early, or goes on, is a bad record wherever that is", () => {
  fc.assert(
    fc.property(samples, fc.nat(), ({ schema, bytes }, at) => {
      const plan = planOf(schema);
      const more = decodeValue(Buffer.concat([bytes, Buffer.alloc(1)]), 0, plan);
      assert.ok("bad" in more && more.bad.code === "MALFORMED_AVRO");
      if (bytes.length === 0) return;
      const less = decodeValue(bytes.subarray(0, at % bytes.length), 0, plan);
      assert.ok("bad" in less && less.bad.code === "MALFORMED_AVRO");
    }),
    { numRuns: 80 },
  );
});

test("no bytes make it throw, and what it takes for a value is JSON", () => {
  const damaged = fc.tuple(
    samples,
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }),
    fc.uint8Array(),
  );
  fc.assert(
    fc.property(damaged, ([{ schema, bytes }, changes, noise]) => {
      const plan = planOf(schema);
      for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
      for (const value of [bytes, noise]) {
        const decoded = decodeValue(value, 0, plan);
        if ("objects" in decoded) parse(Buffer.from(decoded.objects[0]!).toString("utf8"));
        else assert.match(decoded.bad.code, /^(MALFORMED_AVRO|INVALID_UTF8|NOT_FINITE|OUT_OF_RANGE)$/);
      }
    }),
    { numRuns: 100 },
  );
});

test("lengths and counts that the message cannot hold cost nothing", () => {
  const started = performance.now();
  for (const count of [2n ** 31n, 2n ** 40n, 2n ** 62n, -(2n ** 31n), -(2n ** 63n), 5_000_000n]) {
    for (const items of ["null", "int", record(), { type: "fixed", name: "F", size: 2 ** 30 }]) {
      const bytes = Buffer.concat([long(count), Buffer.alloc(20)]);
      assert.equal(badOf({ type: "array", items }, bytes).code, "MALFORMED_AVRO");
      assert.equal(badOf({ type: "map", values: items }, bytes).code, "MALFORMED_AVRO");
    }
    for (const type of ["string", "bytes", { type: "bytes", logicalType: "decimal", precision: 4, scale: 2 }])
      assert.equal(badOf(type, Buffer.concat([long(count), Buffer.alloc(20)])).code, "MALFORMED_AVRO");
  }
  assert.equal(badOf({ type: "fixed", name: "F", size: 2 ** 30 }, Buffer.alloc(9)).code, "MALFORMED_AVRO");
  assert.ok(performance.now() - started < 2000);
});

test("items without bytes are read up to ten thousand, however few bytes stand for them", () => {
  const nulls = { type: "array", items: "null" };
  const thousand = JSON.parse(jsonOf(nulls, Buffer.concat([long(1000n), long(0n)]))) as { value: null[] };
  assert.equal(thousand.value.length, 1000);
  const blocks = Buffer.concat([...Array.from({ length: 3 }, () => long(6000n)), long(0n)]);
  assert.match(badOf(nulls, blocks).message, /more than 10112 items without any bytes/);

  // More where there are bytes: each of these records has one.
  const items = { ...record("boolean", "null", record()), name: "S" };
  const many = Buffer.concat([long(50_000n), Buffer.alloc(50_000), long(0n)]);
  assert.equal(
    (JSON.parse(jsonOf({ type: "array", items }, many)) as { value: unknown[] }).value.length,
    50_000,
  );

  // Thirty types that each hold the next one twice: a billion of nothing.
  let doubled: unknown = { type: "record", name: "D0", fields: [] };
  for (let i = 1; i <= 30; i++)
    doubled = {
      type: "record",
      name: `D${i}`,
      fields: [
        { name: "a", type: doubled },
        { name: "b", type: `D${i - 1}` },
      ],
    };
  assert.match(badOf(doubled, Buffer.alloc(0)).message, /without any bytes/);
});

test("a value that holds itself is read down to 500 levels, and no deeper", () => {
  const schema = {
    type: "record",
    name: "Node",
    fields: [
      { name: "id", type: "int" },
      { name: "next", type: ["null", "Node"] },
    ],
  };
  const writer = writerOf(structuredClone(schema));
  const chain = (length: number): unknown =>
    length === 0 ? null : { Node: { id: length, next: chain(length - 1) } };
  const { next, ...rest } = JSON.parse(jsonOf(schema, writer.toBuffer({ id: 0, next: chain(3) }))) as {
    id: number;
    next: string;
  };
  assert.deepEqual(rest, { id: 0 });
  assert.deepEqual(JSON.parse(next), { id: 3, next: { id: 2, next: { id: 1, next: null } } });
  assert.ok(jsonOf(schema, writer.toBuffer({ id: 0, next: chain(498) })));
  const { code, message } = badOf(schema, writer.toBuffer({ id: 0, next: chain(500) }));
  assert.equal(code, "MALFORMED_AVRO");
  assert.match(message, /^next\.next\.[next.]+\.\.\.[next.]+: the value is nested deeper than 500 levels$/);
  // Bytes that always say "there is another one".
  assert.equal(badOf(schema, Buffer.alloc(1_000_000, 2)).code, "MALFORMED_AVRO");
});

test("what breaks the encoding is named with its place", () => {
  const string = (...bytes: number[]) => Buffer.from([bytes.length * 2, ...bytes]);
  const cases: [schema: unknown, bytes: Buffer, code: string, message: RegExp][] = [
    [record("int", "boolean"), Buffer.from([2, 2]), "MALFORMED_AVRO", /^f1: a boolean is 2, not 0 or 1$/],
    [
      record("int"),
      Buffer.from([255, 255, 255, 255, 31]),
      "MALFORMED_AVRO",
      /^f0: an int is longer than 32 bits$/,
    ],
    [record("long"), Buffer.alloc(11, 255), "MALFORMED_AVRO", /^f0: a number is longer than 64 bits$/],
    [record("string"), string(0xff), "INVALID_UTF8", /^f0: a string is not UTF-8 text$/],
    [record("string"), string(0x22, 0xed, 0xa0, 0x80), "INVALID_UTF8", /^f0: a string is not UTF-8 text$/],
    [
      { type: "map", values: "int" },
      Buffer.concat([long(1n), string(0xc0), long(1n)]),
      "INVALID_UTF8",
      /^value\{0\}: /,
    ],
    [record("string"), long(-1n), "MALFORMED_AVRO", /^f0: a length is -1$/],
    [record(["null", "int"]), long(2n), "MALFORMED_AVRO", /^f0: a union of 2 branches has number 2$/],
    [record(["null", "int"]), long(-1n), "MALFORMED_AVRO", /^f0: a union of 2 branches has number -1$/],
    [
      record({ type: "enum", name: "E", symbols: ["A"] }),
      long(1n),
      "MALFORMED_AVRO",
      /^f0: an enum of 1 symbols has number 1$/,
    ],
    [
      record({ type: "array", items: "boolean" }),
      Buffer.from([4, 1, 7, 0]),
      "MALFORMED_AVRO",
      /^f0\[1\]: a boolean is 7/,
    ],
    ["double", Buffer.from("000000000000f87f", "hex"), "NOT_FINITE", /^value: the value is NaN, /],
    ["float", Buffer.from("000080ff", "hex"), "NOT_FINITE", /^value: the value is -Infinity, /],
    [
      { type: "int", logicalType: "date" },
      long(3_000_000n),
      "OUT_OF_RANGE",
      /^value: 3000000 days since 1970 is outside/,
    ],
    [
      { type: "long", logicalType: "timestamp-micros" },
      long(-(2n ** 63n)),
      "OUT_OF_RANGE",
      /outside of the years 1 to 9999$/,
    ],
    [
      { type: "long", logicalType: "time-micros" },
      long(86_400_000_000n),
      "OUT_OF_RANGE",
      /is no time of day$/,
    ],
    [{ type: "int", logicalType: "time-millis" }, long(-1n), "OUT_OF_RANGE", /is no time of day$/],
    [
      { type: "bytes", logicalType: "decimal", precision: 4, scale: 2 },
      Buffer.from([20, 1, ...Buffer.alloc(9)]),
      "OUT_OF_RANGE",
      /does not fit decimal\(4,2\)$/,
    ],
    [
      { type: "bytes", logicalType: "decimal", precision: 4, scale: 2 },
      Buffer.from([0]),
      "MALFORMED_AVRO",
      /^value: a decimal has no bytes$/,
    ],
  ];
  for (const [schema, bytes, code, message] of cases) {
    const bad = badOf(schema, bytes);
    assert.equal(bad.code, code, bad.message);
    assert.match(bad.message, message);
    assert.equal(bad.stage, code === "OUT_OF_RANGE" ? "schema" : "decode");
  }
});

test("blocks that tell their size in bytes are read as others are", () => {
  const bytes = Buffer.concat([
    long(-2n),
    long(2n),
    Buffer.from([2, 4]),
    long(1n),
    Buffer.from([6]),
    long(0n),
  ]);
  assert.equal(jsonOf({ type: "array", items: "int" }, bytes), '{"value":[1,2,3]}');
});

test("doubled keys of a map stay in order, so that the last counts as it does in JSON", () => {
  const key = Buffer.from([2, 97]);
  const bytes = Buffer.concat([long(2n), key, Buffer.from([2]), key, Buffer.from([4]), long(0n)]);
  assert.equal(jsonOf({ type: "map", values: "int" }, bytes), '{"value":{"a":1,"a":2}}');
});

test("a uuid and a duration read as such", () => {
  const uuid = { type: "fixed", name: "U", size: 16, logicalType: "uuid" };
  assert.equal(
    jsonOf(uuid, Buffer.from("00112233445566778899aabbccddeeff", "hex")),
    '{"value":"00112233-4455-6677-8899-aabbccddeeff"}',
  );
  const duration = { type: "fixed", name: "D", size: 12, logicalType: "duration" };
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(14, 0);
  bytes.writeUInt32LE(2 ** 32 - 1, 4);
  bytes.writeUInt32LE(1005, 8);
  assert.equal(jsonOf(duration, bytes), '{"value":"P14M4294967295DT1.005S"}');
});

test("what a large message took is given back, and messages do not share bytes", () => {
  const large = writerOf("string").toBuffer("x".repeat(5_000_000));
  const plan = planOf("string");
  const first = decodeValue(large, 0, plan);
  const second = decodeValue(writerOf("string").toBuffer("y"), 0, plan);
  assert.ok("objects" in first && "objects" in second);
  assert.equal(first.objects[0]!.length, 5_000_012);
  assert.equal(Buffer.from(second.objects[0]!).toString(), '{"value":"y"}');
  assert.equal(first.objects[0]!.at(-3), "x".charCodeAt(0));
});

test("a message that would be too much JSON is a bad record", () => {
  const name = `n${"x".repeat(60_000)}`;
  const wide = { type: "array", items: { type: "record", name: "W", fields: [{ name, type: "boolean" }] } };
  const bytes = Buffer.concat([long(3000n), Buffer.alloc(3000), long(0n)]);
  assert.equal(badOf(wide, bytes).code, "TOO_LARGE");
});
