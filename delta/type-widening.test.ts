import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { createTable } from "./create.ts";
import { parseSchema, serializeSchema } from "./schema.ts";
import { mergeSchema } from "./schema-merge.ts";
import { memoryStore } from "./store/memory.ts";
import { canWiden, checkTypeChanges, commonType, widenOf, withTypeChanges } from "./type-widening.ts";
import type { DataType, PrimitiveType, StructField, StructType } from "./types.ts";

const { signal } = new AbortController();
const field = (name: string, type: DataType, metadata: StructField["metadata"] = {}): StructField => ({
  name,
  type,
  nullable: true,
  metadata,
});
const struct = (...fields: StructField[]): StructType => ({ type: "struct", fields });
const list = (elementType: DataType): DataType => ({ type: "array", elementType, containsNull: true });
const map = (valueType: DataType): DataType => ({
  type: "map",
  keyType: "string",
  valueType,
  valueContainsNull: true,
});

/** PROTOCOL.md, "Type Widening", without dates. */
const WIDENINGS: readonly (readonly [from: PrimitiveType, to: PrimitiveType, isAllowed: boolean])[] = [
  ["byte", "short", true],
  ["byte", "long", true],
  ["short", "integer", true],
  ["integer", "long", true],
  ["float", "double", true],
  ["byte", "double", true],
  ["integer", "double", true],
  ["integer", "decimal(10,0)", true],
  ["integer", "decimal(12,2)", true],
  ["long", "decimal(20,0)", true],
  ["long", "decimal(38,18)", true],
  ["decimal(10,2)", "decimal(12,4)", true],
  ["decimal(10,2)", "decimal(11,2)", true],
  ["integer", "integer", false],
  ["long", "integer", false],
  ["long", "double", false],
  ["integer", "float", false],
  ["double", "float", false],
  ["integer", "decimal(9,0)", false],
  ["integer", "decimal(11,2)", false],
  ["long", "decimal(19,0)", false],
  ["decimal(10,2)", "decimal(11,4)", false],
  ["decimal(10,2)", "decimal(12,1)", false],
  ["decimal(10,2)", "double", false],
  ["integer", "string", false],
  ["boolean", "integer", false],
  ["date", "timestamp", false],
  ["timestamp_ntz", "timestamp", false],
];

test("types widen as the protocol lets them, and no other way", () => {
  for (const [from, to, isAllowed] of WIDENINGS)
    assert.equal(canWiden(from, to), isAllowed, `${from} to ${to}`);
});

test("two types meet in the narrowest one that holds both", () => {
  const cases: [PrimitiveType, PrimitiveType, PrimitiveType | undefined][] = [
    ["byte", "integer", "integer"],
    ["long", "integer", "long"],
    ["float", "integer", "double"],
    ["integer", "decimal(5,2)", "decimal(12,2)"],
    ["long", "decimal(5,2)", "decimal(22,2)"],
    ["decimal(10,2)", "decimal(8,4)", "decimal(12,4)"],
    ["decimal(38,0)", "decimal(38,10)", undefined],
    ["long", "double", undefined],
    ["integer", "string", undefined],
    ["date", "timestamp_ntz", undefined],
  ];
  for (const [one, other, both] of cases) {
    assert.equal(commonType(one, other), both, `${one} and ${other}`);
    assert.equal(commonType(other, one), both, `${other} and ${one}`);
  }
});

const primitive = fc.oneof(
  fc.constantFrom<PrimitiveType>("byte", "short", "integer", "long", "float", "double", "string", "date"),
  fc
    .tuple(fc.integer({ min: 1, max: 38 }), fc.nat(38))
    .filter(([precision, scale]) => scale <= precision)
    .map(([precision, scale]): PrimitiveType => `decimal(${precision},${scale})`),
);

test("what two types meet in, both are or widen to; and widening is transitive", () => {
  fc.assert(
    fc.property(primitive, primitive, primitive, (one, other, third) => {
      const both = commonType(one, other);
      if (both !== undefined)
        for (const from of [one, other])
          assert.ok(from === both || canWiden(from, both), `${from} to ${both}`);
      if (canWiden(one, other) && canWiden(other, third)) assert.ok(canWiden(one, third));
    }),
  );
});

const any = () => true;

test("a type that changes is noted in the field next to it, with the way there inside of arrays and maps", () => {
  const table = struct(
    field("n", "short", { comment: "keep" }),
    field("l", list(map("decimal(6,2)"))),
    field("s", struct(field("x", "integer"))),
    field("ls", list(struct(field("f", "float")))),
    field("same", "long"),
  );
  const incoming = struct(
    field("n", "long"),
    field("l", list(map("decimal(10,4)"))),
    field("s", struct(field("x", "long"), field("new", "date"))),
    field("ls", list(struct(field("f", "double")))),
    field("same", "integer"),
  );
  const { schema, clashes } = mergeSchema(table, incoming, { widen: any });
  assert.deepEqual(clashes, []);
  const note = (fromType: string, toType: string, fieldPath?: string) => ({
    "delta.typeChanges": [{ fromType, toType, ...(fieldPath === undefined ? {} : { fieldPath }) }],
  });
  assert.deepEqual(
    schema,
    struct(
      field("n", "long", { comment: "keep", ...note("short", "long") }),
      field("l", list(map("decimal(10,4)")), note("decimal(6,2)", "decimal(10,4)", "element.value")),
      field("s", struct(field("x", "long", note("integer", "long")), field("new", "date"))),
      field("ls", list(struct(field("f", "double", note("float", "double"))))),
      field("same", "long"),
    ),
  );
  assert.deepEqual(parseSchema(serializeSchema(schema)), schema);
});

test("a second change is noted behind the first", () => {
  const once = mergeSchema(struct(field("n", "short")), struct(field("n", "integer")), { widen: any }).schema;
  const { schema } = mergeSchema(once, struct(field("n", "long")), { widen: any });
  assert.deepEqual(schema.fields[0]?.metadata["delta.typeChanges"], [
    { fromType: "short", toType: "integer" },
    { fromType: "integer", toType: "long" },
  ]);
});

test("without widening a wider type is a clash that names path and types, and everything else is merged", () => {
  const table = struct(field("n", "integer"), field("s", struct(field("x", list("long")))));
  const incoming = struct(
    field("n", "long"),
    field("s", struct(field("x", list("string")), field("y", "string"))),
    field("new", "date"),
  );
  const { schema, clashes } = mergeSchema(table, incoming, { widen: undefined });
  assert.deepEqual(clashes, [
    { path: "n", kind: "type", table: "integer", incoming: "long" },
    { path: "s.x.element", kind: "type", table: "long", incoming: "string" },
  ]);
  const grown = struct(field("x", list("long")), field("y", "string"));
  assert.deepEqual(schema, struct(field("n", "integer"), field("s", grown), field("new", "date")));
});

test("names are exact: one that differs by case only is a clash at any depth, also among those that come", () => {
  const table = struct(field("Id", "long"), field("s", struct(field("x", "long"))));
  const incoming = struct(
    field("ID", "long"),
    field("s", struct(field("X", "long"))),
    field("b", "long"),
    field("B", "long"),
  );
  const { schema, clashes } = mergeSchema(table, incoming, { widen: any });
  assert.deepEqual(clashes, [
    { path: "ID", kind: "case", table: "Id", incoming: "ID" },
    { path: "s.X", kind: "case", table: "x", incoming: "X" },
    { path: "B", kind: "case", table: "b", incoming: "B" },
  ]);
  assert.deepEqual(
    schema.fields.map(({ name }) => name),
    ["Id", "s", "b"],
  );
});

test("a schema that promises nothing new gives back the table's very schema", () => {
  const table = struct(field("n", "long"), field("s", struct(field("x", "double"))));
  const incoming = struct(field("s", struct(field("x", "integer"))), field("n", "byte"));
  assert.equal(mergeSchema(table, incoming, { widen: any }).schema, table);
});

const PROTOCOL: Protocol = {
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: ["typeWidening"],
  writerFeatures: ["typeWidening", "checkConstraints", "appendOnly", "invariants"],
};
const metadataOf = (configuration: Record<string, string>): Metadata => ({
  id: "x",
  format: { provider: "parquet", options: {} },
  schemaString: "{}",
  partitionColumns: [],
  configuration,
});
const ON = { "delta.enableTypeWidening": "true" };

test("a table lets types change where feature and property are on and no constraint looks at them", () => {
  const schema = struct(field("n", "integer"));
  assert.ok(widenOf(PROTOCOL, metadataOf(ON), schema)?.("n", "integer", "long"));
  assert.equal(widenOf(PROTOCOL, metadataOf({}), schema), undefined);
  assert.equal(widenOf({ minReaderVersion: 1, minWriterVersion: 2 }, metadataOf(ON), schema), undefined);
  const preview = { ...PROTOCOL, writerFeatures: ["typeWidening-preview"] };
  assert.equal(widenOf(preview, metadataOf(ON), schema), undefined);
  assert.equal(widenOf(PROTOCOL, metadataOf({ ...ON, "delta.constraints.c": "n > 0" }), schema), undefined);
});

test("a change that the table does not allow, or that is not noted, is refused by column", () => {
  const before = struct(field("n", "integer"), field("s", struct(field("l", list("integer")))));
  const wider = struct(field("n", "integer"), field("s", struct(field("l", list("long")))));
  const widen = widenOf(PROTOCOL, metadataOf(ON), before);
  const isRefused = (error: unknown) => isLabError(error, "SCHEMA_MISMATCH") && error.details.column === "s";
  checkTypeChanges(before, withTypeChanges(before, wider), widen);
  assert.throws(() => checkTypeChanges(before, wider, widen), isRefused);
  assert.throws(() => checkTypeChanges(before, withTypeChanges(before, wider), undefined), isRefused);
  assert.throws(() => checkTypeChanges(wider, withTypeChanges(wider, before), widen), isRefused);
});

test("a commit may widen a column of a table that allows it, and of no other", async () => {
  for (const configuration of [ON, {}]) {
    const schema = struct(field("n", "integer"), field("m", "string"));
    const table = await createTable(memoryStore(), { schema, configuration }, signal);
    const stats = '{"numRecords":1}';
    const add = { path: "a", partitionValues: {}, size: 1, modificationTime: 1, dataChange: true, stats };
    const append = async (adds: readonly (typeof add)[], change?: StructType) => {
      const readSnapshot = await table.latest(signal);
      const metadata = change && { ...readSnapshot.metadata, schemaString: serializeSchema(change) };
      const request = {
        readSnapshot,
        operation: "WRITE",
        adds: [...adds],
        ...(metadata ? { metadata } : {}),
      };
      return table.commit(request, signal);
    };
    await append([add]);
    const wider = mergeSchema(schema, struct(field("n", "long")), { widen: any }).schema;
    if (configuration === ON) {
      assert.equal((await append([{ ...add, path: "b" }], wider)).kind, "committed");
      assert.equal((await table.latest(signal)).schema.fields[0]?.type, "long");
      assert.equal((await append([{ ...add, path: "c" }])).kind, "committed");
    } else await assert.rejects(append([], wider), (error) => isLabError(error, "SCHEMA_MISMATCH"));
  }
});
