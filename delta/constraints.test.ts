import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Metadata } from "./actions.ts";
import { constraintsOf } from "./constraints.ts";
import { serializeSchema } from "./schema.ts";
import type { DataType, StructField, StructType } from "./types.ts";

const field = (name: string, type: DataType, nullable = true, metadata = {}): StructField => ({
  name,
  type,
  nullable,
  metadata,
});
const struct = (...fields: StructField[]): StructType => ({ type: "struct", fields });

function constraints(schema: StructType, configuration: Record<string, string> = {}) {
  const metadata: Metadata = {
    id: "i",
    format: { provider: "parquet", options: {} },
    schemaString: serializeSchema(schema),
    partitionColumns: [],
    configuration,
  };
  return constraintsOf(metadata, schema);
}

const notNull = (schema: StructType) =>
  constraints(schema).map(({ kind, path, expression }) => {
    assert.equal(kind, "notNull");
    return [path.join("/"), expression];
  });

test("checks come by their names, with their SQL as it stands", () => {
  assert.deepEqual(constraints(struct(field("a", "long")), { "delta.constraints.Pos.1": "a > 0", x: "y" }), [
    { kind: "check", name: "Pos.1", expression: "a > 0", path: [] },
  ]);
});

test("an invariant is told with its column, nested ones too", () => {
  const invariant = { "delta.invariants": '{"expression":{"expression":"s.a > 3"}}' };
  const schema = struct(field("s", struct(field("a", "long", true, invariant))));
  assert.deepEqual(constraints(schema), [
    { kind: "invariant", name: "s.a", expression: "s.a > 3", path: ["s", "a"] },
  ]);
});

test("an invariant that cannot be read is a damaged table, not a table without one", () => {
  for (const text of ["{", '{"expression":"x"}', "{}"])
    assert.throws(
      () => constraints(struct(field("a", "long", true, { "delta.invariants": text }))),
      (error) => isLabError(error, "CORRUPT_LOG") && /column a/.test(error.message),
    );
});

test("a column that takes no nulls says so; one with odd characters is quoted", () => {
  assert.deepEqual(notNull(struct(field("a`b c", "long", false), field("d", "long"))), [
    ["a`b c", "`a``b c` IS NOT NULL"],
  ]);
});

test("a null parent makes its children's rule empty", () => {
  const schema = struct(field("s", struct(field("t", struct(field("a", "long", false))))));
  assert.deepEqual(notNull(schema), [
    ["s/t/a", "`s` IS NULL OR (`s`.`t` IS NULL OR (`s`.`t`.`a` IS NOT NULL))"],
  ]);
});

test("elements of arrays and values of maps are looked at one by one, what stands in them as well", () => {
  const row = struct(field("x", "long", false));
  const schema = struct(
    field("a", { type: "array", elementType: row, containsNull: false }),
    field("m", { type: "map", keyType: "string", valueType: "long", valueContainsNull: false }),
  );
  assert.deepEqual(notNull(schema), [
    ["a/element", "`a` IS NULL OR forall(`a`, x1 -> x1 IS NOT NULL)"],
    ["a/element/x", "`a` IS NULL OR forall(`a`, x1 -> x1 IS NULL OR (x1.`x` IS NOT NULL))"],
    ["m/value", "`m` IS NULL OR forall(map_values(`m`), x1 -> x1 IS NOT NULL)"],
  ]);
});
