/** What the bytes of Protobuf messages become. The fixture's messages were written by another encoder, Python's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import protobuf from "protobufjs";
import { type JsonNumber, parseJsonExactly } from "../engine/json-parse.ts";
import {
  GIFT_ORDER,
  LEGACY,
  LEGACY_PROTO,
  NEWER,
  ORDER,
  SHOP_PROTO,
} from "../test/support/protobuf-fixture.ts";
import { createProtobufDecoder } from "./protobuf.ts";

function decoderOf(text: string, message: string) {
  return createProtobufDecoder({ file: { text, references: [] }, message });
}

/** JSON of one message, or its fault. */
function read(decoder: ReturnType<typeof decoderOf>, bytes: Uint8Array): string {
  const decoded = decoder.decode(bytes);
  if ("bad" in decoded) return `${decoded.bad.stage} ${decoded.bad.code}: ${decoded.bad.message}`;
  assert.equal(decoded.objects.length, 1);
  return Buffer.from(decoded.objects[0]!).toString();
}

/** Fields as the wire has them: tags, varints, lengths. */
function wire(write: (writer: protobuf.Writer) => void): Uint8Array {
  const writer = protobuf.Writer.create();
  write(writer);
  return writer.finish();
}

const proto3 = (fields: string, more = "") => `syntax = "proto3"; ${more} message M { ${fields} }`;
const ORDERS = decoderOf(SHOP_PROTO, "shop.Order");

test("every field of another encoder's message is there, digit for digit", () => {
  assert.equal(
    read(ORDERS, ORDER),
    `{"id":-9223372036854775808,"big":18446744073709551615,"delta":-2147483648,"fixed":9223372036854775808,` +
      `"signed_fixed":-1,"small":-1,"natural":4294967295,"fixed_small":4294967295,"signed_small":-2147483648,` +
      `"zigzag":9223372036854775807,"price":0.1,"weight":0.10000000149011612,"paid":true,` +
      `"note":"é \\"q\\" \\n😀","payload":"AP8Q","colour":"RED","numbers":[1,-1,300],` +
      `"items":[{"sku":"x","count":2},{"sku":"","count":0}],` +
      `"by_name":{"k\\"1":{"sku":"v","count":0},"":{"sku":"","count":0}},"colours":{"-5":"RED","7":"9"},` +
      `"maybe":0,"email":"a@b","placed_at":"2024-03-01T00:00:00.123456Z","took":-1.5,"nick":"",` +
      `"total":18446744073709551615,"extra":"{\\"a\\":1.5,\\"b\\":[true,null,\\"x\\",{\\"c\\":{}}]}","free":"null",` +
      `"any":{"type_url":"type.googleapis.com/shop.Item","value":"CgFx"},` +
      `"tree":{"name":"r","children":["{\\"name\\":\\"c\\",\\"children\\":[{\\"name\\":\\"g\\",\\"children\\":[]}]}"]},` +
      `"tags":["","b"]}`,
  );
});

test("a message without bytes has the defaults of fields without presence, and no others", () => {
  assert.equal(
    read(ORDERS, new Uint8Array()),
    `{"id":0,"big":0,"delta":0,"fixed":0,"signed_fixed":0,"small":0,"natural":0,"fixed_small":0,"signed_small":0,` +
      `"zigzag":0,"price":0.0,"weight":0.0,"paid":false,"note":"","payload":"","colour":"NONE","numbers":[],"items":[],` +
      `"by_name":{},"colours":{},"tags":[]}`,
  );
});

test("of a oneof the last one counts", () => {
  const item = (json: string) => JSON.parse(json) as { email?: string; gift?: unknown };
  assert.deepEqual(item(read(ORDERS, GIFT_ORDER)).gift, { sku: "z", count: 0 });
  const emailThenGift = Buffer.concat([wire((w) => w.uint32(178).string("a@b")), GIFT_ORDER]);
  assert.equal("email" in item(read(ORDERS, emailThenGift)), false);
  const giftThenEmail = Buffer.concat([GIFT_ORDER, wire((w) => w.uint32(178).string("a@b"))]);
  assert.equal("gift" in item(read(ORDERS, giftThenEmail)), false);
});

test("proto2: groups, fields of its own kind as text, packed or not, defaults are no values", () => {
  const legacy = decoderOf(LEGACY_PROTO, "Legacy");
  assert.equal(
    read(legacy, LEGACY),
    `{"id":0,"line":[{"n":7},{}],"kind":"B","plain":[1,2],"packed":[3,4],` +
      `"inner":"{\\"id\\":5,\\"line\\":[],\\"plain\\":[],\\"packed\\":[]}"}`,
  );
  const crossed = wire((w) =>
    w.uint32(8).int32(1).uint32(50).fork().int32(1).int32(2).ldelim().uint32(56).int32(3),
  );
  assert.equal(read(legacy, crossed), `{"id":1,"line":[],"plain":[1,2],"packed":[3]}`);
});

test("what a newer schema writes: unknown fields are let be, unknown numbers of an enum are kept", () => {
  const legacy = decoderOf(LEGACY_PROTO, "Legacy");
  assert.equal(read(legacy, NEWER), `{"id":1,"line":[],"kind":"9","plain":[],"packed":[]}`);
});

test("a required field that does not come makes a bad record, at any depth", () => {
  const legacy = decoderOf(LEGACY_PROTO, "Legacy");
  const expected = "decode MISSING_REQUIRED: legacy.Legacy.id is required and does not come";
  assert.equal(read(legacy, new Uint8Array()), expected);
  assert.equal(
    read(
      legacy,
      wire((w) => w.uint32(8).int32(1).uint32(66).fork().ldelim()),
    ),
    expected,
  );
});

test("a message that comes in pieces is one", () => {
  const decoder = decoderOf(
    proto3("In in = 1;", "message In { int32 a = 1; repeated int32 b = 2; optional int32 c = 3; }"),
    "M",
  );
  const pieces = wire((w) => {
    w.uint32(10).fork().uint32(8).int32(1).uint32(16).int32(5).uint32(24).int32(0).ldelim();
    w.uint32(10).fork().uint32(8).int32(2).uint32(16).int32(6).ldelim();
  });
  assert.equal(read(decoder, pieces), '{"in":{"a":2,"b":[5,6],"c":0}}');
});

test("of the entries of a map with one key the last counts; an entry without key or value has defaults", () => {
  const decoder = decoderOf(proto3("map<bool, string> m = 1;"), "M");
  const entry = (key: boolean | null, value: string | null) => (w: protobuf.Writer) => {
    w.uint32(10).fork();
    if (key !== null) w.uint32(8).bool(key);
    if (value !== null) w.uint32(18).string(value);
    return w.ldelim();
  };
  const bytes = wire((w) => {
    entry(true, "a")(w);
    entry(true, "b")(w);
    entry(null, null)(w);
  });
  assert.equal(read(decoder, bytes), '{"m":{"true":"b","false":""}}');
  const keys = decoderOf(proto3("map<string, int32> m = 1;"), "M");
  const named = wire((w) => w.uint32(10).fork().uint32(10).string("__proto__").uint32(16).int32(1).ldelim());
  assert.equal(read(keys, named), '{"m":{"__proto__":1}}');
});

test("times are exact or bad: all nine decimals, the years 1 to 9999", () => {
  const decoder = decoderOf(
    proto3("google.protobuf.Timestamp t = 1;", 'import "google/protobuf/timestamp.proto";'),
    "M",
  );
  const at = (seconds: string, nanos: number) =>
    read(
      decoder,
      wire((w) => w.uint32(10).fork().uint32(8).int64(seconds).uint32(16).int32(nanos).ldelim()),
    );
  const cases: [string, number, string][] = [
    ["0", 0, "1970-01-01T00:00:00Z"],
    ["0", 1, "1970-01-01T00:00:00.000000001Z"],
    ["-1", 999_999_000, "1969-12-31T23:59:59.999999Z"],
    ["-62135596800", 0, "0001-01-01T00:00:00Z"],
    ["253402300799", 999_999_999, "9999-12-31T23:59:59.999999999Z"],
  ];
  for (const [seconds, nanos, text] of cases) assert.equal(at(seconds, nanos), `{"t":"${text}"}`);
  for (const [seconds, nanos] of [
    ["-62135596801", 0],
    ["253402300800", 0],
    ["9223372036854775807", 0],
    ["0", -1],
    ["0", 1_000_000_000],
  ] as const)
    assert.match(at(seconds, nanos), /^decode BAD_TIME/);
});

test("durations are seconds as a decimal, exact or bad", () => {
  const decoder = decoderOf(
    proto3("google.protobuf.Duration d = 1;", 'import "google/protobuf/duration.proto";'),
    "M",
  );
  const of = (seconds: string, nanos: number) =>
    read(
      decoder,
      wire((w) => w.uint32(10).fork().uint32(8).int64(seconds).uint32(16).int32(nanos).ldelim()),
    );
  assert.equal(of("315576000000", 999_999_999), '{"d":315576000000.999999999}');
  assert.equal(of("0", -1), '{"d":-0.000000001}');
  assert.equal(of("-3", 0), '{"d":-3}');
  for (const [seconds, nanos] of [
    ["1", -1],
    ["-1", 1],
    ["315576000001", 0],
    ["0", 1_000_000_000],
  ] as const)
    assert.match(of(seconds, nanos), /^decode BAD_TIME/);
});

test("numbers that JSON cannot say are bad records that name the field", () => {
  const decoder = decoderOf(proto3("double d = 1; repeated float f = 2;"), "M");
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    assert.equal(
      read(
        decoder,
        wire((w) => w.uint32(9).double(value)),
      ),
      `decode NOT_FINITE: M.d is ${value}`,
    );
    assert.equal(
      read(
        decoder,
        wire((w) => w.uint32(18).fork().float(1).float(value).ldelim()),
      ),
      `decode NOT_FINITE: M.f is ${value}`,
    );
  }
  assert.equal(
    read(
      decoder,
      wire((w) => w.uint32(9).double(-0)),
    ),
    '{"d":-0.0,"f":[]}',
  );
  for (const [value, text] of [
    [5e-324, "5e-324"],
    [3, "3.0"],
    [1e20, "100000000000000000000.0"],
    [1e21, "1e+21"],
  ] as const)
    assert.equal(
      read(
        decoder,
        wire((w) => w.uint32(9).double(value)),
      ),
      `{"d":${text},"f":[]}`,
    );
});

test("text that is no UTF-8 is a bad record, in proto2 as well, in keys as well", () => {
  const bytes = (tag: number) =>
    wire((w) =>
      w
        .uint32(8)
        .int32(1)
        .uint32(tag)
        .bytes(Buffer.from([0x61, 0xff])),
    );
  assert.equal(
    read(decoderOf(LEGACY_PROTO, "Legacy"), bytes(18)),
    "decode INVALID_UTF8: legacy.Legacy.name is not UTF-8 text",
  );
  const surrogate = wire((w) => w.uint32(10).bytes(Buffer.from([0xed, 0xa0, 0x80])));
  assert.match(read(decoderOf(proto3("string s = 1;"), "M"), surrogate), /^decode INVALID_UTF8/);
  const key = wire((w) =>
    w
      .uint32(10)
      .fork()
      .uint32(10)
      .bytes(Buffer.from([0xff]))
      .ldelim(),
  );
  assert.match(
    read(decoderOf(proto3("map<string, int32> m = 1;"), "M"), key),
    /^decode INVALID_UTF8: M.m \(key\)/,
  );
});

test("free JSON of Google's is a text, a value of it that is none is bad", () => {
  const decoder = decoderOf(
    proto3("google.protobuf.Value v = 1;", 'import "google/protobuf/struct.proto";'),
    "M",
  );
  const empty = wire((w) => w.uint32(10).fork().ldelim());
  assert.match(read(decoder, empty), /^decode MALFORMED_PROTOBUF/);
  const whole = wire((w) => w.uint32(10).fork().uint32(17).double(3).ldelim());
  assert.equal(read(decoder, whole), '{"v":"3"}');
  const notFinite = wire((w) => w.uint32(10).fork().uint32(17).double(Number.NaN).ldelim());
  assert.match(read(decoder, notFinite), /^decode NOT_FINITE/);
});

test("bytes that are no message are bad: cut off, too long, of another kind", () => {
  const decoder = decoderOf(
    proto3("int32 a = 1; string s = 2; M2 m = 3;", "message M2 { int32 b = 1; }"),
    "M",
  );
  const cases: [string, Uint8Array][] = [
    ["a tag without a value", Buffer.from([8])],
    ["a number that does not end", Buffer.from([8, 0x80])],
    ["a number of more than ten bytes", Buffer.from([8, ...Array(10).fill(0xff), 1])],
    ["a text that is cut off", Buffer.from([18, 5, 97])],
    ["a length of 4 GB", Buffer.from([18, 0xff, 0xff, 0xff, 0xff, 0x0f])],
    ["a length beyond 32 bits", Buffer.from([18, 0xff, 0xff, 0xff, 0xff, 0xff, 1])],
    ["an inner field beyond its message", Buffer.from([26, 2, 8, 0x80, 1])],
    ["the number 0 of a field", Buffer.from([2, 0])],
    ["a wire type that does not exist", Buffer.from([15])],
    ["the end of a group that did not begin", Buffer.from([28])],
    ["an unknown group that does not end", Buffer.from([43, 8, 1])],
    ["a text where a number belongs", Buffer.from([10, 1, 97])],
    ["a number where a message belongs", Buffer.from([24, 1])],
    ["JSON", Buffer.from('{"a":1}')],
  ];
  for (const [name, bytes] of cases) assert.match(read(decoder, bytes), /^decode MALFORMED_PROTOBUF/, name);
});

test("messages within messages end at the depth where Google's readers end", () => {
  const decoder = decoderOf("syntax = 'proto3'; message N { N n = 1; }", "N");
  const nested = (depth: number) => {
    let bytes: Uint8Array = new Uint8Array();
    for (let i = 0; i < depth; i++) bytes = wire((w) => w.uint32(10).bytes(bytes));
    return read(decoder, bytes);
  };
  assert.match(nested(100), /^\{"n":"/);
  assert.match(nested(101), /^decode MALFORMED_PROTOBUF: .*deeper than 100/);
  assert.match(nested(5000), /^decode MALFORMED_PROTOBUF/);
  const groups = Buffer.alloc(100_000, 0x0b);
  assert.match(read(decoder, groups), /^decode MALFORMED_PROTOBUF/);
});

test("whatever bytes come, there is JSON or a bad record", () => {
  const legacy = decoderOf(LEGACY_PROTO, "Legacy");
  const flipped = fc
    .tuple(fc.constantFrom(ORDER, LEGACY, NEWER), fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat())
    .map(([bytes, at, value, length]) => {
      const copy = Buffer.from(bytes.subarray(0, 1 + (length % bytes.length)));
      copy[at % copy.length] = value;
      return copy;
    });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 30 }), flipped), (bytes) => {
      for (const decoder of [ORDERS, legacy]) {
        const decoded = decoder.decode(bytes);
        if ("objects" in decoded) JSON.parse(Buffer.from(decoded.objects[0]!).toString());
        else assert.match(decoded.bad.code, /^[A-Z_0-9]+$/);
      }
    }),
    { numRuns: 1500 },
  );
});

test("what protobufjs writes is read back, whatever the fields hold", () => {
  const text =
    proto3(`int64 l = 1; uint64 u = 2; sint64 z = 3; fixed64 f = 4; sfixed64 sf = 5; int32 i = 6; uint32 n = 7;
    sint32 si = 8; double d = 9; bool b = 10; string s = 11; bytes y = 12; repeated sint64 r = 13; optional string o = 14;
    map<uint64, string> m = 15;`);
  const type = protobuf.parse(text).root.lookupType("M");
  const decoder = decoderOf(text, "M");
  const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
  const natural = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
  const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const words = fc.string({ unit: "grapheme" });
  const message = fc.record(
    {
      ...{ l: long, u: natural, z: long, f: natural, sf: long, r: fc.array(long) },
      ...{ i: int, n: fc.nat({ max: 2 ** 32 - 1 }), si: int },
      d: fc.double({ noNaN: true, noDefaultInfinity: true }),
      b: fc.boolean(),
      s: words,
      y: fc.uint8Array(),
      o: words,
      m: fc.dictionary(natural, words, { noNullPrototype: true }),
    },
    {
      requiredKeys: ["l", "u", "z", "f", "sf", "r", "i", "n", "si", "d", "b", "s", "y", "m"],
      noNullPrototype: true,
    },
  );
  fc.assert(
    fc.property(message, (value) => {
      const bytes = type.encode(type.fromObject(value)).finish();
      const got = parseJsonExactly(read(decoder, bytes)) as Record<string, unknown>;
      const digits = (each: unknown) => (each as JsonNumber).text;
      for (const name of ["l", "u", "z", "f", "sf"] as const) assert.equal(digits(got[name]), value[name]);
      for (const name of ["i", "n", "si"] as const) assert.equal(digits(got[name]), String(value[name]));
      assert.deepEqual((got.r as unknown[]).map(digits), value.r);
      assert.ok(Object.is(Number(digits(got.d)), value.d));
      assert.deepEqual({ b: got.b, s: got.s, o: got.o }, { b: value.b, s: value.s, o: value.o });
      assert.deepEqual({ ...(got.m as object) }, value.m);
      assert.deepEqual(Buffer.from(got.y as string, "base64"), Buffer.from(value.y));
    }),
    { numRuns: 200 },
  );
});
