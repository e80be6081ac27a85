import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fixedRegistry, framed } from "../test/support/fixed-registry.ts";
import { createRegistryJsonSchemaDecoder } from "./json-schema.ts";
import type { SchemaReference } from "./registry.ts";

const signal = new AbortController().signal;

type Given = { schema: unknown; references?: SchemaReference[]; type?: string };

/** What becomes of `json` by each schema, the first of which has id 1. */
async function decoderOf(...schemas: Given[]) {
  const texts = schemas.map(({ schema, references = [], type = "JSON" }) => ({
    type,
    text: typeof schema === "string" ? schema : JSON.stringify(schema),
    references,
  }));
  const decoder = createRegistryJsonSchemaDecoder(fixedRegistry(texts));
  await decoder.prepare(
    schemas.map((_, i) => framed(i + 1, Buffer.from("{}"))),
    signal,
  );
  return {
    decoder,
    outcome(json: string | Uint8Array, id = 1): string {
      const decoded = decoder.decode(framed(id, typeof json === "string" ? Buffer.from(json) : json));
      if ("objects" in decoded) return Buffer.from(decoded.objects[0]!).toString();
      return `${decoded.bad.stage} ${decoded.bad.code}: ${decoded.bad.message}`;
    },
  };
}

const ORDER = {
  type: "object",
  required: ["id"],
  properties: {
    id: { type: "integer", minimum: 1 },
    at: { type: "string", format: "date-time" },
    items: {
      type: "array",
      items: { type: "object", properties: { sku: { type: "string", pattern: "^\\p{Lu}+$" } } },
    },
  },
  additionalProperties: false,
};

test("a message that fits goes through byte for byte", async () => {
  const { outcome } = await decoderOf({ schema: ORDER });
  for (const json of [
    '{"id": 9007199254740993.0, "at":"2024-01-01T00:00:00.000000001Z"}',
    ' {"id":1e2,"id":2} \n',
    '{"id":1,"items":[]}',
  ])
    assert.equal(outcome(json), json);
});

test("one that does not is bad, and tells the path and the rule", async () => {
  const { outcome } = await decoderOf({ schema: ORDER });
  const cases: [string, string][] = [
    ["{}", "the message: must have required property 'id' (#/required)"],
    ['{"id":"1"}', "id: must be integer (#/properties/id/type)"],
    ['{"id":0}', "id: must be >= 1 (#/properties/id/minimum)"],
    ['{"id":1.5}', "id: must be integer (#/properties/id/type)"],
    ['{"id":1,"at":"yesterday"}', 'at: must match format "date-time" (#/properties/at/format)'],
    ['{"id":1,"x/y":2}', "the message: must NOT have additional properties: x/y (#/additionalProperties)"],
    [
      '{"id":1,"items":[{},{"sku":"a"}]}',
      'items[1].sku: must match pattern "^\\p{Lu}+$" (#/properties/items/items/properties/sku/pattern)',
    ],
    ["[]", "the message: must be object (#/type)"],
    ["null", "the message: must be object (#/type)"],
  ];
  for (const [json, message] of cases) assert.equal(outcome(json), `schema SCHEMA_VIOLATED: ${message}`);
});

test("what is said of a name is short, and text whatever the name is", async () => {
  const { outcome } = await decoderOf({ schema: ORDER });
  assert.match(outcome('{"id":1,"a\\ud800😀":1}'), /additional properties: a\ufffd😀 /);
  assert.ok(outcome(`{"id":1,"${"x".repeat(100_000)}":1}`).length < 600);
});

test("what is no JSON is bad before it is checked", async () => {
  const { outcome } = await decoderOf({ schema: ORDER });
  assert.match(outcome(""), /^decode EMPTY_VALUE/);
  for (const json of ["{", "{'id':1}", '{"id":NaN}', '{"id":1}x', '{"id":01}'])
    assert.match(outcome(json), /^decode MALFORMED_JSON/);
  assert.equal(outcome('\ufeff{"id":1}'), "decode MALFORMED_JSON: the value begins with a byte order mark");
  assert.match(outcome(Buffer.from('{"id":1,"at":"\xff"}', "latin1")), /^decode INVALID_UTF8/);
});

test("numbers beyond a double are numbers: whether a column holds them is for the encoder to say", async () => {
  const schema = { type: "object", properties: { n: { type: "number" }, i: { type: "integer" } } };
  const { outcome } = await decoderOf({ schema });
  for (const json of ['{"n":1e400}', '{"i":123456789012345678901234567890}', '{"i":1e400}'])
    assert.equal(outcome(json), json);
});

test("names of Object's own are fields like others", async () => {
  const schema = { type: "object", required: ["toString"], properties: { constructor: { type: "string" } } };
  const { outcome } = await decoderOf({ schema });
  assert.match(outcome("{}"), /^schema SCHEMA_VIOLATED: the message: must have required/);
  assert.match(outcome('{"toString":1}'), /^\{/);
  assert.match(outcome('{"toString":1,"constructor":1}'), /^schema SCHEMA_VIOLATED: constructor: must be/);
});

test("each draft is read by its own rules", async () => {
  const draft = (name: string, rest: object) => ({ schema: { $schema: name, ...rest } });
  const { outcome } = await decoderOf(
    draft("http://json-schema.org/draft-07/schema#", { properties: { p: { items: [{ type: "string" }] } } }),
    draft("https://json-schema.org/draft/2019-09/schema", { dependentRequired: { a: ["b"] } }),
    draft("https://json-schema.org/draft/2020-12/schema", {
      properties: { p: { prefixItems: [{ type: "string" }] } },
    }),
    draft("http://json-schema.org/draft-06/schema#", { properties: { p: { const: 1 } } }),
    draft("http://json-schema.org/draft-04/schema#", {}),
  );
  assert.match(outcome('{"p":[1]}', 1), /SCHEMA_VIOLATED/);
  assert.match(outcome('{"a":1}', 2), /SCHEMA_VIOLATED/);
  assert.match(outcome('{"p":[1]}', 3), /SCHEMA_VIOLATED/);
  assert.match(outcome('{"p":2}', 4), /SCHEMA_VIOLATED/);
  assert.match(outcome("{}", 5), /^decode UNREADABLE_SCHEMA: schema 5 cannot be read: .*draft-04/);
});

test("references come from the registry alone; what is not there is not fetched", async () => {
  const references = [
    { name: "http://lab/n.json", text: '{"$id":"http://lab/n.json","type":"integer"}', references: [] },
  ];
  const { outcome, decoder } = await decoderOf(
    { schema: { type: "object", properties: { n: { $ref: "http://lab/n.json" } } }, references },
    {
      schema: { $id: "http://lab/root.json", type: "object", properties: { n: { $ref: "n.json" } } },
      references,
    },
    { schema: { type: "object", properties: { n: { $ref: "http://127.0.0.1:9/gone.json" } } } },
  );
  for (const id of [1, 2]) {
    assert.equal(outcome('{"n":1}', id), '{"n":1}');
    assert.match(outcome('{"n":"1"}', id), /^schema SCHEMA_VIOLATED: n: must be integer/);
  }
  assert.match(
    outcome("{}", 3),
    /^decode UNREADABLE_SCHEMA: .*can't resolve reference http:\/\/127.0.0.1:9\/gone.json/,
  );
  assert.deepEqual(
    decoder.schema()?.fields.map(({ name, type }) => [name, type]),
    [["n", "long"]],
  );
});

test("schemas that cannot be used make bad records: no JSON, another kind, promises, patterns that are none", async () => {
  const { outcome } = await decoderOf(
    { schema: "type: object" },
    { schema: { type: "record" }, type: "AVRO" },
    { schema: { $async: true, type: "object" } },
    { schema: { type: "object", properties: { a: { pattern: "(" } } } },
    { schema: { type: "nothing" } },
    { schema: { properties: { a: { $ref: "#/%" } } } },
  );
  for (let id = 1; id <= 6; id++) assert.match(outcome("{}", id), /^decode UNREADABLE_SCHEMA/, String(id));
  assert.match(outcome("{}", 7), /^decode UNKNOWN_SCHEMA/);
});

test("elements are unique by what they are, and many of them are no reason to wait", async () => {
  const { outcome } = await decoderOf({
    schema: { properties: { a: { uniqueItems: true }, b: { uniqueItems: false } } },
  });
  const unique = [
    '[{"x":1},[["x",1]],{"x":[1]},{"x":"1"}]',
    '[1,"1",true,"true",null,"null"]',
    "[[],{},[[]]]",
    "[0.1,0.2]",
  ];
  const doubled = [
    '[{"x":1,"y":[2]},{"y":[2],"x":1.0}]',
    "[1,1.0]",
    "[-0,0]",
    '["a","\\u0061"]',
    "[[],[]]",
    "[null,null]",
  ];
  for (const items of unique) assert.match(outcome(`{"a":${items}}`), /^\{/, items);
  for (const items of doubled) {
    assert.match(outcome(`{"a":${items}}`), /SCHEMA_VIOLATED: a: must NOT have duplicate items/, items);
    assert.match(outcome(`{"b":${items}}`), /^\{/, items);
  }
  const many = JSON.stringify({ a: Array.from({ length: 100_000 }, (_, i) => ({ i })) });
  const begun = process.cpuUsage();
  assert.equal(outcome(many), many);
  assert.ok(process.cpuUsage(begun).user < 5e6);
});

test("a schema of yes lets everything to the encoder, one of no nothing", async () => {
  const { outcome } = await decoderOf({ schema: "true" }, { schema: "false" });
  assert.equal(outcome("[1]", 1), "[1]");
  assert.match(outcome("{}", 2), /SCHEMA_VIOLATED: the message: boolean schema is false/);
});

test("a message deeper than a schema in itself can be followed is bad, not the end", async () => {
  const { outcome } = await decoderOf({ schema: { type: "object", properties: { c: { $ref: "#" } } } });
  const depth = 100_000;
  assert.match(
    outcome(`${'{"c":'.repeat(depth)}{}${"}".repeat(depth)}`),
    /^(decode MALFORMED_JSON|schema SCHEMA_VIOLATED)/,
  );
});

test("no bytes after the id make it throw", async () => {
  const { outcome } = await decoderOf({ schema: ORDER });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 20 }),
        fc.json().map((json) => Buffer.from(json)),
      ),
      (bytes) => {
        outcome(bytes);
      },
    ),
    { numRuns: 500 },
  );
});
