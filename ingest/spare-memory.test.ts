import assert from "node:assert/strict";
import { test } from "node:test";
import { createRawBatch } from "../engine/raw-batch.ts";
import { createSpareMemory } from "./spare-memory.ts";

const MIB = 1 << 20;
const ofMib = (mib: number) => createRawBatch({ capacityBytes: mib * MIB });
const message = {
  ...({ topic: "t", partition: 0, offset: 0n, timestampMs: 0, timestampType: "create" } as const),
  ...{ generation: 0, key: null, value: Buffer.from("{}"), headers: [] },
};

test("what is given back is taken again, empty", () => {
  const spare = createSpareMemory();
  const raw = ofMib(2);
  raw.append(message);
  spare.giveBack(raw);
  assert.equal(spare.take(), raw);
  assert.deepEqual([raw.length, raw.capacityBytes], [0, 2 * MIB]);
  assert.equal(spare.take(), null);
});

test("while one chunk is encoded another fills: both find memory, a third is let go", () => {
  const spare = createSpareMemory();
  const all = [ofMib(1), ofMib(1), ofMib(1)];
  for (const raw of all) spare.giveBack(raw);
  assert.deepEqual(new Set([spare.take(), spare.take()]), new Set(all.slice(0, 2)));
  assert.equal(spare.take(), null);
});

test("memory of a backlog is let go when a trickle follows, and that of the trickle is kept", () => {
  const spare = createSpareMemory();
  const [large, fitting] = [ofMib(32), ofMib(7)];
  spare.giveBack(fitting);
  spare.giveBack(large);
  spare.settle(6 * MIB);
  assert.equal(spare.take(), fitting);
  assert.equal(spare.take(), null);
});

test("the least that a chunk takes is kept for the smallest trickle", () => {
  const spare = createSpareMemory();
  spare.giveBack(ofMib(1));
  spare.settle(0);
  assert.notEqual(spare.take(), null);
});
