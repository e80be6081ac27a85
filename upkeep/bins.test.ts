import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Add } from "../delta/actions.ts";
import { packBins } from "./bins.ts";

const MIB = 2 ** 20;
const file = (path: string, mib: number, p: string | null = null, over: Partial<Add> = {}): Add => ({
  path,
  partitionValues: { p },
  size: Math.round(mib * MIB),
  modificationTime: 1,
  dataChange: true,
  ...over,
});
const names = (bins: readonly (readonly Add[])[]) => bins.map((bin) => bin.map(({ path }) => path).join(""));
const vector = {
  deletionVector: { storageType: "i", pathOrInlineDv: "x", sizeInBytes: 1, cardinality: 1n } as const,
};

test("small files of one partition are joined up to the target, in their order", () => {
  const files = [file("a", 50), file("b", 40), file("c", 50), file("d", 10), file("e", 1, "x")];
  assert.deepEqual(names(packBins(files, { targetBytes: 100 * MIB, rule: "full" })), ["ab", "cd"]);
});

test("full files and files alone in their partition stay; one with deleted rows is written again alone", () => {
  const files = [file("a", 90), file("b", 10), file("c", 1, "x"), file("d", 99, "y", vector)];
  assert.deepEqual(names(packBins(files, { targetBytes: 100 * MIB, rule: "full" })), ["d"]);
});

test("tiered, a large file waits until the smaller ones beside it weigh as much", () => {
  const tiered = { targetBytes: 1000 * MIB, rule: "tiered" } as const;
  const files = [file("a", 64), file("b", 1), file("c", 1), file("d", 2)];
  assert.deepEqual(names(packBins(files, tiered)), ["bcd"]);
  const crumbs = [file("a", 64), file("b", 0.05), file("c", 0.05), file("d", 0.1)];
  assert.deepEqual(names(packBins(crumbs, tiered)), ["bcd"]);
});

test("tiered, files stay few and each byte is written again a bounded number of times, however long it goes on", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.001, max: 3, noNaN: true }), { minLength: 200, maxLength: 2000 }),
      (sizes) => {
        let live: Add[] = [];
        let written = 0;
        let given = 0;
        for (const [at, size] of sizes.entries()) {
          live.push(file(`n${at}`, size));
          given += size * MIB;
          if (at % 10 !== 9) continue;
          for (const bin of packBins(live, { targetBytes: 128 * MIB, rule: "tiered" })) {
            const bytes = bin.reduce((sum, one) => sum + one.size, 0);
            written += bytes;
            live = [...live.filter((one) => !bin.includes(one)), file(`j${at}`, bytes / MIB)];
          }
        }
        const small = live.filter(({ size }) => size < 96 * MIB).length;
        assert.ok(small < 60, `${small} small files`);
        assert.ok(written < 12 * given, `${written / given} times`);
      },
    ),
    { numRuns: 20 },
  );
});
