import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ahead } from "./ahead.ts";
import type { LakeRecord } from "./lake.ts";

function recordOf(offset: number): LakeRecord {
  return {
    ...{ topic: "t", partition: 0, generation: 0, offset: BigInt(offset), index: 0 },
    ...{ timestampMs: 0, key: null, value: Buffer.alloc(100), headers: [], isOriginal: true },
  };
}

/** Lists of these lengths, some turns of the event loop before each; then perhaps a failure. */
async function* lists(
  lengths: readonly { length: number; turns: number }[],
  seen: { ahead: number },
  fails: boolean,
) {
  let next = 0;
  for (const { length, turns } of lengths) {
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    seen.ahead += length;
    yield Array.from({ length }, () => recordOf(next++));
  }
  if (fails) throw new Error("the end of it");
}

test("records come once and in order, no more ahead than may wait, and a failure behind what was before it", async () => {
  const list = fc.record({ length: fc.integer({ min: 0, max: 20 }), turns: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(list, { maxLength: 20 }),
      fc.integer({ min: 1, max: 5_000 }),
      fc.array(fc.nat(3), { maxLength: 20 }),
      fc.boolean(),
      async (lengths, most, pauses, fails) => {
        const seen = { ahead: 0 };
        const found: bigint[] = [];
        let failure: unknown;
        let calls = 0;
        try {
          for await (const records of ahead(lists(lengths, seen, fails), most)) {
            seen.ahead -= records.length;
            // One list may go beyond, and one is asked for before it is known to.
            assert.ok(seen.ahead * 200 < most + 2 * 20 * 200, `${seen.ahead} wait`);
            found.push(...records.map(({ offset }) => offset));
            for (let turn = 0; turn < (pauses[calls] ?? 0); turn++) await new Promise(setImmediate);
            calls += 1;
          }
        } catch (error) {
          failure = error;
        }
        const all = lengths.reduce((sum, { length }) => sum + length, 0);
        assert.deepEqual(
          found,
          Array.from({ length: all }, (_, n) => BigInt(n)),
        );
        assert.equal(failure === undefined, !fails);
      },
    ),
  );
});

test("an empty list is handed on where nothing waits behind it, and left out where something does", async () => {
  const found: number[] = [];
  const spread = [
    { length: 1, turns: 0 },
    { length: 0, turns: 0 },
    { length: 2, turns: 20 },
    { length: 0, turns: 20 },
    { length: 3, turns: 0 },
  ];
  for await (const records of ahead(lists(spread, { ahead: 0 }, false))) {
    found.push(records.length);
    // What comes meanwhile waits.
    if (records.length === 2) for (let turn = 0; turn < 40; turn++) await new Promise(setImmediate);
  }
  assert.deepEqual(found, [1, 0, 2, 3]);
});

test("whoever stops reading closes what it reads from", async () => {
  let isClosed = false;
  async function* source() {
    try {
      for (let n = 0; ; n++) yield [recordOf(n)];
    } finally {
      isClosed = true;
    }
  }
  for await (const records of ahead(source(), 1_000)) if (records.length > 0) break;
  assert.ok(isClosed);
});
