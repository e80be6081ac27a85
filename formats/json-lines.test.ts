import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createJsonLinesDecoder } from "./json-lines.ts";

const decoder = createJsonLinesDecoder();

function decode(text: string | Uint8Array | null) {
  return decoder.decode(typeof text === "string" ? Buffer.from(text) : text);
}

function objects(text: string): string[] {
  const decoded = decode(text);
  assert.ok("objects" in decoded, JSON.stringify(decoded));
  return decoded.objects.map((json) => Buffer.from(json).toString("utf8"));
}

function badOf(text: string | Uint8Array | null): string {
  const decoded = decode(text);
  assert.ok("bad" in decoded);
  return `${decoded.bad.stage} ${decoded.bad.code}: ${decoded.bad.message}`;
}

test("each object of a message comes with its place, and otherwise byte for byte", () => {
  const text = '{"n":9007199254740993.10, "n":1e2}\n\r\n  \n{}\r\n { } \n\t{"ü":"\\u00fc"} ';
  assert.deepEqual(objects(text), [
    '{"_kafka_index":0,"n":9007199254740993.10, "n":1e2}',
    '{"_kafka_index":1}',
    '{"_kafka_index":2 }',
    '{"_kafka_index":3,"ü":"\\u00fc"}',
  ]);
});

test("one object alone is a message, too, with and without a newline at its end", () => {
  for (const text of ['{"a":1}', '{"a":1}\n', '\n{"a":1}\r\n'])
    assert.deepEqual(objects(text), ['{"_kafka_index":0,"a":1}']);
});

test("what was written is what is read, whatever the objects hold", () => {
  const object = fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue(), { maxKeys: 4 });
  fc.assert(
    fc.property(
      fc.array(object, { minLength: 1, maxLength: 5 }),
      fc.constantFrom("\n", "\r\n", "\n \n"),
      (values, end) => {
        fc.pre(values.every((value) => !Object.hasOwn(value, "_kafka_index")));
        const read = objects(values.map((value) => JSON.stringify(value)).join(end));
        const expected = values.map((value, i) => JSON.stringify({ _kafka_index: i, ...value }));
        assert.deepEqual(
          read.map((json) => JSON.parse(json)),
          expected.map((json) => JSON.parse(json)),
        );
      },
    ),
    { numRuns: 200 },
  );
});

test("a line that is no whole object makes the message bad and is named", () => {
  const good = '{"a":1}\n\n';
  assert.equal(badOf(`${good}[1]`), "decode NOT_AN_OBJECT: line 3 is an array, not a JSON object");
  assert.equal(badOf(`${good}null`), "decode NOT_AN_OBJECT: line 3 is null, not a JSON object");
  assert.equal(badOf(`5\n${good}`), "decode NOT_AN_OBJECT: line 1 is a number, not a JSON object");
  assert.equal(badOf('{\n"a":1\n}'), "decode MALFORMED_JSON: line 1 is not one whole JSON object");
  assert.equal(badOf(`${good}{"a":1},`), "decode MALFORMED_JSON: line 3 is not one whole JSON object");
  assert.equal(badOf('\ufeff{"a":1}'), "decode MALFORMED_JSON: line 1 begins with a byte order mark");
});

test("nothing but blank lines, nothing at all and a tombstone are bad", () => {
  for (const text of ["", "\n", " \r\n\t\n"])
    assert.equal(badOf(text), "decode EMPTY_VALUE: the value has no line with a JSON object");
  assert.match(badOf(null), /^decode NULL_VALUE/);
});

test("bytes that are no text make the whole message bad, not a line of it", () => {
  assert.match(badOf(Buffer.from('{"a":1}\n{"b":"\xff"}', "latin1")), /^decode INVALID_UTF8/);
});

test("a field with the index's name is refused however it is spelled, a text or an inner field is not", () => {
  for (const name of ["_kafka_index", "\\u005fkafka_index", "_kafka\\u005Findex", "_\\u006bafka_inde\\u0078"])
    assert.equal(
      badOf(`{}\n{"a":{}, "${name}":1}`),
      "schema RESERVED_FIELD: line 2 has a field named _kafka_index",
    );
  for (const text of ['{"a":"_kafka_index"}', '{"a":{"_kafka_index":1}}', '{"_kafka_indexes":1}'])
    assert.equal(objects(text).length, 1);
});

test("no splice makes JSON of what was none", () => {
  const piece = fc.constantFrom("{", "}", ",", '"a"', ":", "1", " ", '"a":1', "{}", "[", "]", "\\");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 7 }), (pieces) => {
      const text = `{${pieces.join("")}}`;
      const decoded = decode(text);
      assert.ok("objects" in decoded);
      const isJson = (json: string) => {
        try {
          JSON.parse(json);
          return true;
        } catch {
          return false;
        }
      };
      assert.equal(isJson(Buffer.from(decoded.objects[0]!).toString()), isJson(text), text);
    }),
    { numRuns: 2000 },
  );
});

test("it promises the column of the index", () => {
  assert.deepEqual(decoder.schema()?.fields, [
    { name: "_kafka_index", type: "integer", nullable: true, metadata: {} },
  ]);
});
