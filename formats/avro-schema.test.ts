import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { fingerprint } from "./avro-fingerprint.ts";
import { readSchemaFile, readSchemaFolder } from "./avro-folder.ts";
import { planAvro } from "./avro-plan.ts";
import { canonicalForm, parseAvroSchema } from "./avro-schema.ts";
import { mergeColumns } from "./merge-columns.ts";

const text = (schema: unknown) => ({ text: JSON.stringify(schema), references: [] });
const columnsOf = (schema: unknown) => planAvro(parseAvroSchema(text(schema))).columns;
const record = (name: string, fields: Record<string, unknown>) => ({
  type: "record",
  name,
  fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
});

/** Columns as one line: no name of a table's type holds a space. */
function show(type: DataType): string {
  if (typeof type === "string") return type;
  if (type.type === "array") return `[${show(type.elementType)}]`;
  if (type.type === "map") return `{${type.keyType}:${show(type.valueType)}}`;
  return `(${type.fields.map(({ name, type }) => `${name} ${show(type)}`).join(", ")})`;
}

test("each type becomes the column that docs/formats.md names", () => {
  const cases: [type: unknown, column: string][] = [
    ["int", "integer"],
    ["long", "long"],
    ["float", "float"],
    ["double", "double"],
    ["boolean", "boolean"],
    ["string", "string"],
    ["bytes", "binary"],
    ["null", "string"],
    [{ type: "fixed", name: "F", size: 3 }, "binary"],
    [{ type: "enum", name: "E", symbols: ["A"] }, "string"],
    [{ type: "bytes", logicalType: "decimal", precision: 38, scale: 10 }, "decimal(38,10)"],
    [{ type: "fixed", name: "F", size: 8, logicalType: "decimal", precision: 5 }, "decimal(5,0)"],
    [{ type: "bytes", logicalType: "decimal", precision: 39, scale: 10 }, "string"],
    [{ type: "int", logicalType: "date" }, "date"],
    [{ type: "long", logicalType: "timestamp-millis" }, "timestamp"],
    [{ type: "long", logicalType: "timestamp-micros" }, "timestamp"],
    [{ type: "long", logicalType: "timestamp-nanos" }, "string"],
    [{ type: "long", logicalType: "local-timestamp-millis" }, "string"],
    [{ type: "int", logicalType: "time-millis" }, "string"],
    [{ type: "string", logicalType: "uuid" }, "string"],
    [{ type: "fixed", name: "F", size: 16, logicalType: "uuid" }, "string"],
    [{ type: "fixed", name: "F", size: 12, logicalType: "duration" }, "string"],
    [{ type: "array", items: ["null", "int"] }, "[integer]"],
    [{ type: "map", values: { type: "array", items: "long" } }, "{string:[long]}"],
    [record("N", { a: "int", b: record("M", { c: "string" }) }), "(a integer, b (c string))"],
    [record("N", {}), "{string:string}"],
    [["null", "int"], "integer"],
    [["int", "null"], "integer"],
    [["int"], "integer"],
    [["null"], "string"],
    [["null", "int", "string"], "(int integer, string string)"],
    [
      ["int", record("a.N", { x: "int" }), { type: "array", items: "int" }],
      "(int integer, N (x integer), array [integer])",
    ],
    [[record("a.N", { x: "int" }), record("b.n", { y: "int" })], "(a_N (x integer), b_n (y integer))"],
    // Annotations that do not fit say nothing.
    [{ type: "bytes", logicalType: "decimal", precision: 2, scale: 3 }, "binary"],
    [{ type: "bytes", logicalType: "decimal" }, "binary"],
    [{ type: "string", logicalType: "date" }, "string"],
    [{ type: "int", logicalType: "timestamp-millis" }, "integer"],
    [{ type: "long", logicalType: "nobody-knows" }, "long"],
    [{ type: "fixed", name: "F", size: 5, logicalType: "uuid" }, "binary"],
  ];
  for (const [type, column] of cases) {
    assert.equal(show(columnsOf(record("R", { f: type }))), `(f ${column})`, JSON.stringify(type));
    if ((type as { type?: string }).type !== "record")
      assert.equal(show(columnsOf(type)), `(value ${column})`, "what is no record is one column");
  }
});

test("every column may be null: a later writer may lack it", () => {
  const field = columnsOf(record("R", { a: record("N", { b: "int" }) })).fields[0]!;
  assert.equal(field.nullable, true);
  assert.ok((field.type as StructType).fields.every(({ nullable }) => nullable));
});

test("a type that holds itself is JSON text where it does so again", () => {
  const tree = record("Tree", { id: "int", kids: { type: "array", items: "Tree" } });
  assert.equal(show(columnsOf(tree)), "(id integer, kids [string])");
  const pair = record("A", { b: ["null", record("B", { a: ["null", "A"], n: "long" })] });
  assert.equal(show(columnsOf(pair)), "(b (a string, n long))");
});

test("types nested deeper than 50, or with thousands of columns, go on as JSON text", () => {
  let deep: unknown = "int";
  for (let i = 0; i < 60; i++) deep = { type: "array", items: deep };
  assert.equal(show(columnsOf(deep)), `(value ${"[".repeat(50)}[string]${"]".repeat(50)})`);

  let doubled: unknown = record("D0", { x: "int" });
  for (let i = 1; i <= 40; i++) doubled = record(`D${i}`, { a: doubled, b: `D${i - 1}` });
  assert.ok(show(columnsOf(doubled)).length < 200_000);
});

test("of names that differ by case the first is a column, and _kafka is none", () => {
  const columns = columnsOf(
    record("R", { id: "int", ID: "long", _kafka: "int", n: record("N", { A: "int", a: "int" }) }),
  );
  assert.equal(show(columns), "(id integer, n (A integer))");
});

test("what is wrong with a schema is said, whatever its text", () => {
  const wrong = [
    "",
    "{",
    "null",
    "5",
    '"nobody"',
    '{"type":"record","name":"R"}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"nobody.Knows"}]}',
    '{"type":"record","name":"R","fields":[{"name":"a-b","type":"int"}]}',
    '{"type":"record","name":["R"],"fields":[]}',
    '{"type":"record","name":"","fields":[]}',
    '{"type":"record","name":"R","fields":[5]}',
    '{"type":"constructor"}',
    '{"type":"enum","name":"E","symbols":[]}',
    '["int","int"]',
    '{"type":{"type":{}}}',
    `${'{"type":"array","items":'.repeat(20_000)}"int"${"}".repeat(20_000)}`,
  ];
  for (const schema of wrong)
    assert.throws(
      () => planAvro(parseAvroSchema({ text: schema, references: [] })),
      Error,
      schema.slice(0, 80),
    );
});

test("what other libraries let pass reads too: wrong defaults, types in types", () => {
  const schema = {
    type: "record",
    name: "R",
    fields: [
      { name: "a", type: ["null", "int"], default: 5 },
      { name: "b", type: { type: { type: "string" } }, default: 1 },
      { name: "c", type: { type: "enum", name: "E", symbols: ["X"], default: "Y" } },
      { name: "d", type: { type: "E" } },
    ],
  };
  assert.equal(show(columnsOf(schema)), "(a integer, b string, c string, d string)");
});

test("names of types that other libraries let pass read too, but have no fingerprint", () => {
  const schema = {
    type: "record",
    name: "Order",
    namespace: "my-company.1st",
    aliases: ["also wrong!"],
    fields: [
      { name: "next", type: ["null", "my-company.1st.Order"], order: "sideways" },
      { name: "line", type: { type: "record", name: "order-line", fields: [{ name: "x", type: "int" }] } },
      { name: "other", type: ["null", "order-line", "int"] },
    ],
  };
  assert.equal(
    show(columnsOf(schema)),
    "(next string, line (x integer), other (order_line (x integer), int integer))",
  );
  assert.throws(() => parseAvroSchema(text(schema), { exactNames: true }), /invalid name/);
});

test("types come from the schemas that one refers to, a shared one once", () => {
  const money = text(record("acme.Money", { cents: "long" }));
  const line = { ...text(record("acme.Line", { price: "Money" })), references: [money] };
  const order = {
    ...text(record("acme.Order", { lines: { type: "array", items: "Line" }, total: "acme.Money" })),
    references: [line, money],
  };
  assert.equal(
    show(planAvro(parseAvroSchema(order)).columns),
    "(lines [(price (cents long))], total (cents long))",
  );
  const either = { text: '["acme.Money","acme.Line"]', references: [line] };
  assert.equal(
    show(planAvro(parseAvroSchema(either)).columns),
    "(value (Money (cents long), Line (price (cents long))))",
  );
});

test("fingerprints are those of the specification's own examples", () => {
  const examples: [schema: unknown, signed: bigint][] = [
    ["null", 7195948357588979594n],
    ["boolean", -6970731678124411036n],
    [{ type: "int" }, 8247732601305521295n],
    ["long", -3434872931120570953n],
    ["float", 5583340709985441680n],
    ["double", -8181574048448539266n],
    ["bytes", 5746618253357095269n],
    [{ type: "string", logicalType: "uuid" }, -8142146995180207161n],
  ];
  for (const [schema, signed] of examples)
    assert.equal(BigInt.asIntN(64, fingerprint(canonicalForm(parseAvroSchema(text(schema))))), signed);
});

test("the canonical form keeps what readers need, in its order, and full names", () => {
  const schema = {
    doc: "about",
    fields: [
      {
        default: 1,
        name: "a",
        doc: "x",
        type: { type: "int", logicalType: "date" },
        order: "descending",
        aliases: ["z"],
      },
      { name: "e", type: { symbols: ["X", "Y"], name: "E", type: "enum", default: "X" } },
      {
        name: "f",
        type: ["null", { size: 4, name: "other.F", type: "fixed", logicalType: "decimal", precision: 3 }],
      },
      { name: "g", type: { values: "E", type: "map" } },
    ],
    name: "R",
    namespace: "x.y",
    type: "record",
  };
  assert.equal(
    canonicalForm(parseAvroSchema(text(schema))),
    '{"name":"x.y.R","type":"record","fields":[{"name":"a","type":"int"},{"name":"e","type":{"name":"x.y.E","type":"enum","symbols":["X","Y"]}},{"name":"f","type":["null",{"name":"other.F","type":"fixed","size":4}]},{"name":"g","type":{"type":"map","values":"x.y.E"}}]}',
  );
});

test("columns of several writers: later ones are added, numbers widen, else the newer type counts", () => {
  const older = columnsOf(
    record("R", {
      id: "int",
      gone: "string",
      price: { type: "bytes", logicalType: "decimal", precision: 6, scale: 2 },
      n: record("N", { a: "float" }),
      list: { type: "array", items: "int" },
      map: { type: "map", values: "double" },
      kind: "int",
    }),
  );
  const newer = columnsOf(
    record("R", {
      added: "boolean",
      ID: "long",
      price: { type: "bytes", logicalType: "decimal", precision: 8, scale: 3 },
      n: record("N", { b: "int", a: "double" }),
      list: { type: "array", items: "long" },
      map: { type: "map", values: "float" },
      kind: "string",
    }),
  );
  const both =
    "(id long, gone string, price decimal(8,3), n (a double, b integer), list [long], map {string:double}, kind string, added boolean)";
  assert.equal(show(mergeColumns(older, newer)), both);
  assert.equal(show(mergeColumns(newer, older).fields.find(({ name }) => name === "kind")!.type), "integer");
  const wide = columnsOf(
    record("R", { price: { type: "bytes", logicalType: "decimal", precision: 38, scale: 30 } }),
  );
  assert.equal(show(mergeColumns(older, wide).fields[2]!.type), "decimal(38,30)", "no decimal holds both");
});

async function folderOf(t: TestContext, files: Record<string, unknown>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "avsc-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

test("a folder's files may name each other's types, in any order, and in circles", async (t) => {
  const folder = await folderOf(t, {
    "a-order.avsc": record("acme.Order", { lines: { type: "array", items: "Line" } }),
    "deep/line.avsc": {
      ...record("Line", { of: ["null", "Order"], price: "acme.Money" }),
      namespace: "acme",
    },
    "z.avsc": record("acme.Money", { cents: "long" }),
    "notes.txt": "not a schema",
  });
  const plans = await readSchemaFolder(folder);
  assert.deepEqual(
    [...plans.values()].map(({ columns }) => show(columns)),
    [
      "(lines [(of string, price (cents long))])",
      "(of (lines [string]), price (cents long))",
      "(cents long)",
    ],
  );
});

test("a file or folder that is not there, or holds no schema, is named", async (t) => {
  const folder = await folderOf(t, { "good.avsc": '"int"', "bad.avsc": '{"type":"record"' });
  const rejects = (work: Promise<unknown>, code: "SCHEMA_NOT_FOUND" | "SCHEMA_INVALID", name: RegExp) =>
    assert.rejects(work, (error) => isLabError(error, code) && name.test(error.message));
  await rejects(readSchemaFolder(folder), "SCHEMA_INVALID", /bad\.avsc holds no Avro schema/);
  await rejects(readSchemaFile(join(folder, "bad.avsc")), "SCHEMA_INVALID", /bad\.avsc holds no Avro schema/);
  await rejects(readSchemaFile(join(folder, "none.avsc")), "SCHEMA_NOT_FOUND", /none\.avsc/);
  await rejects(readSchemaFolder(join(folder, "none")), "SCHEMA_NOT_FOUND", /none/);
  await mkdir(join(folder, "empty"));
  await rejects(readSchemaFolder(join(folder, "empty")), "SCHEMA_NOT_FOUND", /has no \.avsc file/);
});
