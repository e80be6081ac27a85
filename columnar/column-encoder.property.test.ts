import { test } from "node:test";
import fc from "fast-check";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import { batchOf, openWorkbench, planFor, START_MS, withKafka } from "../test/support/encoder-fixture.ts";

/** JSON texts in many spellings, right and wrong ones, for a value of a type. */
type Texts = fc.Arbitrary<string>;

const DAY = fc.constantFrom(
  "0001-01-01",
  "1582-10-10",
  "1969-12-31",
  "2000-02-29",
  "2024-02-30",
  "9999-12-31",
);
const CLOCK = fc.constantFrom(
  "00:00:00",
  "23:59:59.999999",
  "12:30:01.5",
  "24:00:00",
  "12:00",
  "01:02:03.1234567",
);
const ZONE = fc.constantFrom("Z", "+02:00", "-14:00", "+00:59", "+0200", "", "z");
const DIGITS = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
const SMALL = fc.integer({ min: -300, max: 300 });
/** With a point somewhere in it. */
const pointed = (digits: string, at: number) => `${digits.slice(0, at)}.${digits.slice(at)}`;

const NUMBERS: Texts = fc.oneof(
  SMALL.map(String),
  DIGITS.map(String),
  fc
    .integer({ min: 0, max: 19 })
    .chain((power) => fc.constantFrom(1n, -1n).map((sign) => String(sign * 10n ** BigInt(power)))),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.tuple(SMALL, fc.nat(), fc.integer({ min: -30, max: 30 })).map(([a, b, e]) => `${a}.${b}e${e}`),
  fc.tuple(SMALL, fc.nat({ max: 99999 })).map(([a, b]) => `${a}.${b}`),
  fc.tuple(DIGITS, fc.integer({ min: 1, max: 18 })).map(([digits, at]) => pointed(String(digits), at)),
  fc.constantFrom(
    "0",
    "-0",
    "-0.0",
    "0.10",
    "1E2",
    "1e+2",
    "0e0",
    "1e400",
    "3.5e38",
    "1e-45",
    "5e-324",
    "9007199254740993",
    "0.1234567890123456789",
    "01",
    "-",
    ".5",
    "1.",
    "+1",
    "NaN",
  ),
  fc.constantFrom(
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "999999999999999999",
    "-100000000000000001",
    "127",
    "128",
    "-32769",
    "2147483648",
  ),
);
const TEXTS: Texts = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text)),
  fc.string({ unit: "binary", maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '""',
    '"\\u20ac \\ud83e\\udd86 \\/"',
    '"\\ud800"',
    '"\\u0000"',
    '"\\t\\b\\f\\n\\r"',
    '"\\x"',
    '"\\u12"',
    '"größe 🦆"',
    '"tab\t"',
    '"AAEC"',
    '"AA=="',
  ),
);
const TIMES: Texts = fc.oneof(
  fc.tuple(DAY, CLOCK, ZONE).map(([day, clock, zone]) => `"${day}T${clock}${zone}"`),
  fc
    .date({
      min: new Date("0001-01-02T00:00:00Z"),
      max: new Date("9999-12-30T00:00:00Z"),
      noInvalidDate: true,
    })
    .map((date) => `"${date.toISOString()}"`),
  fc
    .date({
      min: new Date("0001-01-02T00:00:00Z"),
      max: new Date("9999-12-30T00:00:00Z"),
      noInvalidDate: true,
    })
    .map((date) => `"${date.toISOString().slice(0, -1)}"`),
);
const DATES: Texts = fc.oneof(
  DAY.map((day) => `"${day}"`),
  fc
    .date({
      min: new Date("0001-01-02T00:00:00Z"),
      max: new Date("9999-12-30T00:00:00Z"),
      noInvalidDate: true,
    })
    .map((date) => `"${date.toISOString().slice(0, 10)}"`),
);
const BOOLEANS: Texts = fc.constantFrom("true", "false", "True", "tru");
const ANYTHING: Texts = fc.oneof(
  NUMBERS,
  TEXTS,
  TIMES,
  BOOLEANS,
  fc.constantFrom("{}", "[]", "[1]", '{"a":1}', "null"),
);

const WHOLE = ["byte", "short", "integer", "long"] as const;
const PRIMITIVES: readonly DataType[] = [
  "string",
  "boolean",
  "float",
  "double",
  "binary",
  "date",
  "timestamp",
  "timestamp_ntz",
  ...WHOLE,
  "decimal(9,2)",
  "decimal(18,0)",
  "decimal(2,2)",
  "decimal(38,10)",
  "decimal(38,0)",
  "void",
];

function textsOf(type: DataType): Texts {
  if (typeof type !== "string") {
    if (type.type === "array") return inBrackets("[", textsOf(type.elementType), "]");
    if (type.type === "map") {
      const names = fc.constantFrom('"k"', '"l"', '"größe"', '"a b"', '"\\u006b"', '""');
      return entries(fc.array(fc.tuple(names, mostly(textsOf(type.valueType))), { maxLength: 20 }));
    }
    return objectsOf(type);
  }
  if (type === "string" || type === "binary") return mostlyText(TEXTS);
  if (type === "boolean") return BOOLEANS;
  if (type === "date") return DATES;
  if (type.startsWith("timestamp")) return TIMES;
  return type === "void"
    ? fc.constant("null")
    : fc.oneof({ weight: 3, arbitrary: SMALL.map(String) }, NUMBERS);
}

const mostlyText = (texts: Texts): Texts => fc.oneof({ weight: 6, arbitrary: texts }, NUMBERS, BOOLEANS);
const mostly = (texts: Texts): Texts =>
  fc.oneof({ weight: 40, arbitrary: texts }, { weight: 6, arbitrary: fc.constant("null") }, ANYTHING);
const SPACE = fc.constantFrom("", "", "", " ", "\n", " \r\n\t");

function inBrackets(open: string, items: Texts, close: string): Texts {
  return fc
    .tuple(SPACE, fc.array(mostly(items), { maxLength: 5 }))
    .map(([space, all]) => `${open}${space}${all.join(`,${space}`)}${space}${close}`);
}

function entries(pairs: fc.Arbitrary<readonly (readonly [string, string])[]>): Texts {
  return fc
    .tuple(SPACE, pairs)
    .map(
      ([space, all]) =>
        `{${space}${all.map(([name, value]) => `${name}${space}:${space}${value}`).join(`${space},`)}${space}}`,
    );
}

function objectsOf(type: StructType): Texts {
  const members = type.fields.map((field) =>
    fc.option(fc.tuple(fc.constant(JSON.stringify(field.name)), mostly(textsOf(field.type))), { freq: 9 }),
  );
  const unknown = fc.option(
    fc.tuple(fc.constantFrom('"new"', '"NEW"', '"_kafka"', '"\\u0061"', '"a"', '"b c"'), ANYTHING),
    { freq: 12, nil: null },
  );
  const all = fc.tuple(
    fc.tuple(...members),
    fc.oneof({ weight: 30, arbitrary: fc.constant(null) }, unknown),
    fc.boolean(),
  );
  return entries(
    all.map(([known, other, isReversed]) => {
      const pairs = [...known, other].filter((pair) => pair !== null);
      return isReversed ? pairs.reverse() : pairs;
    }),
  );
}

const TYPES = fc.letrec<{ type: DataType; fields: StructField[] }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 5, arbitrary: fc.constantFrom(...PRIMITIVES.filter((type) => type !== "void")) },
    fc.record({ type: fc.constant("array" as const), elementType: tie("type"), containsNull: fc.boolean() }),
    fc.record({
      type: fc.constant("map" as const),
      keyType: fc.constant("string" as const),
      valueType: tie("type"),
      valueContainsNull: fc.boolean(),
    }),
    fc.record({ type: fc.constant("struct" as const), fields: tie("fields") }),
  ),
  fields: fc
    .array(fc.tuple(tie("type"), fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 4 })
    .map((all) =>
      all.map(([type, a, b], i): StructField => ({ name: "abcd"[i]!, type, nullable: a || b, metadata: {} })),
    ),
}));

/** Columns to part rows by: text, whole numbers, booleans and times that may lack. */
const PARTITION = fc.constantFrom<DataType>("string", "long", "boolean", "date", "timestamp", "decimal(9,2)");

const PLANS = fc
  .tuple(TYPES.fields, fc.option(PARTITION), fc.subarray(["date", "hour"] as const), fc.boolean())
  .map(([fields, partition, derived, keepRaw]) => {
    const nullable = (name: string, type: DataType): StructField => ({
      name,
      type,
      nullable: true,
      metadata: {},
    });
    const parts = [
      ...(partition === null ? [] : [nullable("part", partition)]),
      ...derived.map((name) => nullable(name, "string")),
    ];
    const schema: StructType = { type: "struct", fields: [...fields, nullable("nothing", "void"), ...parts] };
    return {
      schema,
      partitionColumns: parts.map(({ name }) => name),
      derived: derived.map((kind) => ({ kind, column: kind })),
      keepRaw,
    };
  });

/** A message of the schema, sometimes cut, doubled, or with a byte changed. */
function messagesOf(schema: StructType): fc.Arbitrary<string | Uint8Array | null> {
  const whole = objectsOf(schema);
  return fc.oneof(
    { weight: 20, arbitrary: whole },
    fc.tuple(whole, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
    fc.tuple(whole, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([text, at, byte]) => {
      const bytes = Buffer.from(text);
      bytes[at % bytes.length] = byte;
      return bytes;
    }),
    fc.constantFrom(null, "", "[]", "{}", "{}{}"),
  );
}

const ORIGINS = fc.record({
  partition: fc.integer({ min: 0, max: 2 }),
  timestampMs: fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 0, max: 10_000_000 }).map((ms) => START_MS + ms) },
    fc.constantFrom(-1, 0, 253_402_300_799_999, -62_135_596_800_000, 9_007_199_254_740_991, 9.3e15),
  ),
  timestampType: fc.constantFrom("create" as const, "append" as const),
  generation: fc.integer({ min: 0, max: 2 }),
  key: fc.option(fc.uint8Array({ maxLength: 5 })),
  headers: fc.array(fc.tuple(fc.string({ maxLength: 4 }), fc.option(fc.uint8Array({ maxLength: 4 }))), {
    maxLength: 3,
  }),
});

test("whatever messages of whatever schema become, it is what DuckDB makes of them", async (t) => {
  const bench = await openWorkbench(t, { threads: 1 });
  const cases = PLANS.chain((plan) =>
    fc.record({
      plan: fc.constant(plan),
      onUnknownField: fc.constantFrom("add" as const, "ignore" as const, "deadletter" as const),
      messages: fc.array(fc.tuple(messagesOf(plan.schema), ORIGINS), { minLength: 1, maxLength: 30 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(cases, async ({ plan, onUnknownField, messages }) => {
      const batch = batchOf(
        messages.map(([value]) => value),
        (i) => messages[i]![1],
      );
      await bench.encode(
        batch,
        planFor(plan.schema, { ...plan, schema: withKafka(plan.schema), onUnknownField }),
      );
    }),
    { numRuns: Number(process.env.RUNS ?? 150) },
  );
});
