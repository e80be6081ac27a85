import assert from "node:assert/strict";
import { test } from "node:test";
import type { DataType } from "../delta/types.ts";
import { compileJsonSchema } from "./json-schema-compile.ts";
import type { SchemaReference } from "./registry.ts";

function describe(type: DataType | null): string {
  if (type === null || typeof type === "string") return String(type);
  if (type.type === "array") return `[${describe(type.elementType)}]`;
  if (type.type === "map") return `map ${describe(type.valueType)}`;
  return `{${type.fields.map((field) => `${field.name} ${describe(field.type)}`).join(", ")}}`;
}

function columns(schema: unknown, references: readonly SchemaReference[] = []): string {
  return describe(compileJsonSchema(JSON.stringify(schema), references).columns);
}

/** The type of one property. */
function typeOf(property: unknown, more: Record<string, unknown> = {}): string {
  return columns({ type: "object", properties: { p: property }, ...more });
}

const reference = (name: string, schema: unknown, references: SchemaReference[] = []): SchemaReference => ({
  name,
  text: JSON.stringify(schema),
  references,
});

test("types and formats are the columns that hold what they allow", () => {
  const cases: [unknown, string][] = [
    [{ type: "integer" }, "{p long}"],
    [{ type: "number" }, "{p double}"],
    [{ type: "boolean" }, "{p boolean}"],
    [{ type: "string" }, "{p string}"],
    [{ type: "string", format: "date-time" }, "{p timestamp}"],
    [{ type: "string", format: "date" }, "{p date}"],
    [{ type: "string", format: "uuid" }, "{p string}"],
    [{ type: "string", contentEncoding: "base64" }, "{p binary}"],
    [{ type: ["string", "null"] }, "{p string}"],
    [{ type: ["integer", "number"] }, "{p double}"],
    [{ enum: ["a", "b", null] }, "{p string}"],
    [{ enum: [1, 2] }, "{p long}"],
    [{ enum: [1, 2.5] }, "{p double}"],
    [{ const: true }, "{p boolean}"],
    [{ type: "array", items: { type: "integer" } }, "{p [long]}"],
    [
      {
        type: "object",
        properties: { a: { type: "array", items: { properties: { b: { type: "string" } } } } },
      },
      "{p {a [{b string}]}}",
    ],
    [{ type: "object", additionalProperties: { type: "number" } }, "{p map double}"],
    [{ type: "object", patternProperties: { "^x": { type: "string" } } }, "{p map string}"],
    [
      { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "number" } },
      "{p {a string}}",
    ],
  ];
  for (const [property, expected] of cases)
    assert.equal(typeOf(property), expected, JSON.stringify(property));
});

test("what tells no one type is left to the messages, and the rest is promised all the same", () => {
  const unclear = [
    true,
    {},
    { type: "null" },
    { type: ["string", "integer"] },
    { enum: ["a", 1] },
    { const: null },
    { const: [1] },
    { type: "array" },
    { type: "array", items: [{ type: "string" }, { type: "integer" }] },
    { type: "object" },
    { type: "object", additionalProperties: true },
    { type: "object", properties: { a: {} } },
    { oneOf: [{ type: "string" }, { type: "object", properties: { a: { type: "string" } } }] },
    { anyOf: [{ type: "string" }, {}] },
  ];
  for (const property of unclear) {
    assert.equal(typeOf(property), "null", JSON.stringify(property));
    const beside = { type: "object", properties: { p: property, q: { type: "string" } } };
    assert.equal(columns(beside), "{q string}");
  }
  assert.equal(
    typeOf(
      { type: "array", prefixItems: [{ type: "string" }] },
      { $schema: "https://json-schema.org/draft/2020-12/schema" },
    ),
    "null",
  );
});

test("a message that is no object with fields promises nothing", () => {
  for (const schema of [
    true,
    {},
    { type: "string" },
    { type: "array", items: { type: "string" } },
    { type: "object" },
  ])
    assert.equal(columns(schema), "null");
});

test("parts of a schema are taken together: all of them, or what any of them says", () => {
  const a = { type: "object", properties: { a: { type: "string" }, n: { type: "integer" } } };
  const b = { properties: { b: { type: "string", format: "date" }, n: { type: "number" } } };
  assert.equal(columns({ allOf: [a, b, { required: ["a"] }] }), "{a string, n long, b date}");
  assert.equal(columns({ oneOf: [a, b, { type: "null" }] }), "{a string, n double, b date}");
  assert.equal(columns({ ...a, anyOf: [{ required: ["a"] }, { required: ["n"] }] }), "{a string, n long}");
  assert.equal(
    typeOf({ oneOf: [{ type: "null" }, { type: "string", format: "date-time" }] }),
    "{p timestamp}",
  );
  assert.equal(
    typeOf({
      anyOf: [
        { type: "string", format: "date" },
        { type: "string", format: "date-time" },
      ],
    }),
    "{p string}",
  );
  assert.equal(typeOf({ type: "string", allOf: [{ type: "string", format: "date" }] }), "{p date}");
  assert.equal(typeOf({ type: "string", allOf: [{ type: "integer" }] }), "null");
  assert.equal(
    typeOf({ type: "object", allOf: [{ type: "object", additionalProperties: { type: "string" } }] }),
    "{p map string}",
  );
});

test("references are followed within the schema and into those that it names; what is in itself is left to the messages", () => {
  const local = {
    type: "object",
    properties: {
      home: { $ref: "#/definitions/a~1b" },
      work: { $ref: "#/definitions/a~1b" },
      up: { $ref: "#" },
    },
    definitions: {
      "a/b": {
        type: "object",
        properties: { zip: { type: "string" }, near: { $ref: "#/definitions/a~1b" } },
      },
    },
  };
  assert.equal(columns(local), "{home {zip string}, work {zip string}}");
  const other = reference("other.json", {
    $id: "http://lab/other.json",
    $defs: { n: { type: "integer" } },
    properties: { n: { $ref: "#/$defs/n" } },
  });
  const all = {
    $id: "http://lab/root.json",
    type: "object",
    properties: { a: { $ref: "other.json" }, b: { $ref: "http://lab/other.json#/$defs/n" } },
  };
  assert.equal(columns(all, [other]), "{a {n long}, b long}");
  const { $id, ...nameless } = all;
  assert.equal(columns(nameless, [other]), "{a {n long}, b long}", $id);
});

test("references of references are there as well", () => {
  const deep = reference("deep.json", { type: "string", format: "date" });
  const middle = reference("middle.json", { type: "object", properties: { d: { $ref: "deep.json" } } }, [
    deep,
  ]);
  assert.equal(
    columns({ type: "object", properties: { m: { $ref: "middle.json" } } }, [middle]),
    "{m {d date}}",
  );
});

test("names that cannot be columns are left out; of two that differ by case the first counts", () => {
  const names = ["ok", "a b", "", "x;y", "OK", "__proto__", "ü"];
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  assert.equal(
    columns(JSON.parse(JSON.stringify({ properties }))),
    "{ok string, __proto__ string, ü string}",
  );
});

test("a schema that doubles at each level ends, and promises nothing", () => {
  const definitions = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `d${i}`,
      {
        type: "object",
        properties: { a: { $ref: `#/definitions/d${i + 1}` }, b: { $ref: `#/definitions/d${i + 1}` } },
      },
    ]),
  );
  const schema = {
    ...{ definitions: { ...definitions, d40: { type: "string" } } },
    $ref: "#/definitions/d0",
  };
  assert.equal(columns(schema), "null");
});
