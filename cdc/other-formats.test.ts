/** DMS, Maxwell, DynamoDB and forms of one's own: shapes after their documentation, in the order in which `docs/cdc.md` has them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createDmsDecoder } from "./dms.ts";
import { createDynamoDbDecoder } from "./dynamodb.ts";
import { createMaxwellDecoder } from "./maxwell.ts";
import { decodeWith, positionsOf, shown } from "./messages.fixture.ts";
import { openChangeDecoder } from "./open-decoder.ts";
import type { PlainPaths } from "./options.ts";
import { createPlainDecoder } from "./plain.ts";
import { dateOf, isoMicros, localTimeOf, timeOfDay } from "./source-time.ts";

const dms = (value: unknown) => decodeWith(createDmsDecoder(["id"]), { value });
const dmsRecord = (
  operation: string,
  data: object | undefined,
  more: object = {},
  metadata: object = {},
) => ({
  ...(data ? { data } : {}),
  ...more,
  metadata: {
    ...{
      timestamp: "2026-01-01T00:00:01.250000Z",
      "record-type": "data",
      operation,
      "schema-name": "public",
    },
    ...{ "table-name": "c", "transaction-id": 8001, "transaction-record-id": 1, ...metadata },
    ...("commit-timestamp" in metadata ? {} : { "commit-timestamp": "2026-01-01T00:00:01.200004Z" }),
  },
});

test("DMS: loads, inserts and updates are upserts, and a column that is left out is NULL", () => {
  for (const operation of ["load", "insert", "update"]) {
    const decoded = dms(dmsRecord(operation, { id: 45, name: "Jo" }));
    assert.deepEqual(shown(decoded), ['upsert [45] {"id":45,"name":"Jo"}']);
  }
  assert.deepEqual(shown(dms(dmsRecord("delete", { id: 45 }))), ['delete [45] {"id":45}']);
});

test("DMS: a change of the key is seen by the image before, and by nothing else", () => {
  const moved = dmsRecord("update", { id: 45, name: "Jo" }, { "before-image": { id: 46 } });
  assert.deepEqual(shown(dms(moved)), ['delete [46] {"id":46}', 'upsert [45] {"id":45,"name":"Jo"}']);
});

test("DMS: the first load is older than every change, and changes are in the order of commits", () => {
  assert.deepEqual(positionsOf(dms(dmsRecord("load", { id: 1 }))), ["dms 0 0 0 @1767225601200004 snapshot"]);
  assert.deepEqual(positionsOf(dms(dmsRecord("update", { id: 1 }))), [
    "dms 1767225601200004 1 0 @1767225601200004",
  ]);
  const without = dmsRecord("update", { id: 1 }, {}, { "commit-timestamp": null });
  assert.deepEqual(positionsOf(dms(without)), ["nowhere"]);
});

test("DMS: control records, its own tables and unknown operations are skipped; what is none of it is a letter", () => {
  const control = { control: {}, metadata: { "record-type": "control", operation: "create-table" } };
  assert.deepEqual(shown(dms(control)), ["skipped: control"]);
  const own = dmsRecord("insert", { id: 1 }, {}, { "table-name": "awsdms_apply_exceptions" });
  assert.deepEqual(shown(dms(own)), ["skipped: control"]);
  assert.deepEqual(shown(dms(dmsRecord("rename", { id: 1 }))), ["skipped: rename"]);
  assert.match(shown(dms({ data: {} }))[0]!, /^NOT_A_CHANGE: .*metadata/);
  assert.match(shown(dms(dmsRecord("insert", undefined)))[0]!, /^NOT_A_CHANGE: insert has no object data/);
  assert.match(shown(dms(dmsRecord("insert", { name: "Jo" })))[0]!, /^CDC_KEY_MISSING: id/);
});

const maxwell = (value: unknown) => decodeWith(createMaxwellDecoder(["id"]), { value });
const maxwellMessage = (type: string, more: object) => ({
  ...{ database: "inv", table: "c", type, ts: 1767225600, data: { id: 7, name: "Ada" }, ...more },
});

test("Maxwell: rows come whole, and an old key is deleted", () => {
  assert.deepEqual(shown(maxwell(maxwellMessage("update", { old: { name: "A" } }))), [
    'upsert [7] {"id":7,"name":"Ada"}',
  ]);
  assert.deepEqual(shown(maxwell(maxwellMessage("update", { old: { id: 6 } }))), [
    'delete [6] {"id":6}',
    'upsert [7] {"id":7,"name":"Ada"}',
  ]);
  assert.deepEqual(shown(maxwell(maxwellMessage("delete", {}))), ['delete [7] {"id":7}']);
  for (const type of ["bootstrap-start", "bootstrap-complete", "table-alter"])
    assert.deepEqual(shown(maxwell(maxwellMessage(type, {}))), [`skipped: ${type}`]);
  assert.match(shown(maxwell({ id: 7 }))[0]!, /^NOT_A_CHANGE/);
});

test("Maxwell: the place in the binlog orders, or the second, the transaction and the row in it", () => {
  const at = (more: object, type = "insert") => positionsOf(maxwell(maxwellMessage(type, more)))[0];
  assert.equal(at({ position: "bin.000009:3410" }), "mysql/maxwell/0/bin 9 3410 0 @1767225600000000");
  assert.equal(at({ xid: 9021, xoffset: 3 }), "maxwell 1767225600 9021 3 @1767225600000000");
  assert.equal(at({ xid: 9021, commit: true }), `maxwell 1767225600 9021 ${2n ** 62n} @1767225600000000`);
  assert.equal(at({}, "bootstrap-insert"), "maxwell 1767225600 0 0 @1767225600000000 snapshot");
});

const dynamo = (value: unknown) => decodeWith(createDynamoDbDecoder(null), { value });
const streamRecord = (eventName: string, dynamodb: object) => ({
  ...{ eventID: "a1", eventName },
  dynamodb: {
    SequenceNumber: "1234567890123456789012345678901234567890",
    ApproximateCreationDateTime: 1767225600.5,
    ...dynamodb,
  },
});

test("DynamoDB: types become values, numbers keep 38 digits, and a removed item is deleted", () => {
  const digits = "12345678901234567890123456789012345678";
  const NewImage = {
    ...{ id: { N: "7" }, name: { S: "Ada" }, big: { N: digits }, isIn: { BOOL: true }, none: { NULL: true } },
    ...{
      list: { L: [{ S: "x" }, { N: "1.50" }] },
      map: { M: { a: { B: "AQI=" } } },
      set: { NS: ["1", "2"] },
    },
  };
  const decoded = dynamo(streamRecord("MODIFY", { Keys: { id: { N: "7" } }, NewImage }));
  assert.deepEqual(shown(decoded), [
    `upsert [7] {"id":7,"name":"Ada","big":${digits},"isIn":true,"none":null,"list":["x",1.50],"map":{"a":"AQI="},"set":[1,2]}`,
  ]);
  assert.deepEqual(positionsOf(decoded), [
    "dynamodb 1234 567890123456789012 345678901234567890 @1767225600500000",
  ]);
  const gone = streamRecord("REMOVE", {
    Keys: { id: { S: "a" } },
    OldImage: { id: { S: "a" }, n: { N: "1" } },
  });
  assert.deepEqual(shown(dynamo(gone)), ['delete ["a"] {"id":"a"}']);
});

test("DynamoDB: a stream of keys or old images alone cannot be merged, and says so", () => {
  const told = streamRecord("INSERT", { Keys: { id: { N: "7" } }, StreamViewType: "KEYS_ONLY" });
  assert.match(shown(dynamo(told))[0]!, /^CDC_ROW_MISSING: the stream's view is KEYS_ONLY/);
  const untyped = streamRecord("INSERT", { Keys: { id: { N: "seven" } }, NewImage: {} });
  assert.match(shown(dynamo(untyped))[0]!, /^WRONG_TYPE: id: is no number/);
  assert.match(shown(dynamo({ eventName: "INSERT" }))[0]!, /^NOT_A_CHANGE/);
});

const PATHS: PlainPaths = { op: "op", row: "row", key: "key", position: ["seq"], time: "at" };
const plain = (value: unknown, paths: PlainPaths = PATHS, key?: unknown) =>
  decodeWith(createPlainDecoder(paths, ["id"]), { key, value });

test("plain: paths tell what happened to which row, and in what order", () => {
  const upsert = plain({
    op: "upsert",
    key: { id: 7 },
    row: { id: 7, name: "Ada" },
    seq: 42,
    at: "2026-01-01T00:00:00Z",
  });
  assert.deepEqual(shown(upsert), ['upsert [7] {"id":7,"name":"Ada"}']);
  assert.deepEqual(positionsOf(upsert), ["plain 42 0 0 @1767225600000000"]);
  assert.deepEqual(shown(plain({ op: "DELETE", key: { id: 7 }, seq: 43 })), ['delete [7] {"id":7}']);
  assert.deepEqual(shown(plain({ op: "truncate", seq: "44", at: 5 })), ["truncate plain 44 0 0 @5000"]);
  const flatPaths = { op: "meta.kind", position: ["meta.file", "meta.pos"], deleteOps: ["X"] };
  const flat = plain({ id: 7, meta: { kind: "x", file: 1, pos: 2 } }, flatPaths);
  assert.deepEqual(shown(flat), ['delete [7] {"id":7}']);
  assert.deepEqual(positionsOf(flat), ["plain 1 2 0 @null"]);
});

test("plain: a message without an operation is an upsert, one without a value a delete of its key", () => {
  assert.deepEqual(shown(plain({ id: 7, v: 1 }, {})), ['upsert [7] {"id":7,"v":1}']);
  assert.deepEqual(shown(plain(null, PATHS, { id: 7 })), ['delete [7] {"id":7}']);
  assert.match(shown(plain(null, PATHS, "seven"))[0]!, /^CDC_KEY_MISSING/);
});

test("plain: an unknown operation, a missing row and a position that is none are letters", () => {
  assert.match(shown(plain({ op: "merge", row: {}, seq: 1 }))[0]!, /^UNKNOWN_OPERATION: op is "merge"/);
  assert.match(shown(plain({ op: "c", seq: 1 }))[0]!, /^CDC_ROW_MISSING: row is no object/);
  for (const seq of [1.5, "one", null, "99999999999999999999"])
    assert.match(shown(plain({ op: "c", row: { id: 1 }, seq }))[0]!, /^CDC_POSITION: seq is no whole number/);
});

test("a format that does not tell its key asks for it", () => {
  for (const format of ["dms", "maxwell", "plain"] as const)
    assert.throws(() => openChangeDecoder({ format, deletes: "hidden" }), { code: "CONFIG_INVALID" });
});

test("columns that are told to be times are, and a number that is none of its unit is a letter", () => {
  const timeColumns = new Map([
    ["born", "days" as const],
    ["at", "us" as const],
    ["none", "ms" as const],
  ]);
  const decoder = openChangeDecoder({
    format: "plain",
    keyColumns: ["id"],
    deletes: "hidden",
    plain: {},
    timeColumns,
  });
  const row = { id: 7, born: 20_454, at: 1_767_225_600_000_001, v: 1 };
  assert.deepEqual(shown(decodeWith(decoder, { value: row })), [
    'upsert [7] {"id":7,"born":"2026-01-01","at":"2026-01-01T00:00:00.000001Z","v":1}',
  ]);
  assert.match(
    shown(decodeWith(decoder, { value: { id: 7, at: 5e17 } }))[0]!,
    /^BAD_TIME: at: 500000000000000000 .* in us/,
  );
});

test("numbers that are times become texts in their unit's digits, and none outside of 1900 to 2200", () => {
  assert.equal(dateOf(20_454n), "2026-01-01");
  assert.equal(dateOf(-25_567n), "1900-01-01");
  assert.equal(dateOf(-25_568n), null);
  assert.equal(localTimeOf(-1n, "ms"), "1969-12-31T23:59:59.999");
  assert.equal(localTimeOf(1_767_225_600_000_001n, "us"), "2026-01-01T00:00:00.000001");
  assert.equal(localTimeOf(1_767_225_600n * 10n ** 9n, "us"), null);
  assert.equal(timeOfDay(838n * 3_600_000n, "ms"), "838:00:00.000");
  assert.equal(timeOfDay(900n * 3_600_000n, "ms"), null);
  assert.equal(isoMicros("2026-01-01 00:00:00.1234567"), 1_767_225_600_123_456n);
  assert.equal(isoMicros("2026-01-01T01:00:00+01:00"), 1_767_225_600_000_000n);
  assert.equal(isoMicros("yesterday"), null);
});
