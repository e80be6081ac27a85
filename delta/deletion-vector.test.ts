import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { readDeletionVector } from "./deletion-vector.ts";
import { readRoaring } from "./roaring.ts";
import { localStore } from "./store/local.ts";
import { memoryStore } from "./store/memory.ts";
import { decodeZ85 } from "./z85.ts";

const signal = new AbortController().signal;

/** Containers by kind, written after RoaringFormatSpec: the reader's choice of kind must not matter. */
type Kind = "array" | "bits" | "runs";

function container(members: readonly number[], kind: Kind): Buffer {
  if (kind === "array") {
    const bytes = Buffer.alloc(2 * members.length);
    for (const [index, member] of members.entries()) bytes.writeUInt16LE(member, 2 * index);
    return bytes;
  }
  if (kind === "bits") {
    const bytes = Buffer.alloc(8192);
    for (const member of members) bytes[member >> 3]! |= 1 << (member & 7);
    return bytes;
  }
  const runs: [first: number, last: number][] = [];
  for (const member of members) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] === member - 1) run[1] = member;
    else runs.push([member, member]);
  }
  const bytes = Buffer.alloc(2 + 4 * runs.length);
  bytes.writeUInt16LE(runs.length);
  for (const [index, [first, last]] of runs.entries()) {
    bytes.writeUInt16LE(first, 2 + 4 * index);
    bytes.writeUInt16LE(last - first, 4 + 4 * index);
  }
  return bytes;
}

const le32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

function bitmap(members: readonly number[], withRuns: boolean): Buffer {
  const keys = [...new Set(members.map((member) => member >>> 16))];
  const groups = keys.map((key) =>
    members.filter((member) => member >>> 16 === key).map((member) => member & 0xffff),
  );
  // A container without runs is an array up to 4,096 members; every other one of a bitmap with runs is made of runs.
  const kinds = groups.map(
    (group, index): Kind => (withRuns && index % 2 === 0 ? "runs" : group.length > 4096 ? "bits" : "array"),
  );
  const flags = Buffer.alloc(Math.ceil(keys.length / 8));
  for (const [index, kind] of kinds.entries()) if (kind === "runs") flags[index >> 3]! |= 1 << (index & 7);
  const headers = Buffer.concat(
    keys.map((key, index) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt16LE(key);
      bytes.writeUInt16LE(groups[index]!.length - 1, 2);
      return bytes;
    }),
  );
  const hasOffsets = !withRuns || keys.length >= 4;
  return Buffer.concat([
    ...(withRuns ? [le32(12_347 | ((keys.length - 1) << 16)), flags] : [le32(12_346), le32(keys.length)]),
    headers,
    Buffer.alloc(hasOffsets ? 4 * keys.length : 0),
    ...groups.map((group, index) => container(group, kinds[index]!)),
  ]);
}

/** A whole vector: magic, then 64-bit Roaring. */
function vectorOf(members: readonly number[], withRuns: boolean): Buffer {
  const highs = [...new Set(members.map((member) => Math.floor(member / 2 ** 32)))];
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(BigInt(highs.length));
  const buckets = highs.flatMap((high) => [
    le32(high),
    bitmap(
      members.filter((member) => Math.floor(member / 2 ** 32) === high).map((member) => member % 2 ** 32),
      withRuns,
    ),
  ]);
  return Buffer.concat([le32(1_681_511_377), count, ...buckets]);
}

function asFile(data: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(data));
  return Buffer.concat([Buffer.from([1]), size, data, checksum]);
}

/** Sets of rows as tables have them: scattered, dense, in stretches, beyond 2^32. */
const members = fc
  .array(
    fc.oneof(
      fc.tuple(fc.nat(300_000), fc.constant(1)),
      fc.tuple(fc.nat(300_000), fc.nat(9000)),
      fc.tuple(fc.integer({ min: 2 ** 32, max: 2 ** 33 }), fc.nat(3)),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((runs) => {
    const all = new Set(
      runs.flatMap(([first, length]) => Array.from({ length: length + 1 }, (_, step) => first + step)),
    );
    return [...all].sort((a, b) => a - b);
  });

test("every set of rows is read back, whatever its containers are", () => {
  fc.assert(
    fc.property(members, fc.boolean(), (rows, withRuns) => {
      assert.deepEqual([...readRoaring(vectorOf(rows, withRuns).subarray(4), rows.length)], rows);
    }),
    { numRuns: 60 },
  );
});

test("cut or bent bytes are an error, never other rows without a word and never an endless loop", () => {
  const whole = vectorOf([1, 2, 3, 70_000, 70_001, 200_000], true);
  for (let length = 4; length < whole.length; length++) {
    assert.throws(() => readRoaring(whole.subarray(4, length), 6));
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        readRoaring(Buffer.from(bytes), 1000);
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }),
  );
});

test("Z85 is that of the RFC, and a last group that is filled up with # in front holds fewer bytes", () => {
  assert.equal(decodeZ85("HelloWorld").toString("hex"), "864fd26fb559f75b");
  assert.equal(decodeZ85("##093").toString("hex"), "0300");
  assert.equal(decodeZ85("").length, 0);
  for (const text of ["abc", "ab~de", "####"]) assert.throws(() => decodeZ85(text), text);
});

test("a vector in the log is read from there", async () => {
  const inline = {
    storageType: "i" as const,
    pathOrInlineDv: "^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9",
    sizeInBytes: 40,
  };
  const rows = await readDeletionVector(memoryStore(), { ...inline, cardinality: 4n }, signal);
  assert.deepEqual([...rows], [0, 1, 4, 5]);
});

test("a vector in a file is found by its id, in its folder, at its offset", async () => {
  const store = memoryStore();
  const data = vectorOf([3, 4, 7], false);
  const file = Buffer.concat([asFile(vectorOf([1], false)), asFile(data).subarray(1)]);
  const offset = asFile(vectorOf([1], false)).length;
  await store.put("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", file, signal);
  const vector = {
    storageType: "u" as const,
    pathOrInlineDv: "ab^-aqEH.-t@S}K{vb[*k^",
    offset,
    sizeInBytes: data.length,
    cardinality: 3n,
  };
  assert.deepEqual([...(await readDeletionVector(store, vector, signal))], [3, 4, 7]);
  const absolute = {
    ...vector,
    storageType: "p" as const,
    pathOrInlineDv: "memory://store/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
  };
  assert.deepEqual([...(await readDeletionVector(store, absolute, signal))], [3, 4, 7]);
});

test("what is missing, bent, miscounted or elsewhere says so by its code", async () => {
  const store = memoryStore();
  const data = vectorOf([3, 4, 7], false);
  const path = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
  const vector = {
    storageType: "u" as const,
    pathOrInlineDv: "^-aqEH.-t@S}K{vb[*k^",
    offset: 1,
    sizeInBytes: data.length,
    cardinality: 3n,
  };
  const read = (change: Partial<Parameters<typeof readDeletionVector>[1]>) =>
    readDeletionVector(store, { ...vector, ...change }, signal);
  await assert.rejects(
    read({}),
    (error) => isLabError(error, "DATA_FILE_MISSING") && error.message.includes(path),
  );
  const file = asFile(data);
  await store.put(path, file, signal);
  assert.equal((await read({})).length, 3);
  for (const change of [
    { cardinality: 2n },
    { offset: 2 },
    { sizeInBytes: data.length - 1 },
    { sizeInBytes: 10_000 },
  ]) {
    await assert.rejects(
      read(change),
      (error) => isLabError(error, "CORRUPT_LOG"),
      JSON.stringify(Object.keys(change)),
    );
  }
  for (let at = 1; at < file.length; at++) {
    const bent = Buffer.from(file);
    bent[at]! ^= 0x10;
    await store.put(path, bent, signal);
    await assert.rejects(read({}), (error) => isLabError(error, "CORRUPT_LOG"), `byte ${at}`);
  }
  for (const change of [
    { storageType: "i" as const, pathOrInlineDv: "not z85!" },
    { pathOrInlineDv: "~".repeat(20) },
  ]) {
    await assert.rejects(read(change), (error) => isLabError(error, "CORRUPT_LOG"));
  }
  await assert.rejects(read({ storageType: "p", pathOrInlineDv: "s3://other/x.bin" }), (error) =>
    isLabError(error, "UNSUPPORTED_FEATURE"),
  );
});

test("a vector outside of a local table is read from where its path says", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "vector-"));
  t.after(() => rm(folder, { recursive: true }));
  const data = vectorOf([3, 4, 7], false);
  await writeFile(join(folder, "a b.bin"), asFile(data));
  const store = localStore(join(folder, "table"));
  const uri = pathToFileURL(join(folder, "a b.bin")).href;
  for (const pathOrInlineDv of [uri, uri.replace("file://", "file:"), uri.replace("file://", "")]) {
    const vector = { storageType: "p" as const, pathOrInlineDv, sizeInBytes: data.length, cardinality: 3n };
    assert.deepEqual([...(await readDeletionVector(store, { ...vector, offset: 1 }, signal))], [3, 4, 7]);
  }
});

test("a vector that claims more rows than memory holds, or a way of storing that is not known, is refused by name", async () => {
  const vector = { storageType: "i" as const, pathOrInlineDv: "x", sizeInBytes: 1, cardinality: 2n ** 40n };
  for (const change of [{}, { storageType: "z" as "u", cardinality: 1n }])
    await assert.rejects(
      readDeletionVector(memoryStore(), { ...vector, ...change }, signal),
      (error) => isLabError(error, "UNSUPPORTED_FEATURE") && error.details.feature === "deletionVectors",
    );
});

test("a few bytes that claim thousands of full containers take no memory", () => {
  const containers = 50_000;
  const bytes = Buffer.alloc(8 + 4 + 4 + Math.ceil(containers / 8) + containers * 8 + containers * 6, 0xff);
  bytes.writeBigUInt64LE(1n, 0);
  bytes.writeUInt32LE(0, 8);
  bytes.writeUInt32LE((containers - 1) * 2 ** 16 + 12_347, 12);
  const before = process.memoryUsage().arrayBuffers;
  assert.throws(() => readRoaring(bytes, 100), /more than the 100 rows/);
  assert.ok(process.memoryUsage().arrayBuffers - before < 50_000_000);
});
