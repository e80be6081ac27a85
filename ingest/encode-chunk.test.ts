/** A chunk in parts: what decodes to more than may stand in memory is encoded bit by bit, and becomes one chunk all the same. */

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { createTable } from "../delta/create.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Encoder } from "../engine/encoder.ts";
import { batchOf, openWorkbench, signal, struct, withKafka } from "../test/support/encoder-fixture.ts";
import { type ChunkContent, emptyChunk } from "./chunk.ts";
import { type EncodeInput, encodeChunk } from "./encode-chunk.ts";

const packed = (value: unknown) => gzipSync(JSON.stringify(value));

function chunkOf(values: readonly (Uint8Array | string | null)[]): ChunkContent {
  const raw = batchOf(values);
  const zero = { rows: 0, letters: 0, skipped: 0, minTimestampMs: 0, maxTimestampMs: 0, fingerprint: "" };
  const counts = new Map([0, 1, 2].map((partition) => [partition, { first: 0n, last: 99n, ...zero }]));
  return { ...emptyChunk(), raw, counts };
}

async function inputFor(encoder: Encoder): Promise<EncodeInput> {
  const schema = withKafka(struct({ id: "long" }));
  const table = await createTable(memoryStore(), { schema }, signal);
  const snapshot = await table.latest(signal);
  return {
    encoder,
    options: { format: "json", metadata: true, keepRaw: false, partitionBy: [], onUnknownField: "add" },
    decoding: { decoder: null, mayBeGzip: true, keepRaw: false, batchBytes: 15 },
    targetFor: async () => ({ snapshot, schema, messages: undefined }),
    refuseRoute: () => null,
    written: [],
    signal,
  };
}

const sum = (chunk: ChunkContent, of: "rows" | "letters") =>
  [...chunk.counts.values()].reduce((total, counts) => total + counts[of], 0);

test("each message of a chunk that is encoded in parts is a row or a letter once, and later parts know the columns of earlier ones", async (t) => {
  const { encoder } = await openWorkbench(t);
  const values = [
    packed({ id: 1 }),
    packed({ id: 2, more: 1 }),
    "{bad",
    packed({ id: 3, more: 2 }),
    packed({ id: 4 }),
  ];
  const chunk = chunkOf(values);
  await encodeChunk(chunk, await inputFor(encoder));
  assert.ok(chunk.files.length > 1, "in parts");
  assert.equal(
    chunk.files.reduce((total, file) => total + file.rows, 0),
    4,
  );
  assert.equal(sum(chunk, "rows"), 4);
  assert.equal(sum(chunk, "letters"), 1);
  assert.deepEqual(
    chunk.letters.map((letter) => letter.offset),
    [2n],
  );
  assert.deepEqual(
    chunk.evolvedSchema?.fields.map(({ name }) => name),
    ["id", "more", "_kafka"],
  );
  assert.equal(chunk.raw, null);
});

test("where a part fails, the chunk is as it was and no file is left", async (t) => {
  const { encoder } = await openWorkbench(t);
  const made: string[] = [];
  let calls = 0;
  const failing: Encoder = {
    ...encoder,
    async encode(...args) {
      if (++calls === 3) throw new Error("the disk is away");
      const encoded = await encoder.encode(...args);
      made.push(...encoded.files.map(({ file }) => file));
      return encoded;
    },
  };
  const chunk = chunkOf([1, 2, 3, 4, 5, 6].map((id) => packed({ id })));
  await assert.rejects(encodeChunk(chunk, await inputFor(failing)), /the disk is away/);
  assert.ok(chunk.raw && made.length > 0);
  assert.deepEqual([chunk.files, chunk.letters, sum(chunk, "rows")], [[], [], 0]);
  for (const file of made) await assert.rejects(stat(file), /ENOENT/);
});

test("a column that one part brings is kept, though a part after it brings none and another one does", async (t) => {
  const { encoder } = await openWorkbench(t);
  const chunk = chunkOf([
    packed({ id: 1, first: 1 }),
    packed({ id: 2, first: 2 }),
    packed({ id: 3, second: 3 }),
  ]);
  await encodeChunk(chunk, await inputFor(encoder));
  assert.equal(chunk.files.length, 3, "in parts");
  assert.deepEqual(
    chunk.evolvedSchema?.fields.map(({ name }) => name),
    ["id", "first", "second", "_kafka"],
  );
});
