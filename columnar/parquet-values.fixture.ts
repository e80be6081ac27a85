/** For tests: random schemas and rows for the Parquet writer, and the same rows as a table of DuckDB. */

import fc from "fast-check";
import { decimalOf } from "../delta/schema.ts";
import type { DataType, PrimitiveType, StructField, StructType } from "../delta/types.ts";
import { type Engine, quoteName } from "../engine/instance.ts";
import { sqlType } from "../engine/sql-types.ts";
import type { Row, Value } from "./parquet-vectors.fixture.ts";

export const field = (name: string, type: DataType, isNullable = true): StructField => ({
  name,
  type,
  nullable: isNullable,
  metadata: {},
});

export const struct = (...fields: StructField[]): StructType => ({ type: "struct", fields });

/** Makes table `name`, with the rows in their order. */
export async function createTableOf(
  engine: Engine,
  name: string,
  schema: StructType,
  rows: readonly Row[],
): Promise<void> {
  const columns = schema.fields.map((each) => `${quoteName(each.name)} ${sqlType(each.type)}`);
  await engine.run(`CREATE OR REPLACE TABLE ${name} (${columns.join(", ")})`);
  // One statement with all of them would take longer to plan than to run.
  for (let at = 0; at < rows.length; at += 100) {
    const tuples = rows
      .slice(at, at + 100)
      .map((row) => `(${schema.fields.map((f) => sqlValue(f.type, row[f.name])).join(", ")})`);
    await engine.run(`INSERT INTO ${name} VALUES ${tuples.join(",\n")}`);
  }
}

/** A value as an expression of DuckDB, exact. */
function sqlValue(type: DataType, value: Value): string {
  const sql = sqlType(type);
  if (value === null || value === undefined) return `NULL::${sql}`;
  if (typeof type !== "string") {
    if (type.type === "struct") {
      const row = value as Row;
      const fields = type.fields.map((f) => `${quoteName(f.name)} := ${sqlValue(f.type, row[f.name])}`);
      return `struct_pack(${fields.join(", ")})`;
    }
    const items = value as readonly Value[];
    if (type.type === "array")
      return `[${items.map((item) => sqlValue(type.elementType, item)).join(", ")}]::${sql}`;
    const pairs = items as readonly (readonly [Value, Value])[];
    const keys = pairs.map(([key]) => sqlValue(type.keyType, key)).join(", ");
    const values = pairs.map(([, mapped]) => sqlValue(type.valueType, mapped)).join(", ");
    return `MAP([${keys}]::${sqlType(type.keyType)}[], [${values}]::${sqlType(type.valueType)}[])`;
  }
  const hex = () => `from_hex('${Buffer.from(value as string).toString("hex")}')`;
  const decimal = decimalOf(type);
  if (decimal) return `'${unscaled(value as bigint | number, decimal.scale)}'::${sql}`;
  switch (type) {
    case "string":
      return `decode(${hex()})`;
    case "binary":
      return hex();
    case "date":
      return `(DATE '1970-01-01' + ${value}::INTEGER)`;
    case "timestamp":
      return `make_timestamptz(${value}::BIGINT)`;
    case "timestamp_ntz":
      return `make_timestamp(${value}::BIGINT)`;
    default:
      return `'${Object.is(value, -0) ? "-0.0" : value}'::${sql}`;
  }
}

function unscaled(value: bigint | number, scale: number): string {
  const digits = String(value)
    .replace("-", "")
    .padStart(scale + 1, "0");
  const sign = value < 0 ? "-" : "";
  return `${sign}${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}`;
}

const DAY_MICROS = 86_400_000_000n;
/** 0001-01-01 to 9999-12-31, in days. */
const [FIRST_DAY, LAST_DAY] = [-719_162, 2_932_896];

const times = fc.bigInt({ min: BigInt(FIRST_DAY) * DAY_MICROS, max: BigInt(LAST_DAY) * DAY_MICROS });
const whole = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 });

/** Values of each type; few different ones as often as many. */
const PRIMITIVES: Readonly<Partial<Record<PrimitiveType, fc.Arbitrary<Value>>>> = {
  boolean: fc.boolean(),
  byte: whole(8),
  short: whole(16),
  integer: fc.oneof(whole(32), fc.integer({ min: 0, max: 3 })),
  long: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.bigInt({ min: 0n, max: 5n }),
    fc.bigInt({ min: -(2n ** 40n), max: 2n ** 40n }),
  ),
  float: fc.oneof(fc.float(), fc.constantFrom(0, -0, 1.5)),
  double: fc.oneof(fc.double(), fc.constantFrom(0, -0, 1.5)),
  string: fc.oneof(
    fc.string({ unit: "binary", maxLength: 70 }).filter((text) => !/\p{Surrogate}/u.test(text)),
    fc.constantFrom("", "a", "größe", "a".repeat(300), `${"b".repeat(80)}\u{10FFFF}`),
  ),
  binary: fc.uint8Array({ maxLength: 40 }),
  date: fc.integer({ min: FIRST_DAY, max: LAST_DAY }),
  timestamp: times,
  timestamp_ntz: times,
  "decimal(9,2)": fc.integer({ min: -999_999_999, max: 999_999_999 }).map(BigInt),
  "decimal(18,0)": fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }),
  "decimal(38,10)": fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }),
};

const primitive = fc.constantFrom(...(Object.keys(PRIMITIVES) as PrimitiveType[]));
/** Keys are unlike each other also where engines find floats alike. */
const key = fc.constantFrom<PrimitiveType>("string", "long", "date", "integer");

const { type: types } = fc.letrec<{ type: DataType }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: primitive },
    fc
      .record({ elementType: tie("type"), containsNull: fc.boolean() })
      .map((array): DataType => ({ type: "array", ...array })),
    fc
      .record({ keyType: key, valueType: tie("type"), valueContainsNull: fc.boolean() })
      .map((map): DataType => ({ type: "map", ...map })),
    fields(tie("type")).map((all): DataType => struct(...all)),
  ),
}));

function fields(type: fc.Arbitrary<DataType>): fc.Arbitrary<StructField[]> {
  return fc
    .array(fc.tuple(type, fc.boolean()), { minLength: 1, maxLength: 4 })
    .map((all) => all.map(([of, isNullable], i) => field(`c${i}`, of, isNullable)));
}

function valuesOf(type: DataType, isNullable: boolean): fc.Arbitrary<Value> {
  return isNullable ? fc.option(present(type), { freq: 4 }) : present(type);
}

function present(type: DataType): fc.Arbitrary<Value> {
  if (typeof type === "string") return PRIMITIVES[type]!;
  if (type.type === "struct") return rowOf(type);
  if (type.type === "array") return fc.array(valuesOf(type.elementType, type.containsNull), { maxLength: 5 });
  const pair = fc.tuple(present(type.keyType), valuesOf(type.valueType, type.valueContainsNull));
  return fc.uniqueArray(pair, { maxLength: 4, selector: ([of]) => String(of) });
}

function rowOf(schema: StructType): fc.Arbitrary<Row> {
  return fc.record(
    Object.fromEntries(schema.fields.map(({ name, type, nullable }) => [name, valuesOf(type, nullable)])),
  );
}

/** A schema and 1 to `most` rows of it. */
export function tables(most: number): fc.Arbitrary<{ schema: StructType; rows: Row[] }> {
  return fields(types).chain((all) => {
    const schema = struct(...all);
    return fc.record({
      schema: fc.constant(schema),
      rows: fc.array(rowOf(schema), { minLength: 1, maxLength: most }),
    });
  });
}

/** Every type, flat and nested, with values for every encoding: few and many different ones, near and far from each other, random ones. */
export const EXAMPLE: StructType = struct(
  field("id", "long", false),
  field("b", "byte"),
  field("s", "short"),
  field("i", "integer"),
  field("near", "long"),
  field("far", "long"),
  field("any", "long"),
  field("f", "float"),
  field("d", "double"),
  field("few", "double"),
  field("t", "boolean"),
  field("word", "string"),
  field("text", "string"),
  field("bin", "binary"),
  field("day", "date"),
  field("at", "timestamp"),
  field("local", "timestamp_ntz"),
  field("d9", "decimal(9,2)"),
  field("d18", "decimal(18,3)"),
  field("d38", "decimal(38,4)"),
  field("in", struct(field("a", "long"), field("deep", struct(field("z", "string"))))),
  field("list", { type: "array", elementType: "string", containsNull: true }),
  field("strict", { type: "array", elementType: "integer", containsNull: false }),
  field("structs", {
    type: "array",
    elementType: struct(
      field("k", "string", false),
      field("n", { type: "array", elementType: "double", containsNull: true }),
    ),
    containsNull: true,
  }),
  field("map", {
    type: "map",
    keyType: "string",
    valueType: struct(field("x", "binary")),
    valueContainsNull: true,
  }),
  field("none", "string"),
);

/** Row `i` of the example: the same on each call. Every seventh is null as far as it may be. */
export function exampleRow(i: number): Row {
  if (i % 7 === 3) return { id: BigInt(i) };
  const random = BigInt.asIntN(64, BigInt(i) * 0x9e3779b97f4a7c15n);
  return {
    id: BigInt(i),
    b: (i % 256) - 128,
    s: ((i * 31) % 65536) - 32768,
    i: Number(BigInt.asIntN(32, random)),
    near: BigInt(i) * 20_000n + BigInt(i % 3),
    far: BigInt.asIntN(47, random),
    any: random,
    f: i / 3,
    d: i % 50 === 0 ? -0 : i / 7,
    few: (i % 4) / 2,
    t: i % 3 === 0,
    word: `größe ${i % 20}`,
    text: i % 1000 === 0 ? `${i}`.repeat(20_000) : `text ${random}`,
    bin: new Uint8Array([i & 255, 0, 255]),
    day: (i % 40_000) - 20_000,
    at: 1_764_057_600_000_000n + BigInt(i) * 20_123n,
    local: -BigInt(i) * 86_400_000_001n,
    d9: BigInt((i % 2 === 0 ? 1 : -1) * (i % 999_999_999)),
    d18: random / 100n,
    d38: random * 10n ** 18n,
    in: i % 5 === 0 ? null : { a: BigInt(i % 9), deep: i % 4 === 0 ? null : { z: i % 2 === 0 ? null : "z" } },
    list: i % 4 === 0 ? [] : i % 4 === 1 ? null : ["a", null, `é${i}`],
    strict: Array.from({ length: i % 4 }, (_, n) => i * n),
    structs:
      i % 6 === 0
        ? [null, { k: "", n: [] }]
        : [
            { k: `k${i % 3}`, n: [i / 2, null] },
            { k: "x", n: null },
          ],
    map:
      i % 3 === 0
        ? []
        : [
            ["k", { x: new Uint8Array([i & 1]) }],
            [`${i}`, null],
            ["z", { x: null }],
          ],
    none: null,
  };
}
