import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readDeletionVector } from "./deletion-vector.ts";
import { writeDeletionVectors } from "./deletion-vector-write.ts";
import { memoryStore } from "./store/memory.ts";
import { decodeZ85, encodeZ85 } from "./z85.ts";

const signal = new AbortController().signal;

/** Scattered, dense and in stretches, in several containers, and beyond 2^32. */
const positions = fc
  .array(
    fc.oneof(
      fc.tuple(fc.nat(400_000), fc.constant(1)),
      fc.tuple(fc.nat(400_000), fc.nat(9000)),
      fc.tuple(fc.integer({ min: 2 ** 32, max: 2 ** 33 }), fc.nat(3)),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((runs) => {
    const all = new Set(
      runs.flatMap(([first, more]) => Array.from({ length: more + 1 }, (_, i) => first + i)),
    );
    return Float64Array.from([...all].sort((a, b) => a - b));
  });

test("vectors that were written are read back, several of one file each by its own offset", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(positions, { minLength: 1, maxLength: 4 }), async (all) => {
      const store = memoryStore();
      const { path, vectors } = await writeDeletionVectors(store, all, signal);
      assert.match(path, /^deletion_vector_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin$/);
      for (const [i, vector] of vectors.entries()) {
        assert.equal(vector.cardinality, BigInt(all[i]!.length));
        assert.deepEqual(await readDeletionVector(store, vector, signal), all[i]);
      }
    }),
    { numRuns: 40 },
  );
});

test("text of four bytes each is what it was made of", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 8 }), (bytes) => {
      const whole = Buffer.concat([bytes, bytes, bytes, bytes]);
      assert.deepEqual(decodeZ85(encodeZ85(whole)), whole);
    }),
  );
});
