import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { readHybrid } from "../delta/parquet/hybrid.ts";
import type { DataType } from "../delta/types.ts";
import { batchOf } from "../test/support/encoder-fixture.ts";
import { openColumns } from "./columns.ts";
import { PARQUET_TYPE } from "./leaf-vector.ts";
import { readChunk } from "./parquet-chunk.ts";
import { ENCODING } from "./parquet-encoding.ts";
import { field, struct } from "./parquet-values.fixture.ts";
import { type Value, vectorsOf } from "./parquet-vectors.fixture.ts";
import { createTableBuilder } from "./table-builder.ts";

const columns = openColumns();

/** The vector of a column `x`. */
function vectorOf(type: DataType, values: readonly Value[], isNullable = true) {
  const schema = struct(field("x", type, isNullable));
  const rows = values.map((x) => ({ x }));
  return vectorsOf(columns, schema, rows).vectors[0]!;
}

/** Its pages, as one row group. */
function chunkOf(type: DataType, values: readonly Value[], isNullable = true) {
  const { address } = vectorOf(type, values, isNullable);
  return readChunk(columns, columns.buildChunk(address, values.length, 1_000_000));
}

test("columns.wasm is what its sources say", async (t) => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "columns-"));
  t.after(() => rm(folder, { recursive: true }));
  const outFile = join(folder, "columns.wasm");
  const compiler = join(root, "node_modules/assemblyscript/bin/asc.js");
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const [, ...given] = scripts["build:wasm"].split(" ");
  given[given.indexOf("--outFile") + 1] = outFile;
  await promisify(execFile)(process.execPath, [compiler, ...given], { cwd: root });
  const [made, kept] = await Promise.all([
    readFile(outFile),
    readFile(new URL("./columns.wasm", import.meta.url)),
  ]);
  assert.ok(made.equals(kept), "make it anew: npm run build:wasm");
});

test("least and largest are found by the order of each type", () => {
  const cases: [DataType, Value[], least: number, largest: number][] = [
    ["boolean", [true, false], 1, 0],
    ["integer", [0, -1, 5], 1, 2],
    ["long", [0n, -1n, 2n ** 40n, 2n ** 31n, -(2n ** 40n)], 4, 2],
    ["double", [1, Number.NaN, -1], 2, 0],
    ["float", [1, -1, 2], 1, 2],
    ["string", ["b", "a\u{10000}", "a\uffff", "b\0", "", "ab"], 4, 3],
    ["string", ["abcd\u{10000}", "abcd\uffff"], 1, 0],
    ["string", ["abcdefghi", "abcdefgh", "abcdefghijklmnopz", "abcdefghijklmnopy"], 1, 2],
    [
      "binary",
      [new Uint8Array([128]), new Uint8Array([127, 0, 0, 0, 1]), new Uint8Array([127, 0, 0, 0])],
      2,
      0,
    ],
    ["decimal(38,0)", [1n, -1n, 10n ** 37n, -(10n ** 37n)], 3, 2],
  ];
  for (const [type, values, least, largest] of cases) {
    const { min, max } = chunkOf(type, values).extremes;
    assert.deepEqual([min, max], [least, largest], `${type} of ${values.join(", ")}`);
  }
  const { extremes } = chunkOf("double", [Number.NaN, Number.NaN]);
  assert.deepEqual(extremes, { min: -1, max: -1, hasNaN: true });
  assert.deepEqual(chunkOf("double", [null]).extremes, { min: -1, max: -1, hasNaN: false });
});

test("a float is said in the digits that DuckDB says it in", () => {
  const said: [number, number][] = [
    [0.1, 0.1],
    [123456792, 123456790],
    [2147483648, 2147483600],
    // Half way to another float in fewer digits, and half way between two that are as short.
    [79628784, 79628784],
    [1603725.25, 1603725.25],
    [129999355904, 129999355904],
    [1e-45, 1e-45],
    [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ];
  for (const [value, expected] of said) {
    assert.equal(vectorOf("float", [value]).typedValue(0), expected);
    assert.equal(Math.fround(expected), Math.fround(value));
  }
});

/** Reads DELTA_BINARY_PACKED as the format says, with numbers of any size. */
function readDeltas(bytes: Uint8Array, bits: 32 | 64): bigint[] {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const next = bytes[at++]!;
      value |= BigInt(next & 127) << shift;
      if (next < 128) return value;
    }
  };
  const zigzag = () => {
    const value = varint();
    return value & 1n ? -(value >> 1n) - 1n : value >> 1n;
  };
  const [block, quarters, count] = [Number(varint()), Number(varint()), Number(varint())];
  const values = [zigzag()];
  while (values.length < count) {
    const least = zigzag();
    const widths = bytes.slice(at, at + quarters);
    at += quarters;
    for (const width of widths) {
      if (values.length >= count) break;
      const size = (block / quarters / 8) * width;
      const packed = bytes.slice(at, at + size).reduceRight((all, byte) => (all << 8n) | BigInt(byte), 0n);
      at += size;
      for (let i = 0; i < block / quarters && values.length < count; i++) {
        const delta = (packed >> BigInt(i * width)) & ((1n << BigInt(width)) - 1n);
        values.push(BigInt.asIntN(bits, values.at(-1)! + least + delta));
      }
    }
  }
  assert.equal(at, bytes.length, "bytes are left");
  return values;
}

test("the format's own example of differences has these bytes, in a block of ours", () => {
  const { encoding, pages } = chunkOf("integer", [7, 5, 3, 1, 2, 3, 4, 5], false);
  assert.equal(encoding, ENCODING.delta);
  const head = [0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0];
  assert.deepEqual([...pages[0]!.bytes], [...head, 0b11000000, 0b00111111, 0, 0, 0, 0, 0, 0]);
});

test("numbers come back from their differences, also where one has a bit more than they have", () => {
  const whole = fc.oneof(
    fc.integer(),
    fc.integer({ min: -5, max: 5 }),
    fc.constantFrom(-(2 ** 31), 2 ** 31 - 1),
  );
  const far = fc
    .integer({ min: 1, max: 52 })
    .chain((bits) =>
      fc
        .tuple(
          fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 2n ** 52n }),
          fc.array(fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n }), { minLength: 1, maxLength: 400 }),
        )
        .map(([base, steps]) => steps.map((step) => base + step)),
    );
  let seen = 0;
  fc.assert(
    fc.property(fc.array(whole, { minLength: 1, maxLength: 400 }), far, (narrow, wide) => {
      for (const [type, values, bits] of [
        ["integer", narrow, 32],
        ["long", wide, 64],
      ] as const) {
        const { encoding, pages } = chunkOf(type, values, false);
        if (encoding !== ENCODING.delta) continue;
        seen++;
        assert.deepEqual(readDeltas(pages[0]!.bytes, bits), values.map(BigInt));
      }
    }),
  );
  assert.ok(seen > 50, `${seen} columns were differences`);
});

test("places in a dictionary and levels come back from another reader, with runs anywhere", () => {
  const runs = fc.array(fc.tuple(fc.nat({ max: 40 }), fc.constantFrom(1, 1, 2, 3, 7, 8, 9, 15, 70, 200)), {
    minLength: 1,
    maxLength: 30,
  });
  let seen = 0;
  fc.assert(
    fc.property(runs, (all) => {
      const numbers = all.flatMap(([value, times]) => new Array<number>(times).fill(value));
      // Every fifth number stands for a null.
      const values = numbers.map((number) => (number % 5 === 4 ? null : number / 7));
      const { encoding, pages } = chunkOf("double", values);
      const [dictionary, data] = encoding === ENCODING.dictionary ? pages : [];
      if (dictionary === undefined || data === undefined) return;
      seen++;
      const { buffer, byteOffset, length } = data.bytes;
      const levelBytes = new DataView(buffer, byteOffset, length).getInt32(0, true);
      const levels = readHybrid(data.bytes.subarray(4, 4 + levelBytes), 1, new Int32Array(values.length));
      const rest = data.bytes.subarray(4 + levelBytes);
      const present = values.filter((value) => value !== null);
      const places = readHybrid(rest.subarray(1), rest[0]!, new Int32Array(present.length));
      const entries = new Float64Array(dictionary.bytes.slice().buffer);
      const found = places.values();
      assert.deepEqual(
        Array.from(levels, (level) => (level === 0 ? null : entries[found.next().value!])),
        values,
      );
    }),
  );
  assert.ok(seen > 20, `${seen} columns had a dictionary`);
});

test("a long run takes few bytes", () => {
  const { pages } = chunkOf("double", new Array(1000).fill(1));
  assert.deepEqual(
    pages.map(({ entries, bytes }) => [entries, bytes.length]),
    [
      [1, 8],
      [1000, 4 + 3 + 1 + 3],
    ],
  );
});

test("schemas that come and go leave no memory behind", () => {
  const module = openColumns();
  const schema = struct(
    field("a", "long"),
    field("list", { type: "array", elementType: struct(field("b", "string")), containsNull: true }),
    field("map", { type: "map", keyType: "string", valueType: "double", valueContainsNull: true }),
  );
  const batch = batchOf(
    Array.from({ length: 500 }, (_, i) => `{"a":${i},"list":[{"b":"${"x".repeat(100)}"}]}`),
  );
  const once = () => {
    const table = createTableBuilder(module, schema, [], { ignoreUnknown: false });
    table.messages.begin(batch.length);
    assert.equal(table.messages.append(batch, 0, batch.length), batch.length);
    for (const { address } of table.vectors) module.buildChunk(address, batch.length, 100);
    table.close();
  };
  for (let i = 0; i < 10; i++) once();
  const before = module.memory.buffer.byteLength;
  for (let i = 0; i < 1000; i++) once();
  assert.equal(module.memory.buffer.byteLength, before);
});

test("a leaf of nulls takes no memory for values", () => {
  const columns = openColumns();
  const leaf = columns.newLeaf(PARQUET_TYPE.int64, 1, 0);
  columns.beginLeaf(leaf, 100_000);
  columns.addNulls(leaf, 0, 200_000);
  assert.deepEqual([columns.entriesOf(leaf), columns.countOf(leaf), columns.valuesOf(leaf)], [200_000, 0, 0]);
  for (let i = 0; i < 1000; i++) columns.addInt64(leaf, 0, BigInt(i));
  const values = new BigInt64Array(columns.memory.buffer, columns.valuesOf(leaf), 1000);
  assert.deepEqual(
    [...values],
    Array.from({ length: 1000 }, (_, i) => BigInt(i)),
  );
});
