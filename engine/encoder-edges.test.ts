/** Edges that every format shares ("Edge cases" in docs/formats.md): what is text, which of doubled keys counts, null beside empty. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsOf } from "../kafka/fetch/columns.ts";
import { batchOf, mapOf, openWorkbench, planFor, struct } from "../test/support/encoder-fixture.ts";
import { createRawBatch } from "./raw-batch.ts";

/** Half of a surrogate pair, an overlong NUL, a character that is cut off, Latin-1: none of them is UTF-8. */
const NO_TEXT = [
  [0xed, 0xa0, 0x80],
  [0xc0, 0x80],
  [0xe2, 0x82],
  [0x47, 0x72, 0xf6],
  [0xf4, 0x90, 0x80, 0x80],
].map((bytes) => Buffer.from(bytes));

function inQuotes(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from('{"s":"'), bytes, Buffer.from('"}')]);
}

test("bytes that are no UTF-8 make a letter of a JSON message, a text message and a key", async (t) => {
  const bench = await openWorkbench(t);
  const json = await bench.encode(batchOf(NO_TEXT.map(inQuotes)), planFor(struct({ s: "string" })));
  const schema = struct({ key: "string", value: "string" });
  const text = await bench.encode(batchOf(NO_TEXT), planFor(schema, { format: "text" }));
  const keys = batchOf(
    NO_TEXT.map(() => "fine"),
    (i) => ({ key: NO_TEXT[i]! }),
  );
  const key = await bench.encode(keys, planFor(schema, { format: "text" }));
  for (const { encoded } of [json, text, key])
    assert.deepEqual(
      encoded.bad.map(({ stage, code }) => `${stage} ${code}`),
      NO_TEXT.map(() => "decode INVALID_UTF8"),
    );
});

test("a key that is no text does not matter to JSON messages: it is bytes, and empty is not null", async (t) => {
  const bench = await openWorkbench(t);
  const keys = [Buffer.from([0xff]), Buffer.alloc(0), null];
  const batch = batchOf(['{"s":"a"}', '{"s":"b"}', '{"s":"c"}'], (i) => ({ key: keys[i]! }));
  const { encoded, rows } = await bench.encode(batch, planFor(struct({ s: "string" })));
  assert.deepEqual(encoded.bad, []);
  assert.deepEqual(
    [...rows.values()].map(({ _kafka }) => (_kafka as { key: string | null }).key),
    ["\\xFF", "", null],
  );
});

test("bytes in a map are read whatever the columns beside it are called", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ item0: "string", item1: "string", m: mapOf("binary") });
  const batch = batchOf(['{"item0":"a","item1":"b","m":{"k":"AP8="}}']);
  const { encoded, rows } = await bench.encode(batch, planFor(schema));
  assert.deepEqual(encoded.bad, []);
  const { _kafka, ...row } = rows.get(0)!;
  assert.deepEqual(row, { item0: "a", item1: "b", m: { k: "\\x00\\xFF" } });
});

test("of text messages an empty key is an empty text, no key is null, a byte order mark is a character", async (t) => {
  const bench = await openWorkbench(t);
  const keys = [Buffer.alloc(0), null, Buffer.from("\ufeffk")];
  const batch = batchOf(["", null, "\ufeffx"], (i) => ({ key: keys[i]! }));
  const plan = planFor(struct({ key: "string", value: "string" }), { format: "text" });
  const { rows } = await bench.encode(batch, plan);
  assert.deepEqual(
    [...rows.values()].map(({ key, value }) => [key, value]),
    [
      ["", ""],
      [null, null],
      ["\ufeffk", "\ufeffx"],
    ],
  );
});

test("half of a surrogate pair is no text wherever it would be kept, and a whole pair is one character", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ s: "string", m: mapOf("string") });
  const halves = [
    '{"s":"\\ud83d"}',
    '{"s":"\\ude00\\ud83d"}',
    '{"m":{"k":"\\udfff"}}',
    '{"m":{"\\ud800":"v"}}',
  ];
  const batch = batchOf([...halves, '{"s":"\\ud83d\\ude00","m":{"\\uD83D\\uDE00":"😀"}}']);
  const { encoded, rows } = await bench.encode(batch, planFor(schema));
  assert.deepEqual(
    encoded.bad.map(({ index, stage, code }) => [index, stage, code]),
    halves.map((_, i) => [i, "decode", "INVALID_UTF8"]),
  );
  assert.equal(rows.get(4)!.s, "😀");
  assert.deepEqual(rows.get(4)!.m, { "😀": "😀" });
});

test("a byte order mark within a text is a character; before the message it is no JSON, whatever it stands for", async (t) => {
  const bench = await openWorkbench(t);
  const marks = [
    [0xef, 0xbb, 0xbf],
    [0xff, 0xfe],
    [0xfe, 0xff],
  ].map((mark) => Buffer.concat([Buffer.from(mark), Buffer.from("{}")]));
  const { encoded, rows } = await bench.encode(
    batchOf([...marks, '{"s":"\ufeffx"}']),
    planFor(struct({ s: "string" })),
  );
  assert.deepEqual(
    encoded.bad.map(({ code }) => code),
    ["MALFORMED_JSON", "INVALID_UTF8", "INVALID_UTF8"],
  );
  assert.match(encoded.bad[0]!.message, /byte order mark/);
  assert.equal(rows.get(3)!.s, "\ufeffx");
});

test("of doubled keys the last counts in maps, by escapes as well, and null counts as a value", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ n: "long", m: mapOf("long") });
  const { encoded, rows } = await bench.encode(
    batchOf(['{"m":{"k":1,"k":2},"n":1,"\\u006e":3}', '{"n":1,"n":null}', '{"m":{"k":"x","k":2}}']),
    planFor(schema),
  );
  assert.deepEqual(encoded.bad, []);
  assert.equal(String(rows.get(0)!.n), "3");
  assert.equal(String((rows.get(0)!.m as Record<string, unknown>).k), "2");
  assert.equal(rows.get(1)!.n, null);
  assert.equal(String((rows.get(2)!.m as Record<string, unknown>).k), "2");
});

test("a column whose name JSON must write with an escape takes the field of that name, and no other that looks like it", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ "a\\b": "string", 'q"q': "string", s: struct({ "t\tt": "string", z: "long" }) });
  const right = JSON.stringify({ "a\\b": "1", 'q"q': "2", s: { "t\tt": "3" } });
  for (const onUnknownField of ["deadletter", "ignore"] as const) {
    const { encoded, rows } = await bench.encode(
      batchOf([right, '{"a\\b":"1"}', '{"q"q":"2"}', '{"s":{"t\tt":"3"}}', '{"s":{"t\\tt":"4"}}']),
      planFor(schema, { onUnknownField }),
    );
    const { _kafka, ...row } = rows.get(0)!;
    assert.deepEqual(row, { "a\\b": "1", 'q"q': "2", s: { "t\tt": "3", z: null } });
    assert.deepEqual(rows.get(4)!.s, { "t\tt": "4", z: null });
    assert.equal(rows.get(1)?.["a\\b"] ?? null, null, "a backspace is no backslash");
    assert.deepEqual(
      encoded.bad.map(({ index, stage, code }) => `${index} ${stage} ${code}`),
      onUnknownField === "ignore"
        ? ["2 decode MALFORMED_JSON", "3 decode MALFORMED_JSON"]
        : ["1 schema UNKNOWN_FIELD", "2 decode MALFORMED_JSON", "3 decode MALFORMED_JSON"],
    );
  }
});

test("a fraction keeps its digits in a decimal of any scale, and a zero its sign in a double", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ d: "decimal(38,10)", e: "decimal(38,20)", f: "double" });
  const { rows } = await bench.encode(
    batchOf(['{"d":12345678901234.5,"e":-0.3,"f":-0}', '{"d":99999.99999,"e":123456789012345,"f":-0.0}']),
    planFor(schema),
  );
  const texts = [0, 1].map((i) => ["d", "e", "f"].map((name) => String(rows.get(i)![name])));
  assert.deepEqual(texts, [
    ["12345678901234.5000000000", "-0.30000000000000000000", "-0.0"],
    ["99999.9999900000", "123456789012345.00000000000000000000", "-0.0"],
  ]);
});

test("a header whose name is no text is kept with what a decoder makes of it, and the file can be read", async (t) => {
  const bench = await openWorkbench(t);
  const value = Buffer.from("{}");
  const headers = [...NO_TEXT.map((bytes) => "#".repeat(bytes.length)), "größe"].map(
    (name) => [name, Buffer.from("v")] as const,
  );
  const records = recordsOf([{ offset: 0n, timestampMs: 0, key: null, value, headers }]);
  // In Kafka a name is bytes, and only what reads it takes it for text.
  let at = 0;
  for (const bytes of NO_TEXT) {
    at = records.bytes.indexOf("#", at);
    at += bytes.copy(records.bytes, at);
  }
  const batch = createRawBatch();
  batch.appendAll({ topic: "t", partition: 0, timestampType: "create", generation: 0 }, records);
  const { rows } = await bench.encode(batch, planFor(struct({ n: "long" })));
  const read = (rows.get(0)!._kafka as { headers: { key: string }[] }).headers;
  assert.deepEqual(
    read.map(({ key }) => key),
    [...NO_TEXT.map((bytes) => bytes.toString("utf8")), "größe"],
  );
});

test("values of a million digits, and of megabytes of base64, are rows or letters like any others, and nobody waits for them", async (t) => {
  const bench = await openWorkbench(t);
  const zeros = "0".repeat(1_000_000);
  const base64 = "QUJD".repeat(3_000_000);
  const { encoded, rows } = await bench.encode(
    batchOf([
      `{"n":1${zeros}1}`,
      `{"d":1.${zeros}1}`,
      `{"n":1.${zeros}}`,
      `{"t":"2025-11-25T08:00:00.${zeros}1Z"}`,
      `{"t":"2025-11-25T08:00:00.5${zeros}Z"}`,
      `{"b":"${base64}"}`,
      `{"b":"${base64}!"}`,
    ]),
    planFor(struct({ n: "long", d: "decimal(10,2)", t: "timestamp", b: "binary" }), {
      onUnknownField: "deadletter",
    }),
  );
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => `${index} ${code}`),
    ["0 OUT_OF_RANGE", "1 OUT_OF_RANGE", "3 BAD_TIME", "6 BAD_BASE64"],
  );
  assert.deepEqual([...rows.keys()], [2, 4, 5]);
});
