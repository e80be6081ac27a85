import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LosslessNumber } from "lossless-json";
import type { DataType } from "../delta/types.ts";
import {
  arrayOf,
  batchOf,
  mapOf,
  nullable,
  openWorkbench,
  planFor,
  type ReadValue,
  struct,
} from "../test/support/encoder-fixture.ts";

/** JSON text of a value, and what a column of the type holds afterwards (as DuckDB's to_json says), or the letter's code. */
type Case = readonly [json: string, outcome: { row: ReadValue } | { letter: string }];

const row = (value: ReadValue | number): { row: ReadValue } => ({
  row: typeof value === "number" ? new LosslessNumber(String(value)) : value,
});
const digits = (text: string): { row: ReadValue } => ({ row: new LosslessNumber(text) });
const letter = (code: string): { letter: string } => ({ letter: code });
const NULL: Case = ["null", { row: null }];
const WRONG = letter("WRONG_TYPE");

const CASES: Readonly<Record<string, readonly Case[]>> = {
  long: [
    NULL,
    ["0", row(0)],
    ["-0", row(0)],
    ["7", row(7)],
    ["1.0", row(1)],
    ["1e2", row(100)],
    ["12.5e1", row(125)],
    ["9007199254740993", digits("9007199254740993")],
    ["9223372036854775807", digits("9223372036854775807")],
    ["-9223372036854775808", digits("-9223372036854775808")],
    ["9223372036854775808", letter("OUT_OF_RANGE")],
    ["-9223372036854775809", letter("OUT_OF_RANGE")],
    ["1e400", letter("OUT_OF_RANGE")],
    ["1.7", letter("NOT_AN_INTEGER")],
    ["1e-2", letter("NOT_AN_INTEGER")],
    ['"12"', WRONG],
    ['""', WRONG],
    ["true", WRONG],
    ["{}", WRONG],
    ["[1]", WRONG],
    ["01", letter("MALFORMED_JSON")],
    ["+1", letter("MALFORMED_JSON")],
    ["1.", letter("MALFORMED_JSON")],
    [".5", letter("MALFORMED_JSON")],
    ["-", letter("MALFORMED_JSON")],
    ["NaN", letter("MALFORMED_JSON")],
    ["0x10", letter("MALFORMED_JSON")],
    ["nul", letter("MALFORMED_JSON")],
    ["1,", letter("MALFORMED_JSON")],
    ["", letter("MALFORMED_JSON")],
    ["1 /* one */", letter("MALFORMED_JSON")],
  ],
  integer: [
    NULL,
    ["2147483647", row(2147483647)],
    ["-2147483648", row(-2147483648)],
    ["2147483648", letter("OUT_OF_RANGE")],
  ],
  short: [NULL, ["32767", row(32767)], ["-32768", row(-32768)], ["32768", letter("OUT_OF_RANGE")]],
  byte: [NULL, ["127", row(127)], ["-128", row(-128)], ["128", letter("OUT_OF_RANGE")]],
  double: [
    NULL,
    ["1", digits("1.0")],
    ["-0.0", digits("-0.0")],
    ["0.1", row(0.1)],
    ["1e2", digits("100.0")],
    ["1.7976931348623157e308", digits("1.7976931348623157e308")],
    ["5e-324", digits("5e-324")],
    ["123456789012345678901234567890", digits("1.2345678901234568e29")],
    ["18446744073709551615", digits("1.8446744073709552e19")],
    ["1e400", letter("OUT_OF_RANGE")],
    ["-1e400", letter("OUT_OF_RANGE")],
    ['"1.5"', WRONG],
    ['"NaN"', WRONG],
    ["Infinity", letter("MALFORMED_JSON")],
    ["-Infinity", letter("MALFORMED_JSON")],
    ["inf", letter("MALFORMED_JSON")],
    ["nan", letter("MALFORMED_JSON")],
    ["false", WRONG],
  ],
  float: [
    NULL,
    ["1.5", row(1.5)],
    ["0.1", row(Math.fround(0.1))],
    ["3e38", row(Math.fround(3e38))],
    ["4e38", letter("OUT_OF_RANGE")],
  ],
  "decimal(10,2)": [
    NULL,
    ["0", digits("0.00")],
    ["12.5", digits("12.50")],
    ["-12.340", digits("-12.34")],
    ["99999999.99", digits("99999999.99")],
    ["1e3", digits("1000.00")],
    ["0.285", letter("OUT_OF_RANGE")],
    ["100000000", letter("OUT_OF_RANGE")],
    ['"1.5"', WRONG],
  ],
  "decimal(38,0)": [
    NULL,
    ["99999999999999999999999999999999999999", digits("99999999999999999999999999999999999999")],
    ["-12345678901234567890", digits("-12345678901234567890")],
    ["100000000000000000000000000000000000000", letter("OUT_OF_RANGE")],
  ],
  "decimal(38,18)": [
    NULL,
    ["12345678901234567890.123456789012345678", digits("12345678901234567890.123456789012345678")],
    ["0.000000000000000001", digits("0.000000000000000001")],
  ],
  boolean: [
    NULL,
    ["true", row(true)],
    ["false", row(false)],
    ['"true"', WRONG],
    ["1", WRONG],
    ["True", letter("MALFORMED_JSON")],
  ],
  string: [
    NULL,
    ['""', row("")],
    ['"a\\u0000b"', row("a\u0000b")],
    ['"\\ud83d\\ude00 \\" \\\\ \\/ \\b\\f\\n\\r\\t"', row('😀 " \\ / \b\f\n\r\t')],
    ['"größe\u2028"', row("größe\u2028")],
    ["5", row("5")],
    ["-0", row("-0")],
    ["1.50", row("1.50")],
    ["1e2", row("1e2")],
    ["12345678901234567890", row("12345678901234567890")],
    ["true", row("true")],
    ["{}", WRONG],
    ["[]", WRONG],
    ['"\\ud800"', letter("INVALID_UTF8")],
    ['"\\udc00\\ud800"', letter("INVALID_UTF8")],
    ['"\\x41"', letter("MALFORMED_JSON")],
    ['"\\u12g4"', letter("MALFORMED_JSON")],
    ['"a\nb"', letter("MALFORMED_JSON")],
    ['"a\tb"', letter("MALFORMED_JSON")],
    ['"a\u0001b"', letter("MALFORMED_JSON")],
    ['"open', letter("MALFORMED_JSON")],
    ["'a'", letter("MALFORMED_JSON")],
  ],
  timestamp: [
    NULL,
    ['"2024-02-29T23:59:59Z"', row("2024-02-29 23:59:59+00")],
    ['"2024-03-01T01:00:00.5+02:00"', row("2024-02-29 23:00:00.5+00")],
    ['"2024-03-01T01:00:00.123456-14:00"', row("2024-03-01 15:00:00.123456+00")],
    ['"2024-03-01 01:00:00z"', row("2024-03-01 01:00:00+00")],
    ['"2024-03-01T01:00+0130"', row("2024-02-29 23:30:00+00")],
    ['"2024-03-01T01:00:00.1234560Z"', row("2024-03-01 01:00:00.123456+00")],
    ['"1969-12-31T23:59:59.999999Z"', row("1969-12-31 23:59:59.999999+00")],
    ['"0001-01-01T00:00:00Z"', row("0001-01-01 00:00:00+00")],
    ['"9999-12-31T23:59:59.999999Z"', row("9999-12-31 23:59:59.999999+00")],
    ['"0001-01-01T00:00:00-01:00"', row("0001-01-01 01:00:00+00")],
    ['"0001-01-01T00:00:00+01:00"', letter("BAD_TIME")],
    ['"9999-12-31T23:30:00-01:00"', letter("BAD_TIME")],
    ['"2024-03-01T01:00:00.1234567Z"', letter("BAD_TIME")],
    ['"2024-03-01T01:00:00"', letter("BAD_TIME")],
    ['"2024-03-01"', letter("BAD_TIME")],
    ['"2023-02-29T00:00:00Z"', letter("BAD_TIME")],
    ['"2024-13-01T00:00:00Z"', letter("BAD_TIME")],
    ['"2024-03-01T24:00:00Z"', letter("BAD_TIME")],
    ['"2024-03-01T23:59:60Z"', letter("BAD_TIME")],
    ['"yesterday"', letter("BAD_TIME")],
    ['"infinity"', letter("BAD_TIME")],
    ['""', letter("BAD_TIME")],
    ["1709251200", WRONG],
  ],
  timestamp_ntz: [
    NULL,
    ['"2024-02-29T23:59:59.25"', row("2024-02-29 23:59:59.25")],
    ['"2024-02-29T23:59:59Z"', letter("BAD_TIME")],
  ],
  date: [
    NULL,
    ['"2024-02-29"', row("2024-02-29")],
    ['"2023-02-29"', letter("BAD_TIME")],
    ['"2024-2-9"', letter("BAD_TIME")],
    ['"2024-02-29T00:00:00Z"', letter("BAD_TIME")],
    ["20240229", WRONG],
  ],
  binary: [
    NULL,
    ['""', row("")],
    ['"AGH/"', row("\\x00a\\xFF")],
    ['"AGH"', letter("BAD_BASE64")],
    ["1", WRONG],
  ],
};

const leaves = Object.entries(CASES).flatMap(([type, cases]) =>
  cases.map(([json, outcome]) => ({ type: type as DataType, json, outcome })),
);

/** Equal as values: numbers by what they say, not by their digits. */
function assertSame(actual: ReadValue | undefined, expected: ReadValue, what: string): void {
  if (expected instanceof LosslessNumber) {
    assert.ok(actual instanceof LosslessNumber, `${what}: ${JSON.stringify(actual)} is no number`);
    const [left, right] = [actual.value, expected.value];
    if (/^-?\d+$/.test(right) || /^-?\d+$/.test(left)) assert.equal(left, right, what);
    else assert.ok(Object.is(Number(left), Number(right)), `${what}: ${left} is not ${right}`);
    return;
  }
  assert.deepEqual(actual, expected, what);
}

for (const [type, cases] of Object.entries(CASES)) {
  test(`${type}: each value is a row that holds it exactly, or a letter with its code`, async (t) => {
    const bench = await openWorkbench(t);
    const schema = struct({ id: "long", x: type as DataType });
    const batch = batchOf(cases.map(([json], i) => `{"id":${i},"x":${json}}`));
    const { encoded, rows } = await bench.encode(batch, planFor(schema));
    const letters = new Map(encoded.bad.map((bad) => [bad.index, bad]));
    cases.forEach(([json, outcome], i) => {
      if ("letter" in outcome) {
        assert.equal(letters.get(i)?.code, outcome.letter, json);
        if (letters.get(i)?.stage === "schema") assert.match(letters.get(i)!.message, /^x: /, json);
      } else {
        assert.equal(letters.get(i), undefined, json);
        assertSame(rows.get(i)?.x, outcome.row, json);
      }
    });
    assert.equal(encoded.evolvedSchema, undefined);
  });
}

test("wherever a value stands, alone or beside any others, it is a row exactly or a letter", async (t) => {
  const bench = await openWorkbench(t);
  const types = Object.keys(CASES) as DataType[];
  const name = (type: DataType) => `c_${String(type).replace(/\W/g, "_")}`;
  const inner = struct(Object.fromEntries(types.map((type) => [name(type), type])));
  const schema = struct({
    ...Object.fromEntries(types.map((type) => [name(type), type])),
    deep: struct({ er: inner }),
    list: arrayOf(inner),
    map: mapOf(inner),
  });
  type Leaf = (typeof leaves)[number];
  const space = fc.constantFrom("", "", "", " ", "\n", "\r\n\t ");
  const members = fc
    .uniqueArray(fc.constantFrom(...leaves), { selector: (leaf) => leaf.type, maxLength: 4 })
    .chain((some) => fc.tuple(fc.constant(some), fc.array(space, { minLength: 4, maxLength: 4 })));
  const print = ([some, gaps]: readonly [readonly Leaf[], readonly string[]]) =>
    `{${gaps[0]}${some
      .map((leaf) => `${gaps[1]}"${name(leaf.type)}"${gaps[2]}:${gaps[3]}${leaf.json}${gaps[1]}`)
      .join(",")}${gaps[2]}}`;
  const shape = fc.constantFrom("top", "deep", "list", "map");
  const message = fc.tuple(shape, members).map(([where, some]) => {
    const object = print(some);
    const json =
      where === "top"
        ? object
        : where === "deep"
          ? `{"deep":{"er":${object}}}`
          : where === "list"
            ? `{"list":[null,${object}]}`
            : `{"map":{"k":${object},"l":null}}`;
    return { where, some: some[0], json };
  });
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 60 }), async (messages) => {
      const batch = batchOf(messages.map(({ json }) => json));
      const { encoded, rows } = await bench.encode(batch, planFor(schema));
      const letters = new Map(encoded.bad.map((bad) => [bad.index, bad.code]));
      messages.forEach(({ where, some, json }, i) => {
        const codes = some.flatMap(({ outcome }) => ("letter" in outcome ? [outcome.letter] : []));
        if (codes.length > 0) {
          assert.ok(codes.includes(letters.get(i)!), `${json}: ${letters.get(i)}`);
          return;
        }
        const whole = rows.get(i) as { [key: string]: ReadValue } | undefined;
        assert.ok(whole, `${json}: ${letters.get(i)}`);
        const at = (value: ReadValue, key: string | number) => (value as Record<string, ReadValue>)[key]!;
        const object =
          where === "top"
            ? whole
            : where === "deep"
              ? at(whole.deep!, "er")
              : where === "list"
                ? at(whole.list!, 1)
                : at(whole.map!, "k");
        for (const { type, outcome } of some)
          assertSame(at(object, name(type)), "row" in outcome ? outcome.row : null, json);
      });
    }),
    { numRuns: 60 },
  );
});

test("any JSON object becomes rows whose inferred columns say what JSON.parse says", async (t) => {
  const bench = await openWorkbench(t);
  const key = fc.oneof(
    fc.constantFrom("a", "b", "c", "__proto__", "constructor", "x.y", 'q"q', "größe", "🦆"),
    fc.string({ maxLength: 4 }),
  );
  const value = fc.letrec<{ any: JsonLike }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.constantFrom("2024-01-01T00:00:00Z", "2024-01-01"),
      fc.array(tie("any") as fc.Arbitrary<JsonLike>, { maxLength: 3 }),
      fc.dictionary(key, tie("any") as fc.Arbitrary<JsonLike>, { maxKeys: 3 }),
    ),
  })).any;
  const object = fc.dictionary(key, value, { maxKeys: 4, minKeys: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(object, { minLength: 1, maxLength: 8 }), async (objects) => {
      const batch = batchOf(objects.map((each) => JSON.stringify(each)));
      const schema = await bench.encoder.inferSchema(batch, { format: "json" }, new AbortController().signal);
      const { encoded, rows } = await bench.encode(batch, planFor(schema ?? struct({})));
      for (const bad of encoded.bad)
        assert.ok(
          bad.code === "UNKNOWN_FIELD" || bad.code === "WRONG_TYPE" || bad.code === "INVALID_UTF8",
          bad.message,
        );
      for (const [i, row] of rows)
        for (const field of (encoded.evolvedSchema ?? schema ?? struct({})).fields)
          if (field.name !== "_kafka")
            assertLike(
              row[field.name],
              ownValue(objects[i]!, field.name),
              field.type,
              `${field.name} of message ${i}`,
            );
    }),
    { numRuns: 60 },
  );
});

type JsonLike = null | boolean | number | string | JsonLike[] | { [key: string]: JsonLike };

/** `__proto__` may be a field and is one only where the message has it. */
function ownValue(object: { [key: string]: JsonLike }, name: string): JsonLike {
  return Object.hasOwn(object, name) ? object[name]! : null;
}

/** What was read back for a column of `type` says what the message said. */
function assertLike(actual: ReadValue | undefined, said: JsonLike, type: DataType, what: string): void {
  if (said === null) {
    assert.equal(actual, null, what);
  } else if (type === "string") {
    assert.equal(actual, typeof said === "string" ? said : String(JSON.stringify(said)), what);
  } else if (type === "timestamp") {
    assert.equal(actual, "2024-01-01 00:00:00+00", what);
  } else if (typeof type === "string") {
    if (typeof said === "boolean") assert.equal(actual, said, what);
    else assert.equal(Number((actual as LosslessNumber).value), said === 0 ? 0 : said, what);
  } else if (type.type === "array") {
    const [read, wrote] = [actual as ReadValue[], said as JsonLike[]];
    assert.equal(read.length, wrote.length, what);
    for (const [i, element] of wrote.entries())
      assertLike(read[i], element, type.elementType, `${what}[${i}]`);
  } else if (type.type === "struct") {
    for (const field of type.fields) {
      const wrote = ownValue(said as { [key: string]: JsonLike }, field.name);
      assertLike(
        (actual as { [key: string]: ReadValue })[field.name],
        wrote,
        field.type,
        `${what}.${field.name}`,
      );
    }
  } else {
    assert.deepEqual(Object.keys(actual as object), Object.keys(said as object), what);
  }
}

test("a field that must not be null makes a letter where it is absent or null, at any depth", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ s: struct({}), l: { type: "array", elementType: "long", containsNull: false } });
  const required = { ...nullable("id", "long"), nullable: false };
  const deep = { type: "struct", fields: [required, nullable("x", "long")] } as const;
  const fields = [required, { ...schema.fields[0]!, type: deep }, schema.fields[1]!];
  const batch = batchOf([
    '{"id":1}',
    '{"id":1,"s":{"id":2}}',
    "{}",
    '{"id":null}',
    '{"id":1,"s":{}}',
    '{"id":1,"s":{"x":1}}',
    '{"id":1,"l":[1,null]}',
    '{"id":1,"s":null,"l":[]}',
  ]);
  const { encoded } = await bench.encode(batch, planFor({ type: "struct", fields }));
  assert.deepEqual(
    encoded.bad.map(({ index, code, message }) => [index, code, message.split(":")[0]]),
    [
      [2, "NULL_NOT_ALLOWED", "id"],
      [3, "NULL_NOT_ALLOWED", "id"],
      [4, "NULL_NOT_ALLOWED", "s.id"],
      [5, "NULL_NOT_ALLOWED", "s.id"],
      [6, "NULL_NOT_ALLOWED", "l[1]"],
    ],
  );
});
