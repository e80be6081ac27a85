import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { batchOf, openWorkbench, planFor, struct } from "../test/support/encoder-fixture.ts";
import { encodeApart } from "./encode-apart.ts";
import type { Encoded, EncodePlan } from "./encoder.ts";
import type { RawBatch } from "./raw-batch.ts";

const { signal } = new AbortController();
const plan = planFor(struct({ id: "long" }));
const values = (batch: RawBatch) =>
  Array.from({ length: batch.length }, (_, i) => Buffer.from(batch.value(i)!).toString());

/** An encoder whose statement fails where the batch has one of these; its files are named after the messages in them. */
function failingOn(poison: readonly string[], error: Error) {
  return encodeApart(async (batch: RawBatch): Promise<Encoded> => {
    const found = values(batch);
    if (found.some((value) => poison.includes(value))) throw error;
    const rows = found.length;
    return {
      files: [{ file: found.join(), partitionValues: {}, rows, size: 1, stats: "" }],
      bad: [],
      counts: new Map(found.map((_, i) => [batch.partition(i), { rows: 1, skipped: 0 }])),
      evolvedSchema: undefined,
    };
  });
}

test("the one message that makes the statement fail is a letter, and all others are rows", async () => {
  const all = Array.from({ length: 23 }, (_, i) => String(i));
  const encode = failingOn(["5", "22"], new Error("Conversion Error: no\nmore"));
  const { files, bad } = await encode(batchOf(all), plan, signal);
  assert.deepEqual(
    bad.map(({ index, code, message }) => [index, code, message]),
    [
      [5, "NOT_WRITABLE", "Conversion Error: no"],
      [22, "NOT_WRITABLE", "Conversion Error: no"],
    ],
  );
  const written = files.flatMap(({ file }) => file.split(","));
  assert.deepEqual(
    written,
    all.filter((value) => value !== "5" && value !== "22"),
  );
});

test("what also fails without any content is a bug, and no message becomes a letter for it", async () => {
  const encode = failingOn(["1", "{}"], new Error("Binder Error: a wrong statement"));
  await assert.rejects(encode(batchOf(["0", "1"]), plan, signal), /wrong statement/);
});

test("an outage of the disk or too little memory is nobody's fault", async () => {
  const full = failingOn(["1"], new Error("IO Error: Could not write file: No space left on device"));
  await assert.rejects(full(batchOf(["0", "1"]), plan, signal), (error) => isLabError(error, "STORE_FULL"));
  const memory = failingOn(["1"], new Error("Out of Memory Error: could not allocate"));
  await assert.rejects(memory(batchOf(["0", "1"]), plan, signal), /Out of Memory/);
  const refused = failingOn(["1", "{}"], new LabError("TRANSFORM_REFUSED", "no"));
  await assert.rejects(refused(batchOf(["1"]), plan, signal), (error) =>
    isLabError(error, "TRANSFORM_REFUSED"),
  );
});

test("a later half is written by the schema that the earlier one left", async () => {
  const seen: string[][] = [];
  const encode = encodeApart(async (batch: RawBatch, given: EncodePlan): Promise<Encoded> => {
    if (values(batch).includes("bad")) throw new Error("Invalid Input Error: bad");
    seen.push(given.schema.fields.map((field) => field.name));
    const evolvedSchema = values(batch).includes("grows") ? struct({ id: "long", more: "long" }) : undefined;
    return { files: [], bad: [], counts: new Map(), evolvedSchema };
  });
  const encoded = await encode(batchOf(["grows", "bad", "x", "y"]), plan, signal);
  assert.deepEqual(encoded.evolvedSchema, struct({ id: "long", more: "long" }));
  assert.deepEqual(seen.at(-1), ["id", "more"]);
});

const levels = (count: number) => `${'{"a":'.repeat(count)}1${"}".repeat(count)}`;

test("messages that no table can hold, but are JSON, stop nobody", async (t) => {
  const bench = await openWorkbench(t);
  const odd = [
    '{"id":2,"a\\u0000b":1}',
    `{"id":3,"deep":${levels(300)}}`,
    `{"id":4,"list":${"[".repeat(300)}${"]".repeat(300)}}`,
  ];
  const { encoded, rows } = await bench.encode(batchOf(['{"id":1}', ...odd, '{"id":5}']), plan);
  assert.deepEqual(
    [...rows.values()].map((row) => Number(row.id)),
    [1, 5],
  );
  assert.deepEqual(
    encoded.bad.map((bad) => bad.code),
    ["UNKNOWN_FIELD", "UNKNOWN_FIELD", "UNKNOWN_FIELD"],
  );
});

test("as deep as a column may be, it is written and read", async (t) => {
  const bench = await openWorkbench(t);
  const { encoded, rows } = await bench.encode(batchOf([`{"id":1,"deep":${levels(60)}}`]), plan);
  assert.deepEqual([encoded.bad, rows.size], [[], 1]);
});

test("an encode leaves nothing in the staging folder but its files", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT *, CASE WHEN id = 2 THEN error('no') ELSE 'x' END AS date FROM messages";
  for (const partitionColumns of [[], ["date"]]) {
    const batch = batchOf(['{"id":1}', '{"id":2}', '{"id":3}']);
    const { encoded } = await bench.encode(
      batch,
      planFor(struct({ id: "long", date: "string" }), { transform, partitionColumns }),
    );
    assert.equal(encoded.bad.length, 1);
    for (const { file } of encoded.files) await rm(file);
  }
  const left = await readdir(bench.stagingDir);
  assert.deepEqual(
    left.filter((name) => name !== "spill"),
    [],
  );
});

test("a header may have any name", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"id":1}'], () => ({
    headers: [
      ["a\0b", Buffer.from("x")],
      ["'", null],
    ],
  }));
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual([encoded.bad, rows.size], [[], 1]);
});
