import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { decimalPhysical, parquetSchema } from "./parquet-schema.ts";
import { field, struct } from "./parquet-values.fixture.ts";

const levels = (schema: StructType, partitionColumns: string[] = []) =>
  parquetSchema(schema, partitionColumns).leaves.map(
    ({ parquetPath, statsPath, maxDefinition, maxRepetition }) => [
      parquetPath.join("."),
      statsPath?.join("."),
      maxDefinition,
      maxRepetition,
    ],
  );

test("levels count what may be null and what repeats, and only what stands in no list has a place in statistics", () => {
  const tags: DataType = { type: "array", elementType: "string", containsNull: true };
  const strict: DataType = {
    type: "array",
    elementType: struct(field("x", "long", false)),
    containsNull: false,
  };
  const map: DataType = { type: "map", keyType: "string", valueType: tags, valueContainsNull: false };
  const schema = struct(
    field("id", "long", false),
    field("in", struct(field("a", "string"), field("b", "long", false))),
    field("tags", tags),
    field("strict", strict, false),
    field("map", map),
  );
  assert.deepEqual(levels(schema), [
    ["id", "id", 0, 0],
    ["in.a", "in.a", 2, 0],
    ["in.b", "in.b", 1, 0],
    ["tags.list.element", undefined, 3, 1],
    ["strict.list.element.x", undefined, 1, 1],
    ["map.key_value.key", undefined, 2, 1],
    ["map.key_value.value.list.element", undefined, 4, 2],
  ]);
});

test("partition columns and void are left out, a field of the same name inside of a struct is not", () => {
  const schema = struct(
    field("day", "date"),
    field("nothing", "void"),
    field("in", struct(field("day", "date"), field("v", "void"))),
  );
  assert.deepEqual(levels(schema, ["day"]), [["in.day", "in.day", 2, 0]]);
  assert.equal(parquetSchema(schema, ["day"]).columns, 1);
});

test("under column mapping files have physical names and field ids, at every level", () => {
  const mapped = (name: string, id: number, type: DataType) => ({
    ...field(name, type),
    metadata: { "delta.columnMapping.physicalName": `col-${id}`, "delta.columnMapping.id": id },
  });
  const schema = struct(mapped("a", 1, struct(mapped("b", 2, "long"))));
  const { elements, leaves } = parquetSchema(schema, [], "name");
  assert.deepEqual(
    elements.map(({ name, fieldId }) => [name, fieldId]),
    [
      ["col-1", 1],
      ["col-2", 2],
    ],
  );
  assert.deepEqual(leaves[0]!.statsPath, ["col-1", "col-2"]);
  assert.deepEqual(parquetSchema(schema, []).leaves[0]!.parquetPath, ["a", "b"]);
});

test("decimals take the fewest bytes that hold their digits", () => {
  assert.deepEqual([1, 9, 10, 18, 19, 38].map(decimalPhysical), [
    "int32",
    "int32",
    "int64",
    "int64",
    "fixed",
    "fixed",
  ]);
});

test("a type that no column of a file can have is refused by its name and place", () => {
  const refused: [DataType, RegExp][] = [
    [struct(), /column c of type struct<>/],
    [struct(field("v", "void")), /column c of type struct<>/],
    [{ type: "array", elementType: "void", containsNull: true }, /column c\.list\.element of type void/],
    ["variant", /column c of type variant/],
  ];
  for (const [type, message] of refused)
    assert.throws(
      () => parquetSchema(struct(field("c", type)), []),
      (error) => isLabError(error, "UNSUPPORTED_FEATURE") && message.test(error.message),
    );
});
