import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { EVENT_DESCRIPTORS } from "../test/support/protobuf-fixture.ts";
import { createProtobufDecoder } from "./protobuf.ts";
import { readProtobufSource } from "./protobuf-file.ts";

function folderOf(t: TestContext, files: Record<string, string | Uint8Array>): string {
  const folder = mkdtempSync(join(tmpdir(), "lab-proto-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

test("a file's imports are found from its own folder upwards, theirs as well, in circles too", (t) => {
  const folder = folderOf(t, {
    "shop/order.proto": `syntax = "proto3"; package shop; import "shop/item.proto"; import "near.proto"; import "gone/options.proto";
      message Order { Item item = 1; Near near = 2; }`,
    "shop/item.proto": `syntax = "proto3"; package shop; import "money/money.proto"; message Item { money.Money price = 1; }`,
    "shop/near.proto": `syntax = "proto3"; package shop; import "shop/item.proto"; message Near { bool x = 1; }`,
    "money/money.proto": `syntax = "proto3"; package money; import "google/protobuf/timestamp.proto"; message Money { int64 cents = 1; }`,
  });
  const source = readProtobufSource(join(folder, "shop/order.proto"));
  const decoded = createProtobufDecoder(source).decode(Buffer.from([10, 4, 10, 2, 8, 7, 18, 2, 8, 1]));
  assert.ok("objects" in decoded);
  assert.equal(String(decoded.objects[0]), '{"item":{"price":{"cents":7}},"near":{"x":true}}');
});

test("any other name is a descriptor set's", (t) => {
  const folder = folderOf(t, { "event.desc": EVENT_DESCRIPTORS });
  const decoder = createProtobufDecoder(readProtobufSource(join(folder, "event.desc"), "Event"));
  assert.deepEqual(
    decoder.schema()?.fields.map(({ name }) => name),
    ["at", "userName", "n", "m"],
  );
});

test("a file that is not there and one that is no schema are told apart", (t) => {
  const folder = folderOf(t, { "bad.proto": "message {" });
  assert.throws(
    () => readProtobufSource(join(folder, "none.proto")),
    (error) => isLabError(error, "SCHEMA_NOT_FOUND"),
  );
  assert.throws(
    () => readProtobufSource(join(folder, "bad.proto")),
    (error) => isLabError(error, "SCHEMA_INVALID") && error.message.includes("bad.proto"),
  );
});
