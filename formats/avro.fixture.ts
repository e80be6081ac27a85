/** For tests: schemas with values that avsc writes, and what the JSON of each must say, worked out without the code under test. */

import assert from "node:assert/strict";
import avsc from "avsc";
import fc from "fast-check";
import { isLosslessNumber } from "lossless-json";

/** What a value must have become; `json` is read by a parser that keeps digits. */
export type Check = (json: unknown) => void;
type Valued = { value: unknown; check: Check };

/** A type and how to make values of it. Names of named types are given out per schema. */
export type Shape = { schema: (name: () => string) => unknown; valued: fc.Arbitrary<Valued> };

export type Sample = { schema: unknown; bytes: Buffer; check: Check };

/** avsc's longs are exact up to 2^53 only. */
const exactLong = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer(value: bigint) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: (value: string) => BigInt(value),
  toJSON: (value: bigint) => Number(value),
  isValid: (value: unknown) => typeof value === "bigint",
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
});

/** A writer for a schema: unions are `{branch: value}`, longs are bigints. */
export function writerOf(schema: unknown): avsc.Type {
  return avsc.Type.forSchema(schema as avsc.Schema, {
    wrapUnions: true,
    typeHook: (part) =>
      part === "long" || (part as { type?: unknown }).type === "long" ? exactLong : undefined,
  });
}

const equals = (expected: unknown) => (json: unknown) => assert.deepEqual(json, expected);

/** A JSON number; its digits. */
function digits(json: unknown): string {
  assert.ok(isLosslessNumber(json), `${String(json)} is no number`);
  return json.value;
}

function shape<T>(schema: unknown, values: fc.Arbitrary<T>, encode: (v: T) => Valued): Shape {
  return { schema: () => schema, valued: values.map(encode) };
}

const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const near2To53 = fc.bigInt({ min: 2n ** 52n - 300n, max: 2n ** 53n + 300n });
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");
const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const millis = fc.integer({ min: FIRST_MS, max: LAST_MS });
const sub = fc.integer({ min: 0, max: 999 });

const number = (value: number) => ({
  value,
  check: (json: unknown) => assert.ok(Object.is(Number(digits(json)), value), `${digits(json)} for ${value}`),
});

/** Two's complement, with `padding` bytes more than it takes. */
function bigEndian(value: bigint, padding: number): Buffer {
  let size = 1;
  while (BigInt.asIntN(size * 8, value) !== value) size++;
  size += padding;
  return Buffer.from(
    BigInt.asUintN(size * 8, value)
      .toString(16)
      .padStart(size * 2, "0"),
    "hex",
  );
}

const decimal = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 60 })).chain(([a, b]) => {
  const [precision, scale] = [Math.max(a, b), Math.min(a, b)];
  const most = 10n ** BigInt(precision) - 1n;
  return fc.constant({
    schema: () => ({ type: "bytes", logicalType: "decimal", precision, scale }),
    valued: fc.tuple(fc.bigInt({ min: -most, max: most }), fc.integer({ min: 0, max: 20 })).map(
      ([unscaled, padding]): Valued => ({
        value: bigEndian(unscaled, padding),
        check(json) {
          const text = precision > 38 ? (json as string) : digits(json);
          assert.equal(BigInt(text.replace(".", "")), unscaled);
          assert.equal(text.split(".")[1]?.length ?? 0, scale);
        },
      }),
    ),
  });
});

export const scalars: readonly (readonly [name: string, fc.Arbitrary<Shape>])[] = (
  [
    ["boolean", shape("boolean", fc.boolean(), (value) => ({ value, check: equals(value) }))],
    [
      "int",
      shape("int", int, (value) => ({ value, check: (json) => assert.equal(digits(json), `${value}`) })),
    ],
    [
      "long",
      shape("long", fc.oneof(long, near2To53), (value) => ({
        value,
        check: (json) => assert.equal(digits(json), `${value}`),
      })),
    ],
    ["float", shape("float", fc.float({ noNaN: true, noDefaultInfinity: true }), number)],
    ["double", shape("double", fc.double({ noNaN: true, noDefaultInfinity: true }), number)],
    [
      "string",
      shape("string", fc.string({ unit: "binary", maxLength: 40 }), (value) => ({
        value,
        check: equals(value),
      })),
    ],
    [
      "bytes",
      shape("bytes", fc.uint8Array({ maxLength: 40 }), (bytes) => ({
        value: Buffer.from(bytes),
        check: equals(Buffer.from(bytes).toString("base64")),
      })),
    ],
    [
      "date",
      shape({ type: "int", logicalType: "date" }, millis, (ms) => {
        const days = Math.floor(ms / 86_400_000);
        return { value: days, check: equals(new Date(days * 86_400_000).toISOString().slice(0, 10)) };
      }),
    ],
    [
      "timestamp-millis",
      shape({ type: "long", logicalType: "timestamp-millis" }, millis, (ms) => ({
        value: BigInt(ms),
        check: equals(new Date(ms).toISOString()),
      })),
    ],
    [
      "timestamp-micros",
      shape({ type: "long", logicalType: "timestamp-micros" }, fc.tuple(millis, sub), ([ms, us]) => ({
        value: BigInt(ms) * 1000n + BigInt(us),
        check: equals(`${new Date(ms).toISOString().slice(0, -1)}${String(us).padStart(3, "0")}Z`),
      })),
    ],
    [
      "local-timestamp-micros",
      shape({ type: "long", logicalType: "local-timestamp-micros" }, fc.tuple(millis, sub), ([ms, us]) => ({
        value: BigInt(ms) * 1000n + BigInt(us),
        check: equals(`${new Date(ms).toISOString().slice(0, -1)}${String(us).padStart(3, "0")}`),
      })),
    ],
    [
      "timestamp-nanos",
      shape({ type: "long", logicalType: "timestamp-nanos" }, long, (nanos) => ({
        value: nanos,
        check(json) {
          const text = json as string;
          assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
          const seconds = BigInt(Date.parse(`${text.slice(0, 19)}Z`)) * 1_000_000n;
          assert.equal(seconds + BigInt(text.slice(20, 29)), nanos);
        },
      })),
    ],
    [
      "time-micros",
      shape(
        { type: "long", logicalType: "time-micros" },
        fc.integer({ min: 0, max: 86_399_999_999 }),
        (us) => ({
          value: BigInt(us),
          check: equals(
            `${new Date(Math.floor(us / 1000)).toISOString().slice(11, 23)}${String(us % 1000).padStart(3, "0")}`,
          ),
        }),
      ),
    ],
  ] as const
).map(([name, made]) => [name, fc.constant(made)] as const);

const named: readonly (readonly [name: string, fc.Arbitrary<Shape>])[] = [
  ["decimal", decimal],
  [
    "enum",
    fc.integer({ min: 1, max: 5 }).map((count) => ({
      schema: (name) => ({
        type: "enum",
        name: name(),
        symbols: Array.from({ length: count }, (_, i) => `S${i}`),
      }),
      valued: fc.integer({ min: 0, max: count - 1 }).map((i) => ({ value: `S${i}`, check: equals(`S${i}`) })),
    })),
  ],
  [
    "fixed",
    fc.integer({ min: 1, max: 20 }).map((size) => ({
      schema: (name) => ({ type: "fixed", name: name(), size }),
      valued: fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => ({
        value: Buffer.from(bytes),
        check: equals(Buffer.from(bytes).toString("base64")),
      })),
    })),
  ],
];

const nullValued: Valued = { value: null, check: equals(null) };
const scalar = fc.oneof(...[...scalars, ...named].map(([, arbitrary]) => arbitrary));

const { any } = fc.letrec<{ any: Shape }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    scalar,
    arrayOf(tie("any")),
    mapOf(tie("any")),
    recordOf(tie("any")),
    nullableOf(scalar),
  ),
}));

/** Any record, of any types. */
export const records: fc.Arbitrary<Shape> = recordOf(any);

/** A schema and one message of it. */
export const samples: fc.Arbitrary<Sample> = records.chain(sampleOf);

export function sampleOf(made: Shape): fc.Arbitrary<Sample> {
  let names = 0;
  const schema = made.schema(() => `N${names++}`);
  const writer = writerOf(structuredClone(schema));
  return made.valued.map(({ value, check }) => ({
    schema,
    bytes: writer.toBuffer(value),
    check,
  }));
}

function arrayOf(items: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> {
  return items.map((item) => ({
    schema: (name) => ({ type: "array", items: item.schema(name) }),
    valued: fc.array(item.valued, { maxLength: 4 }).map((all) => ({
      value: all.map(({ value }) => value),
      check(json) {
        assert.equal((json as unknown[]).length, all.length);
        all.forEach(({ check }, i) => {
          check((json as unknown[])[i]);
        });
      },
    })),
  }));
}

function mapOf(values: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> {
  return values.map((inner) => ({
    schema: (name) => ({ type: "map", values: inner.schema(name) }),
    valued: fc.dictionary(fc.string({ maxLength: 8 }), inner.valued, { maxKeys: 4 }).map(checkedObject),
  }));
}

function recordOf(types: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> {
  return fc.array(types, { minLength: 1, maxLength: 5 }).map((fields) => ({
    schema: (name) => ({
      type: "record",
      name: name(),
      fields: fields.map((field, i) => ({ name: `f${i}`, type: field.schema(name) })),
    }),
    valued: fc
      .record(Object.fromEntries(fields.map((field, i) => [`f${i}`, field.valued])))
      .map((members) => checkedObject(members)),
  }));
}

function checkedObject(members: Readonly<Record<string, Valued>>): Valued {
  const entries = Object.entries(members);
  return {
    value: Object.fromEntries(entries.map(([key, { value }]) => [key, value])),
    check(json) {
      assert.deepEqual(Object.keys(json as object).sort(), entries.map(([key]) => key).sort());
      for (const [key, { check }] of entries) check((json as Record<string, unknown>)[key]);
    },
  };
}

function nullableOf(types: fc.Arbitrary<Shape>): fc.Arbitrary<Shape> {
  return types.map((inner) => {
    let branch = "";
    return {
      schema(name) {
        const schema = inner.schema(name);
        const { type, name: own } = schema as { type?: string; name?: string };
        branch = typeof schema === "string" ? schema : (own ?? type!);
        return ["null", schema];
      },
      valued: fc
        .option(inner.valued)
        .map((valued) =>
          valued === null ? nullValued : { value: { [branch]: valued.value }, check: valued.check },
        ),
    };
  });
}
