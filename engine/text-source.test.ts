import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import {
  batchOf,
  nullable,
  openWorkbench,
  planFor,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";
import { createRawBatch } from "./raw-batch.ts";

const ANY = Buffer.from([0, 255, 10, 65]);

test("messages of bytes are key and value as they are, null included, whatever they hold", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ key: "binary", value: "binary" }), { format: "bytes" });
  const batch = batchOf([ANY, null, "", "text"], (i) => ({ key: i === 0 ? ANY : null }));
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual(encoded.bad, []);
  assert.deepEqual(
    [...rows.values()].map(({ key, value }) => [key, value]),
    [
      ["\\x00\\xFF\\x0AA", "\\x00\\xFF\\x0AA"],
      [null, null],
      [null, ""],
      [null, "text"],
    ],
  );
});

test("bytes need no look at the messages to know their columns", async (t) => {
  const { encoder } = await openWorkbench(t);
  assert.deepEqual(
    await encoder.inferSchema(createRawBatch(), { format: "bytes" }, signal),
    struct({ key: "binary", value: "binary" }),
  );
});

test("a column decides: text in a column of bytes, bytes that are text in a column of text", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ key: "string", value: "binary" }), { format: "bytes" });
  const batch = batchOf([ANY, "b"], (i) => ({ key: i === 0 ? Buffer.from("ä") : ANY }));
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.equal(rows.get(0)?.key, "ä");
  assert.deepEqual(
    encoded.bad.map(({ index, code, message }) => [index, code, message]),
    [[1, "INVALID_UTF8", "the key is not UTF-8 text"]],
  );
  const text = await bench.encode(batchOf([ANY, "b"]), { ...plan, format: "text" });
  assert.deepEqual(
    [...text.rows.values()].map(({ value }) => value),
    ["b"],
  );
  assert.deepEqual(
    text.encoded.bad.map(({ code }) => code),
    ["INVALID_UTF8"],
  );
});

test("a key or value column of another type is refused before anything is written", async (t) => {
  const { encoder } = await openWorkbench(t);
  for (const format of ["text", "bytes"] as const)
    await assert.rejects(
      encoder.encode(batchOf(["1"]), planFor(struct({ value: "long" }), { format }), signal),
      (error) => isLabError(error, "SCHEMA_MISMATCH") && error.details.column === "value",
    );
});

test("null where the column takes none is a letter; other columns stay null", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ value: "binary", note: "long" });
  const fields = [{ ...schema.fields[0]!, nullable: false }, nullable("note", "long")];
  const { encoded, rows } = await bench.encode(
    batchOf([null, "a"]),
    planFor({ type: "struct", fields }, { format: "bytes" }),
  );
  assert.deepEqual(
    encoded.bad.map(({ code }) => code),
    ["NULL_NOT_ALLOWED"],
  );
  assert.equal(rows.get(1)?.note, null);
});

test("a transform reads key and value of bytes as binary", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ size: "long" }), {
    format: "bytes",
    transform: "SELECT octet_length(value) AS size, _kafka FROM messages",
  });
  const { rows } = await bench.encode(batchOf([ANY]), plan);
  assert.equal(String(rows.get(0)?.size), "4");
});
