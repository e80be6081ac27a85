import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { parseSchema, serializeSchema } from "./schema.ts";
import { checkSchema } from "./schema-check.ts";
import { mergeSchemas } from "./schema-merge.ts";
import type { DataType, StructField, StructType } from "./types.ts";

const field = (name: string, type: DataType, over: Partial<StructField> = {}): StructField => ({
  name,
  type,
  nullable: true,
  metadata: {},
  ...over,
});
const struct = (...fields: StructField[]): StructType => ({ type: "struct", fields });
const list = (elementType: DataType, containsNull = true): DataType => ({
  type: "array",
  elementType,
  containsNull,
});
const map = (keyType: DataType, valueType: DataType): DataType => ({
  type: "map",
  keyType,
  valueType,
  valueContainsNull: true,
});

test("a schema comes back as it was, the metadata of nested fields and large numbers in it included", () => {
  const schema = struct(
    field("a.b", "decimal(10,2)", {
      nullable: false,
      metadata: { "delta.identity.start": 2n ** 60n, x: '{"y":1}' },
    }),
    field(
      "s",
      struct(
        field("l", list(map("string", struct(field("x", "timestamp_ntz", { metadata: { k: "v" } }))), false)),
      ),
    ),
  );
  assert.deepEqual(parseSchema(serializeSchema(schema)), schema);
});

test("older spellings of decimals are read", () => {
  const text =
    '{"type":"struct","fields":[{"name":"a","type":"decimal"},{"name":"b","type":"decimal(5, 2)"}]}';
  assert.deepEqual(
    parseSchema(text).fields.map((found) => found.type),
    ["decimal(10,0)", "decimal(5,2)"],
  );
});

test("a type that is not known is UNSUPPORTED_FEATURE naming type and column", () => {
  const text =
    '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"geometry(OGC)"}}]}';
  assert.throws(
    () => parseSchema(text),
    (error) => isLabError(error, "UNSUPPORTED_FEATURE") && /geometry.*a\.element/.test(error.message),
  );
});

test("what is no schema is CORRUPT_LOG", () => {
  for (const text of ["{", '"string"', '{"type":"struct"}', '{"type":"struct","fields":[{"type":"long"}]}'])
    assert.throws(
      () => parseSchema(text),
      (error) => isLabError(error, "CORRUPT_LOG"),
      text,
    );
});

test("a schema that no table can have is refused, naming the column", () => {
  const cases: [StructType, string[], RegExp][] = [
    [struct(), [], /no column/],
    [struct(field("a", "long"), field("A", "long")), [], /A and a/],
    [struct(field("s", struct(field("x", "long"), field("X", "long")))), [], /s\.X and s\.x/],
    [struct(field("a b", "long")), [], /"a b"/],
    [struct(field("l", list(struct(field("a;b", "long"))))), [], /l\.element\.a;b/],
    [struct(field("a", "decimal(39,2)")), [], /a is out of range/],
    [struct(field("a", list("void"))), [], /a\.element/],
    [struct(field("a", "long")), ["b"], /b is not a column/],
    [struct(field("a", list("long")), field("b", "long")), ["a"], /a cannot partition/],
    [struct(field("a", "long"), field("b", "long")), ["a", "a"], /named twice/],
    [struct(field("a", "long")), ["a"], /every column/],
  ];
  for (const [schema, partitions, message] of cases)
    assert.throws(
      () => checkSchema(schema, partitions),
      (error) => isLabError(error, "SCHEMA_MISMATCH") && message.test(error.message),
      String(message),
    );
});

test("a good schema passes, dots in names too", () => {
  checkSchema(struct(field("a.b", "long"), field("p", "date")), ["p"]);
});

test("new columns and struct fields are appended at any depth, nullable, with their metadata", () => {
  const table = struct(
    field("a", "long", { nullable: false, metadata: { comment: "keep" } }),
    field("s", struct(field("x", "long"))),
    field("l", list(struct(field("x", "long")), false)),
    field("m", map("string", struct(field("x", "long")))),
  );
  const more = struct(field("x", "long"), field("y", "string", { nullable: false }));
  const incoming = struct(
    field("n", "date", { nullable: false, metadata: { comment: "new" } }),
    field("l", list(more)),
    field("m", map("string", more)),
    field("S", more),
  );
  const grown = struct(field("x", "long"), field("y", "string"));
  assert.deepEqual(
    mergeSchemas(table, incoming),
    struct(
      field("a", "long", { nullable: false, metadata: { comment: "keep" } }),
      field("s", grown),
      field("l", list(grown, false)),
      field("m", map("string", grown)),
      field("n", "date", { metadata: { comment: "new" } }),
    ),
  );
});

test("a schema that brings nothing new gives back the table's very schema", () => {
  const table = struct(field("a", "long"), field("s", struct(field("x", "long"))));
  assert.equal(
    mergeSchemas(table, struct(field("S", struct()), field("A", "long", { nullable: false }))),
    table,
  );
});

test("two new names that differ by case only become one column", () => {
  const merged = mergeSchemas(struct(field("a", "long")), struct(field("B", "long"), field("b", "long")));
  assert.deepEqual(
    merged.fields.map((found) => found.name),
    ["a", "B"],
  );
});

test("a new struct is nullable down to its leaves", () => {
  const incoming = struct(
    field(
      "s",
      struct(field("l", list(struct(field("x", "long", { nullable: false })), false), { nullable: false })),
    ),
  );
  assert.deepEqual(
    mergeSchemas(struct(), incoming),
    struct(field("s", struct(field("l", list(struct(field("x", "long"))))))),
  );
});

test("a column without a type yet takes the one that comes", () => {
  const merged = mergeSchemas(struct(field("c", "void")), struct(field("c", "long", { nullable: false })));
  assert.deepEqual(merged, struct(field("c", "long")));
});

test("types that do not fit are SCHEMA_MISMATCH naming the path", () => {
  const cases: [DataType, DataType, string][] = [
    ["long", "string", "c"],
    [struct(field("x", "long")), struct(field("X", "date")), "c.X"],
    [list("long"), list("double"), "c.element"],
    [map("string", "long"), map("string", "date"), "c.value"],
    ["long", struct(), "c"],
    ["decimal(10,2)", "decimal(12,2)", "c"],
  ];
  for (const [table, incoming, path] of cases)
    assert.throws(
      () => mergeSchemas(struct(field("c", table)), struct(field("c", incoming))),
      (error) => isLabError(error, "SCHEMA_MISMATCH") && error.details.column === path,
      path,
    );
});

test("types nested deeper than engines bear are refused by name, not by the end of the process", () => {
  const nested = (levels: number) =>
    `{"type":"struct","fields":[{"name":"a","type":${'{"type":"array","elementType":'.repeat(levels)}"long"${"}".repeat(levels)}}]}`;
  assert.equal(parseSchema(nested(90)).fields.length, 1);
  for (const levels of [200, 100_000])
    assert.throws(
      () => parseSchema(nested(levels)),
      (error) => isLabError(error, "UNSUPPORTED_FEATURE", "CORRUPT_LOG"),
    );
});
