import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  Compression,
  Table as ParquetTable,
  readParquet,
  WriterPropertiesBuilder,
  WriterVersion,
  writeParquet,
} from "parquet-wasm";
import { isLabError } from "../core/errors.ts";
import type { Action, Add } from "./actions.ts";
import { withText } from "./checkpoint.fixture.ts";
import { readThroughArrow } from "./checkpoint-arrow.ts";
import { readColumns } from "./checkpoint-columns.ts";
import { readCheckpoint } from "./checkpoint-read.ts";
import type { CheckpointRow } from "./checkpoint-row.ts";
import { encodeCheckpoint } from "./checkpoint-write.ts";
import { type PackedText, packedText } from "./slice.ts";
import { file, removal } from "./table.fixture.ts";

const fail = { damaged: (cause: unknown) => new Error("damaged", { cause }) };

/** A row as text that compares, whatever form it came in. */
function plain(row: CheckpointRow): string {
  const { add, ...other } = withText(row) as { add?: Add };
  const sorted = add && Object.fromEntries(Object.entries(add).sort());
  return JSON.stringify({ add: sorted, ...other }, (_, value) =>
    typeof value === "bigint" ? Number(value) : value,
  );
}

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom("", "same", "%20", "ü"),
);
const values = fc.dictionary(fc.constantFrom("p", "q"), fc.option(text));
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ path: text, stats: fc.option(text), values, size: fc.maxSafeNat() }).map(
      ({ path, stats, values: partitionValues, size }): Action => ({
        add: file(path, { partitionValues, size, dataChange: false, ...(stats === null ? {} : { stats }) }),
      }),
    ),
  },
  fc.record({ path: text, values }).map(
    ({ path, values: partitionValues }): Action => ({
      remove: removal(path, { partitionValues, dataChange: false }),
    }),
  ),
  fc
    .record({ appId: text, version: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n) })
    .map((txn): Action => ({ txn })),
  fc.constant<Action>({
    add: file("vector", {
      dataChange: false,
      tags: { t: "u" },
      baseRowId: 3n,
      deletionVector: { storageType: "u", pathOrInlineDv: "ab", offset: 1, sizeInBytes: 2, cardinality: 7n },
    }),
  }),
  fc.constant<Action>({
    protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ["a", "b"], writerFeatures: [] },
  }),
);

/** The same rows as other writers lay them out. */
function rewritten(
  bytes: Uint8Array,
  form: { version: 1 | 2; hasDictionary: boolean; isPacked: boolean; pageRows: number },
): Uint8Array {
  const properties = new WriterPropertiesBuilder()
    .setCompression(form.isPacked ? Compression.SNAPPY : Compression.UNCOMPRESSED)
    .setWriterVersion(form.version === 1 ? WriterVersion.V1 : WriterVersion.V2)
    .setDictionaryEnabled(form.hasDictionary)
    .setDataPageSizeLimit(form.pageRows * 8)
    .setWriteBatchSize(form.pageRows)
    .setMaxRowGroupSize(40)
    .build();
  return writeParquet(ParquetTable.fromIPCStream(readParquet(bytes).intoIPCStream()), properties);
}

test("columns give the rows that Arrow gives, whatever the pages are like", async () => {
  const form = fc.record({
    version: fc.constantFrom(1 as const, 2 as const),
    hasDictionary: fc.boolean(),
    isPacked: fc.boolean(),
    pageRows: fc.integer({ min: 1, max: 50 }),
  });
  let read = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 1, maxLength: 120 }),
      form,
      fc.boolean(),
      async (actions, how, isLarge) => {
        const bytes = rewritten((await encodeCheckpoint(actions)).bytes, how);
        const found: string[] = [];
        const sink = { row: (row: CheckpointRow) => found.push(plain(row)) };
        if (!(await readColumns(bytes, sink, { packed: fail, ...(isLarge ? { large: 0 } : {}) }))) return;
        read++;
        const expected: string[] = [];
        for await (const rows of readThroughArrow(bytes)) expected.push(...rows.map(plain));
        assert.deepEqual(found.sort(), expected.sort());
      },
    ),
    { numRuns: 60 },
  );
  assert.ok(read > 20, `only ${read} were read`);
});

test("a checkpoint damaged anywhere is refused by name, or read, and nothing else happens", async () => {
  const actions = Array.from(
    { length: 300 },
    (_, n): Action => ({
      add: file(`f${n % 50}`, { stats: `{"numRecords":${n}}`, partitionValues: { p: `${n % 3}` } }),
    }),
  );
  const { bytes } = await encodeCheckpoint(actions);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(bytes.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      async (at, change, isCut) => {
        const damaged = isCut ? bytes.slice(0, at) : bytes.slice();
        if (!isCut) damaged[at]! ^= change;
        try {
          await readCheckpoint(damaged, "c.parquet", { row: () => {} });
        } catch (error) {
          assert.ok(isLabError(error, "CORRUPT_LOG"), String(error));
        }
      },
    ),
    { numRuns: 400 },
  );
});

test("statistics of a large checkpoint are unpacked when they are asked for, and name what is damaged", async () => {
  const noise = (n: number) =>
    Array.from({ length: 40 }, (_, at) => Math.imul(n * 40 + at + 1, 0x9e3779b1) >>> 0).join("");
  const actions = Array.from(
    { length: 6000 },
    (_, n): Action => ({ add: file(`f${n}`, { stats: noise(n) }) }),
  );
  const { bytes } = await encodeCheckpoint(actions);
  const packed: PackedText[] = [];
  await readCheckpoint(bytes, "c.parquet", {
    row(row) {
      const stats = "add" in row ? row.add.stats : undefined;
      if (typeof stats === "object" && "block" in stats) packed.push({ ...stats });
    },
  });
  assert.equal(packed.length, 6000);
  assert.equal(packedText(packed[4321]!), noise(4321));
  bytes.fill(0, bytes.length / 2 - 5000, bytes.length / 2);
  const blocks = new Set(packed.map(({ block }) => block));
  assert.ok(blocks.size > 1);
  assert.throws(
    () => {
      for (const block of blocks) block.unpack();
    },
    (error) => isLabError(error, "CORRUPT_LOG") && /c\.parquet/.test(error.message),
  );
});
