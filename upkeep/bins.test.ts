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

test("tiered, files of about one size are joined, and one that is much smaller keeps none of them apart", () => {
  const tiered = { targetBytes: 1000 * MIB, rule: "tiered" } as const;
  const alike = [file("a", 1), file("b", 1.1), file("c", 1.2), file("d", 1.3)];
  assert.deepEqual(names(packBins(alike, tiered)), ["abcd"]);
  assert.deepEqual(names(packBins([file("e", 0.001), ...alike], tiered)), ["eabcd"]);
});

test("tiered, where more is ripe than one file holds, no large file is written again for a small one", () => {
  const tiered = { targetBytes: 100 * MIB, rule: "tiered" } as const;
  const files = [file("a", 60), file("b", 60), file("c", 1), file("d", 1)];
  assert.deepEqual(names(packBins(files, tiered)), ["cd"]);
  assert.deepEqual(names(packBins([...files, file("e", 30)], tiered)), ["bcde"]);
});

test("tiered, a file is written again for its deleted rows only when a fifth of them are, or nobody says how many it has", () => {
  const tiered = { targetBytes: 100 * MIB, rule: "tiered" } as const;
  const worn = (cardinality: bigint, stats?: string) =>
    file("a", 90, null, {
      deletionVector: { ...vector.deletionVector, cardinality },
      ...(stats === undefined ? {} : { stats }),
    });
  assert.deepEqual(names(packBins([worn(20n, '{"numRecords":100}')], tiered)), []);
  assert.deepEqual(names(packBins([worn(21n, '{"numRecords":100}')], tiered)), ["a"]);
  assert.deepEqual(names(packBins([worn(1n)], tiered)), ["a"]);
  assert.deepEqual(names(packBins([worn(1n, '{"numRecords":100}')], { ...tiered, rule: "full" })), ["a"]);
});

/** What waits doubles in size from a crumb to half the target; a little more may wait beside large files that do not fit together. */
const few = (bytes: number, targetBytes: number) => 24 + Math.ceil(bytes / targetBytes) / 4;

test("tiered, files stay few and each byte is written again a bounded number of times, however long it goes on", () => {
  const targetBytes = 128 * MIB;
  const mib = fc.oneof(
    fc.double({ min: 0.001, max: 3, noNaN: true }),
    fc.integer({ min: 900, max: 1100 }).map((size) => size / 1000),
    fc.integer({ min: 1, max: 40 }),
  );
  fc.assert(
    fc.property(fc.array(mib, { minLength: 200, maxLength: 2000 }), (sizes) => {
      let live: Add[] = [];
      let written = 0;
      let given = 0;
      for (const [at, size] of sizes.entries()) {
        live.push(file(`n${at}`, size));
        given += size * MIB;
        if (at % 10 !== 9) continue;
        for (const bin of packBins(live, { targetBytes, rule: "tiered" })) {
          const bytes = bin.reduce((sum, one) => sum + one.size, 0);
          written += bytes;
          live = [...live.filter((one) => !bin.includes(one)), file(`j${at}`, bytes / MIB)];
        }
      }
      const small = live.filter((one) => one.size < targetBytes / 2).length;
      assert.ok(small <= few(given, targetBytes), `${small} small files of ${given / MIB} MiB`);
      assert.ok(written < 6 * given, `${written / given} times`);
    }),
    // To shrink thousands of sizes would take longer than it is worth.
    { numRuns: 100, endOnFailure: true },
  );
});
