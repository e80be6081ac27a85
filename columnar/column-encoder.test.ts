import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Encoder } from "../engine/encoder.ts";
import { createRawBatch } from "../engine/raw-batch.ts";
import {
  arrayOf,
  batchOf,
  mapOf,
  openWorkbench,
  planFor,
  START_MS,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";
import { createColumnEncoder } from "./column-encoder.ts";
import { loadZstd } from "./parquet-zstd.ts";

const ID = struct({ id: "long" });

/** An encoder whose inner one only counts what it is asked. */
async function encoderWithCounter(t: TestContext) {
  const stagingDir = await mkdtemp(join(tmpdir(), "column-encoder-"));
  t.after(() => rm(stagingDir, { recursive: true }));
  const asked: string[] = [];
  const inner = new Proxy({} as Encoder, {
    get: (_, name) => async () => {
      asked.push(String(name));
      return { files: [], bad: [], counts: new Map(), evolvedSchema: undefined };
    },
  });
  const openInner = async () => {
    asked.push("open");
    return { ...inner, encode: inner.encode, close: inner.close, checkConstraints: inner.checkConstraints };
  };
  const encoder = await createColumnEncoder({ stagingDir, openInner, compress: loadZstd(1)! });
  return { encoder, asked, stagingDir };
}

test("plain JSON opens no other encoder: not for new fields, letters, unusual spellings, partitions, or what rows must not lack", async (t) => {
  const { encoder, asked } = await encoderWithCounter(t);
  const batch = batchOf(['{"id":1}', '{"id":1e2,"new":[{"x":"\\u20ac"}]}', "{", '{"id":1.5}', null]);
  assert.deepEqual(
    await encoder.inferInput(batch, { format: "json" }, signal),
    struct({ id: "double", new: arrayOf(struct({ x: "string" })) }),
  );
  const plan = planFor(struct({ id: "long", date: "string" }), {
    partitionColumns: ["date"],
    derived: [{ kind: "date", column: "date" }],
    keepRaw: true,
  });
  await encoder.checkConstraints({ ...plan, configuration: {} }, signal);
  const { files, bad } = await encoder.encode(batch, plan, signal);
  assert.deepEqual(
    files.map(({ rows, partitionValues }) => [rows, partitionValues]),
    [[2, { date: "2025-11-25" }]],
  );
  assert.deepEqual(
    bad.map(({ index, code }) => [index, code]),
    [
      [2, "MALFORMED_JSON"],
      [3, "NOT_AN_INTEGER"],
      [4, "NULL_VALUE"],
    ],
  );
  await encoder.close();
  assert.deepEqual(asked, []);
});

test("what is not plain goes to the other encoder, which is opened once and closed", async (t) => {
  const { encoder, asked } = await encoderWithCounter(t);
  const batch = batchOf(['{"id":1}']);
  const plans = [
    planFor(ID, { transform: "SELECT id, _kafka FROM messages" }),
    planFor(ID, { route: "id" }),
    planFor(ID, { format: "text" }),
    planFor(ID, { configuration: { "delta.constraints.c": "id > 0" } }),
    planFor(struct({ id: "double" }), { partitionColumns: ["id"] }),
    planFor(struct({ id: "long", id_bucket: "integer" }), {
      partitionColumns: ["id_bucket"],
      derived: [{ kind: "bucket", column: "id_bucket", of: "id", count: 4 }],
    }),
    planFor(ID, { written: [{ partition: 0, offset: 0n, timestampMs: 0, index: null }] }),
  ];
  for (const plan of plans) await encoder.encode(batch, plan, signal);
  await encoder.close();
  assert.deepEqual(asked, ["open", ...plans.map(() => "encode"), "close"]);
});

test("an encode that is stopped leaves no file", async (t) => {
  const { encoder, stagingDir } = await encoderWithCounter(t);
  const batch = batchOf(Array.from({ length: 5000 }, (_, i) => `{"id":${i}}`));
  const stop = new AbortController();
  stop.abort(new Error("stopped"));
  await assert.rejects(encoder.encode(batch, planFor(ID), stop.signal), /stopped/);
  assert.deepEqual(await readdir(stagingDir), []);
});

test("schemas take turns, and rows of many partitions keep their arrays, maps and nulls", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({
    p: "string",
    list: arrayOf(arrayOf("long")),
    map: mapOf("double"),
    hour: "string",
  });
  const values = Array.from({ length: 400 }, (_, i) => {
    const list = Array.from({ length: i % 5 }, (_, n) =>
      n === 3 ? null : Array.from({ length: n }, () => i),
    );
    const map = Object.fromEntries(Array.from({ length: i % 40 }, (_, n) => [`k${n}`, n / 4]));
    return JSON.stringify({
      p: i % 7 === 0 ? null : `p${i % 7}`,
      ...(i % 3 === 0 ? {} : { list }),
      map: i % 4 === 0 ? null : map,
    });
  });
  const hourly = (i: number) => ({ timestampMs: START_MS + i * 60_000 });
  const parts = planFor(schema, {
    partitionColumns: ["p", "hour"],
    derived: [{ kind: "hour", column: "hour" }],
  });
  for (let turn = 0; turn < 2; turn++) {
    const { rows, encoded } = await bench.encode(batchOf(values, hourly), parts);
    assert.equal(rows.size, values.length);
    assert.ok(encoded.files.length > 40);
    assert.equal((await bench.encode(batchOf(['{"id":7}']), planFor(ID))).rows.size, 1);
  }
});

test("of doubled keys of a large map the last counts", async (t) => {
  const bench = await openWorkbench(t);
  const keys = Array.from({ length: 60 }, (_, i) => `"k${i}":${i}`);
  const { rows } = await bench.encode(
    batchOf([`{"m":{${[...keys, '"k3":-1'].join(",")}}}`, `{"m":{${keys.join(",")}}}`]),
    planFor(struct({ m: mapOf("long") })),
  );
  const third = [0, 1].map((place) => String((rows.get(place)!.m as Record<string, unknown>).k3));
  assert.deepEqual(third, ["-1", "3"]);
});

test("a message that is larger than what is copied at once is a row", async (t) => {
  const bench = await openWorkbench(t);
  const long = "größe \\n ".repeat(2000);
  const { rows } = await bench.encode(
    batchOf([`{"s":"${long}","t":"${"x".repeat(70_000)}"}`, '{"s":"","t":"y"}']),
    planFor(struct({ s: "string", t: "string" })),
  );
  assert.equal(rows.get(0)!.s, JSON.parse(`"${long}"`));
  assert.equal(String(rows.get(0)!.t).length, 70_000);
  assert.deepEqual([rows.get(1)!.s, rows.get(1)!.t], ["", "y"]);
});

test("a batch that needs more than the module's memory is the other encoder's, and the next one is plain again", async (t) => {
  const { encoder, asked } = await encoderWithCounter(t);
  const fields = Object.fromEntries(Array.from({ length: 4500 }, (_, i) => [`c${i}`, "long"] as const));
  const wide = planFor(struct({ id: "long", ...fields }));
  const large = createRawBatch();
  const message = batchOf(['{"id":1}']).message(0);
  for (let i = 0; i < 1_000_000; i++) large.append(message);
  await encoder.encode(large, wide, signal);
  assert.deepEqual(asked, ["open", "encode"]);
  const { files } = await encoder.encode(batchOf(['{"id":1}', '{"id":2}']), wide, signal);
  assert.deepEqual(
    files.map(({ rows }) => rows),
    [2],
  );
  assert.deepEqual(asked, ["open", "encode"]);
  await encoder.close();
});
