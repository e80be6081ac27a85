/** Debezium's messages in all the shapes that one topic may hold. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createDebeziumDecoder, type DebeziumOptions } from "./debezium.ts";
import { decodeWith, positionsOf, positionText, shown, type Told } from "./messages.fixture.ts";

const decode = (told: Told, options: DebeziumOptions = {}) =>
  decodeWith(createDebeziumDecoder(options), told);
const text = (told: Told, options?: DebeziumOptions) => shown(decode(told, options));

const key = { id: 7 };
const mysql = {
  ...{
    connector: "mysql",
    name: "shop",
    ts_ms: 1767225600000,
    snapshot: "false",
    db: "inv",
    table: "customers",
  },
  ...{ server_id: 11, gtid: null, file: "bin.000009", pos: 3070, row: 0, thread: 7 },
};
const postgres = {
  ...{ connector: "postgresql", name: "shop", ts_ms: 1767225600000, ts_us: 1767225600000123, db: "inv" },
  ...{
    snapshot: "false",
    sequence: '["91000400","91000512"]',
    table: "customers",
    txId: 9021,
    lsn: 91000512,
  },
};
const change = (op: string, before: unknown, after: unknown, source: object = postgres) => ({
  ...{ before, after, source, op, ts_ms: 1767225600200, transaction: null },
});

test("creates, updates and snapshot reads are upserts, deletes are deletes", () => {
  for (const op of ["c", "u", "r"])
    assert.deepEqual(text({ key, value: change(op, null, { id: 7, name: "Ada" }) }), [
      'upsert [7] {"id":7,"name":"Ada"}',
    ]);
  assert.deepEqual(text({ key, value: change("d", { id: 7, name: "Ada" }, null) }), ['delete [7] {"id":7}']);
  assert.deepEqual(text({ key, value: change("d", null, null) }), ['delete [7] {"id":7}']);
});

test("positions are those of the log, in all their digits", () => {
  const value = (source: object) => ({ key, value: change("u", null, { id: 7 }, source) });
  assert.deepEqual(positionsOf(decode(value(postgres))), [
    "postgresql/shop/inv 91000400 91000512 0 @1767225600000123",
  ]);
  assert.deepEqual(positionsOf(decode(value(mysql))), ["mysql/shop/11/bin 9 3070 0 @1767225600000000"]);
  assert.deepEqual(positionsOf(decode(value({ ...mysql, gtid: "uuid:42" }))), [
    "mysql/shop/11/bin/uuid:42 9 3070 0 @1767225600000000",
  ]);
  const large = JSON.stringify(change("u", null, { id: 7 }, {})).replace(
    '"source":{}',
    '"source":{"connector":"postgresql","lsn":9007199254740993,"snapshot":true}',
  );
  assert.deepEqual(positionsOf(decode({ key, value: large })), [
    "postgresql// 9007199254740993 9007199254740993 0 @null snapshot",
  ]);
  assert.deepEqual(positionsOf(decode(value({ connector: "sqlserver" }))), ["nowhere"]);
});

test("the fields of the first key are the table's, unless columns are told; then a row tells its own", () => {
  const decoder = createDebeziumDecoder({});
  assert.equal(decoder.keyColumns, null);
  decodeWith(decoder, { key: { b: 1, a: "x" }, value: change("c", null, { a: "x", b: 1 }) });
  assert.deepEqual(decoder.keyColumns, ["b", "a"]);
  const swapped = decodeWith(decoder, { key: { a: "x", b: 1 }, value: change("c", null, { a: "x", b: 1 }) });
  assert.deepEqual(shown(swapped), ['upsert [1,"x"] {"a":"x","b":1}']);
  const told = { keyColumns: ["name"] };
  assert.deepEqual(text({ key, value: change("c", null, { id: 7, name: "Ada" }) }, told), [
    'upsert ["Ada"] {"id":7,"name":"Ada"}',
  ]);
  const moved = change("u", { name: "Ada" }, { id: 7, name: "Ada L." });
  assert.deepEqual(text({ key, value: moved }, told), [
    'delete ["Ada"] {"name":"Ada"}',
    'upsert ["Ada L."] {"id":7,"name":"Ada L."}',
  ]);
});

test("a message without a key, or with half of one, is a letter that names the column", () => {
  assert.match(
    text({ value: change("c", null, { id: 7 }) })[0]!,
    /^CDC_KEY_MISSING: the message's key is no/,
  );
  const told = { keyColumns: ["id", "tenant"] };
  assert.match(
    text({ value: change("c", null, { id: 7 }) }, told)[0]!,
    /^CDC_KEY_MISSING: tenant .* not there$/,
  );
  assert.match(
    text({ value: change("c", null, { id: null, tenant: 1 }) }, told)[0]!,
    /^CDC_KEY_MISSING: id .* null$/,
  );
});

test("a change of the key is a delete and a create, each marked, and the tombstone in between is none", () => {
  const decoder = createDebeziumDecoder({});
  const removed = {
    key: { id: 1 },
    value: change("d", { id: 1 }, null),
    headers: { "__debezium.newkey": "{}" },
  };
  const made = {
    key: { id: 2 },
    value: change("c", null, { id: 2 }),
    headers: { "__debezium.oldkey": "{}" },
  };
  assert.deepEqual(positionsOf(decodeWith(decoder, removed)), [
    "postgresql/shop/inv 91000400 91000512 2 @1767225600000123",
  ]);
  assert.deepEqual(shown(decodeWith(decoder, { ...removed, value: null, offset: 1 })), [
    "skipped: tombstone",
  ]);
  assert.deepEqual(positionsOf(decodeWith(decoder, made)), [
    "postgresql/shop/inv 91000400 91000512 1 @1767225600000123",
  ]);
  // Where the delete was the last that another process saw.
  assert.deepEqual(text({ ...removed, value: null }), ["skipped: tombstone"]);
});

test("a tombstone behind its delete is none, alone it is the delete (hudi#8519, kafka-connect-jdbc#1421)", () => {
  const decoder = createDebeziumDecoder({});
  const one = (told: Told) => shown(decodeWith(decoder, told));
  one({ key, value: change("d", { id: 7 }, null), offset: 5 });
  assert.deepEqual(one({ key: { id: 8 }, value: null, partition: 1 }), ['delete [8] {"id":8}']);
  assert.deepEqual(one({ key, value: null, offset: 6 }), ["skipped: tombstone"]);
  assert.deepEqual(one({ key, value: null, offset: 7 }), ['delete [7] {"id":7}']);
  // Read once more from an earlier place.
  assert.deepEqual(one({ key, value: null, offset: 4 }), ['delete [7] {"id":7}']);
  assert.deepEqual(positionsOf(decode({ key, value: null })), ["nowhere"]);
  assert.match(text({ key: "seven", value: null }, { keyColumns: ["id"] })[0]!, /^CDC_KEY_MISSING/);
});

test("values that did not change are absent, in each form that the placeholder has", () => {
  const placeholder = "__debezium_unavailable_value";
  const after = {
    id: 7,
    bio: placeholder,
    photo: Buffer.from(placeholder).toString("base64"),
    tags: [placeholder],
  };
  assert.deepEqual(text({ key, value: change("u", null, after) }), [
    'upsert [7] {"id":7} without bio,photo,tags',
  ]);
  const told = { placeholder: `hex:${Buffer.from("?").toString("hex")}` };
  assert.deepEqual(text({ key, value: change("u", null, { id: 7, bio: "?", note: placeholder }) }, told), [
    `upsert [7] {"id":7,"note":"${placeholder}"} without bio`,
  ]);
});

test("a truncate has a position and no key", () => {
  const decoded = decode({ value: change("t", null, null) });
  assert.deepEqual(shown(decoded), ["truncate postgresql/shop/inv 91000400 91000512 0 @1767225600000123"]);
});

test("what is not of rows is skipped by its kind", () => {
  const skipped: [string, unknown][] = [
    ["message", change("m", null, null)],
    ["heartbeat", { ts_ms: 1767225605000 }],
    ["transaction", { status: "END", id: "9021:91000600", ts_ms: 1, event_count: 1, data_collections: [] }],
    [
      "schema change",
      { source: mysql, ts_ms: 1, databaseName: "inv", ddl: "ALTER TABLE c", tableChanges: [] },
    ],
  ];
  for (const [kind, value] of skipped) assert.deepEqual(text({ key, value }), [`skipped: ${kind}`]);
});

test("unwrapped rows tell with two underscores what the connector adds", () => {
  const value = {
    id: 7,
    name: "Ada",
    __op: "u",
    __source_lsn: 91000512,
    __source_ts_ms: 5,
    __deleted: "false",
  };
  assert.deepEqual(text({ key, value }), ['upsert [7] {"id":7,"name":"Ada"}']);
  assert.deepEqual(positionsOf(decode({ key, value })), ["postgresql// 91000512 91000512 0 @5000"]);
  assert.deepEqual(text({ key, value: { id: 7, name: "Ada", __deleted: "true" } }), ['delete [7] {"id":7}']);
  assert.deepEqual(positionsOf(decode({ key, value: { id: 7, __file: "bin.000002", __pos: 4, __row: 1 } })), [
    "mysql//0/bin 2 4 1 @null",
  ]);
  assert.deepEqual(positionsOf(decode({ key, value: { id: 7 } })), ["nowhere"]);
});

test("with schemas values become what their types mean, and columns are promised", () => {
  const field = (field: string, type: string, name?: string, parameters?: object) => ({
    ...{ field, type, optional: true },
    ...(name ? { name } : {}),
    ...(parameters ? { parameters } : {}),
  });
  const fields = [
    field("id", "int64"),
    field("fee", "bytes", "org.apache.kafka.connect.data.Decimal", {
      scale: "2",
      "connect.decimal.precision": "10",
    }),
    { ...field("any", "struct", "io.debezium.data.VariableScaleDecimal"), fields: [] },
    field("born", "int32", "io.debezium.time.Date"),
    field("local", "int64", "io.debezium.time.MicroTimestamp"),
    field("nanos", "int64", "io.debezium.time.NanoTimestamp"),
    field("at", "string", "io.debezium.time.ZonedTimestamp"),
    field("opens", "int64", "io.debezium.time.MicroTime"),
    field("small", "int16"),
    { ...field("dates", "array"), items: field("", "int32", "io.debezium.time.Date") },
  ];
  const schema = (type: object[]) => ({
    ...{ type: "struct", name: "Envelope" },
    fields: [{ type: "struct", field: "after", fields: type }],
  });
  const after = {
    ...{ id: 7, fee: "B88=", any: { scale: 3, value: "+y4=" }, born: -1, local: 1767225600000001, small: 3 },
    ...{ nanos: 1767225600000000000, at: "2026-01-01T00:00:00Z", opens: -3_600_000_001, dates: [0, 1] },
  };
  const decoder = createDebeziumDecoder({});
  const value = JSON.stringify({ schema: schema(fields), payload: change("c", null, after) }).replace(
    "1767225600000000000",
    "1767225600000000001",
  );
  assert.deepEqual(shown(decodeWith(decoder, { key: { schema: null, payload: { id: 7 } }, value })), [
    `upsert [7] {"id":7,"fee":19.99,"any":-1.234,"born":"1969-12-31","local":"2026-01-01T00:00:00.000001","small":3,` +
      `"nanos":"2026-01-01T00:00:00.000000001","at":"2026-01-01T00:00:00Z","opens":"-01:00:00.000001","dates":["1970-01-01","1970-01-02"]}`,
  ]);
  const types = Object.fromEntries(decoder.promised!.fields.map(({ name, type }) => [name, type]));
  assert.deepEqual(types, {
    ...{ id: "long", fee: "decimal(10,2)", born: "date", local: "string", nanos: "string", at: "timestamp" },
    ...{ opens: "string", small: "short", dates: { type: "array", elementType: "date", containsNull: true } },
  });
  const wrong = { schema: schema(fields), payload: change("c", null, { id: 7, local: 1767225600000000000 }) };
  assert.match(
    text({ key, value: wrong })[0]!,
    /^BAD_TIME: local: 1767225600000000000 is no time of the years/,
  );
  const noDecimal = { schema: schema(fields), payload: change("c", null, { id: 7, fee: "19.99" }) };
  assert.match(text({ key, value: noDecimal })[0]!, /^WRONG_TYPE: fee: "19.99" is no decimal in base64/);
});

test("what is no change is a letter that says why", () => {
  assert.match(text({ key, value: "nothing" })[0]!, /^MALFORMED_JSON/);
  assert.match(text({ key, value: "[]" })[0]!, /^NOT_AN_OBJECT/);
  assert.match(text({ key, value: change("c", null, null) })[0]!, /^CDC_ROW_MISSING: operation c/);
  assert.match(text({ key, value: change("c", null, { id: 7, _cdc: 1 }) })[0]!, /^RESERVED_FIELD: .*_cdc/);
});

test("no bytes break a decoder, and what it makes of them has a position that a table can hold", () => {
  const piece = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .record({
        op: fc.constantFrom("c", "u", "d", "t", "x"),
        before: fc.jsonValue(),
        after: fc.jsonValue(),
        source: fc.jsonValue(),
      })
      .map((value) => JSON.stringify(value)),
  );
  const decoder = createDebeziumDecoder({ keyColumns: ["id"] });
  fc.assert(
    fc.property(fc.option(piece), fc.option(piece), (key, value) => {
      const decoded = decodeWith(decoder, { key, value });
      assert.ok(shown(decoded).length > 0);
      if ("changes" in decoded)
        for (const { position } of decoded.changes) assert.ok(positionText(position).length > 0);
    }),
    { numRuns: 500 },
  );
});
