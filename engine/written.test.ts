import assert from "node:assert/strict";
import { test } from "node:test";
import {
  batchOf,
  openWorkbench,
  planFor,
  START_MS,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";

const numbered = (count: number) =>
  Array.from({ length: count }, (_, id) => JSON.stringify({ id, ids: [id, id + 100] }));
const row = (offset: number, index: number | null = null) => ({
  partition: offset % 3,
  offset: BigInt(offset),
  timestampMs: START_MS + offset,
  index,
});

test("rows that a table has already are counted and not written again", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = planFor(struct({ id: "long" }), {
    onUnknownField: "ignore",
    written: [row(1), row(4), row(77)],
  });
  const encoded = await encoder.encode(batchOf(numbered(6)), plan, signal);
  assert.equal(
    encoded.files.reduce((sum, file) => sum + file.rows, 0),
    4,
  );
  assert.equal(
    [...encoded.counts.values()].reduce((sum, count) => sum + count.rows, 0),
    6,
  );
  assert.deepEqual(encoded.bad, []);
});

test("another record at the offset of one that is there is written: the topic was made anew", async (t) => {
  const { encoder } = await openWorkbench(t);
  const written = [{ ...row(1), timestampMs: 7 }];
  const plan = planFor(struct({ id: "long" }), { onUnknownField: "ignore", written });
  const { files } = await encoder.encode(batchOf(numbered(3)), plan, signal);
  assert.equal(files[0]?.rows, 3);
});

test("of the rows of one message only those that are there are left out", async (t) => {
  const { encoder, reader } = await openWorkbench(t);
  const plan = planFor(struct({ id: "long", _kafka_index: "integer" }), {
    transform: "SELECT unnest(ids) AS id, _kafka FROM messages",
    input: struct({ id: "long", ids: { type: "array", elementType: "long", containsNull: true } }),
    written: [row(0, 1), row(2, 0)],
  });
  const { files } = await encoder.encode(batchOf(numbered(3)), plan, signal);
  const ids = await reader.rows(`SELECT id FROM read_parquet('${files[0]?.file}') ORDER BY id`, { signal });
  assert.deepEqual(
    ids.map(({ id }) => Number(id)),
    [0, 1, 101, 102],
  );
});

test("where every row is there already, there is no file", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = planFor(struct({ id: "long" }), { onUnknownField: "ignore", written: [row(0), row(1)] });
  assert.deepEqual((await encoder.encode(batchOf(numbered(2)), plan, signal)).files, []);
});

test("a route that is refused makes letters of its messages, and is asked for once", async (t) => {
  const { encoder } = await openWorkbench(t);
  const asked: (string | null)[] = [];
  const plan = planFor(struct({ id: "long" }), {
    onUnknownField: "ignore",
    route: "CASE id % 3 WHEN 0 THEN NULL ELSE 'r' || id % 3 END",
    refuseRoute: (value) => {
      asked.push(value);
      return value === "r1" ? { code: "TOO_MANY_TABLES", message: "no" } : null;
    },
  });
  const encoded = await encoder.encode(batchOf(numbered(6)), plan, signal);
  assert.deepEqual(asked, [null, "r1", "r2"]);
  assert.deepEqual(
    encoded.bad.map(({ index, stage, code }) => [index, stage, code]),
    [
      [1, "route", "TOO_MANY_TABLES"],
      [4, "route", "TOO_MANY_TABLES"],
    ],
  );
  assert.equal(
    encoded.files.reduce((sum, file) => sum + file.rows, 0),
    4,
  );
});

test("a message that was one row is not written again, though a transform makes several of it by now", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = planFor(struct({ id: "long", _kafka_index: "integer" }), {
    transform: "SELECT unnest(ids) AS id, _kafka FROM messages",
    input: struct({ id: "long", ids: { type: "array", elementType: "long", containsNull: true } }),
    written: [row(0), row(2, 0)],
  });
  const { files } = await encoder.encode(batchOf(numbered(3)), plan, signal);
  assert.equal(
    files.reduce((sum, file) => sum + file.rows, 0),
    3,
  );
});
