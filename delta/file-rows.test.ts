import assert from "node:assert/strict";
import { test } from "node:test";
import { fileRows } from "./file-rows.ts";
import type { PackedBlock } from "./slice.ts";

test("of some files statistics that stand packed are unpacked where somebody asks for them, and a copy of a file has them", () => {
  const texts = ['{"numRecords":1}', '{"numRecords":2}'];
  let unpacked = 0;
  const block: PackedBlock = {
    unpack() {
      unpacked++;
      const lengths = Int32Array.from(texts, ({ length }) => length);
      return { bytes: Buffer.from(texts.join("")), starts: Int32Array.of(0, texts[0]!.length), lengths };
    },
  };
  const rows = fileRows("file:///t");
  const file = (path: string) => ({ path, partitionValues: { p: path }, size: 1, modificationTime: 5 });
  for (const number of [0, 1])
    rows.add(0, { ...file(`f${number}`), dataChange: true, stats: { block, number } });
  rows.add(0, { ...file("bare"), dataChange: true });

  const [second] = rows.files(0, ({ p }) => p === "f1");
  const newest = rows.newestFiles(0, 3);
  assert.equal(unpacked, 0);
  assert.equal(second!.stats, texts[1]);
  assert.deepEqual({ ...second }, { ...file("f1"), dataChange: true, stats: texts[1] });
  const all = [...rows.files(0)];
  assert.deepEqual(all, [
    { ...file("f0"), dataChange: true, stats: texts[0] },
    { ...file("f1"), dataChange: true, stats: texts[1] },
    { ...file("bare"), dataChange: true },
  ]);
  assert.deepEqual(newest, all);
  assert.equal(unpacked, 1);
});
