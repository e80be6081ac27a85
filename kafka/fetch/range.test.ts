import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import kafkajs from "kafkajs";
import Decoder from "kafkajs/src/protocol/decoder.js";
import decodeMessages from "kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js";
import { isLabError } from "../../core/errors.ts";
import { registerCodecs } from "../codecs.ts";
import { createBatchWriter } from "../record-batch.ts";
import { type BatchSpec, batchBytes, markerBytes, type RecordSpec, sealed, varint } from "./batch.fixture.ts";
import type { AbortedTransaction } from "./fetch-api.ts";
import { type Piece, readRange } from "./range.ts";

async function read(
  bytes: Buffer,
  fetchedOffset: bigint,
  aborted: readonly AbortedTransaction[] = [],
): Promise<Piece[]> {
  const pieces: Piece[] = [];
  const range = { topic: "t", partition: 3, aborted, records: bytes };
  for await (const piece of readRange(range, fetchedOffset)) pieces.push(piece);
  for (const [at, piece] of pieces.entries())
    assert.equal(piece.fetchedOffset, at === 0 ? fetchedOffset : pieces[at - 1]!.nextOffset);
  return pieces;
}

const recordsOf = (pieces: readonly Piece[]) => pieces.flatMap(({ records }) => records.toArray());
const values = (pieces: readonly Piece[]) => recordsOf(pieces).map(({ value }) => String(value));
const offsets = (pieces: readonly Piece[]) => recordsOf(pieces).map(({ offset }) => offset);
const end = (pieces: readonly Piece[]) => pieces.at(-1)?.nextOffset;

/** Records `from`, `from` + 1, ..., their offsets as values. */
function plain(baseOffset: bigint, count: number, more: Partial<BatchSpec> = {}): Buffer {
  const records = Array.from({ length: count }, (_, offsetDelta): RecordSpec => {
    return { offsetDelta, value: Buffer.from(String(baseOffset + BigInt(offsetDelta))) };
  });
  return batchBytes({ baseOffset, records, ...more });
}

const part = fc.option(fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)));
const record = fc.record(
  {
    gap: fc.nat(3),
    timestampDelta: fc.oneof(
      fc.integer({ min: -5, max: 300 }),
      fc.integer({ min: -(2 ** 45), max: 2 ** 45 }),
    ),
    key: part,
    value: part,
    headers: fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 9 }), part), { maxLength: 4 }),
  },
  { noNullPrototype: true },
);
const batch = fc.record({
  records: fc.array(record, { minLength: 1, maxLength: 30 }),
  codec: fc.constantFrom(0, 0, 1, 2, 3),
  isAppendTime: fc.boolean(),
});
const base = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 62n }),
  fc.bigInt({ min: 2n ** 32n - 40n, max: 2n ** 32n + 40n }),
);

const { CompressionCodecs, CompressionTypes } = kafkajs;
async function packer(codec: number): Promise<(records: Buffer) => Promise<Buffer>> {
  registerCodecs();
  if (codec === 0) return async (records) => records;
  if (codec === 1) return async (records) => gzipSync(records);
  const { compress } = CompressionCodecs[codec === 2 ? CompressionTypes.Snappy : CompressionTypes.LZ4]();
  return (records) => compress({ buffer: records } as never);
}

test("whatever is in the batches is read back, from any offset on, packed or not, as kafkajs reads it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(batch, { minLength: 1, maxLength: 6 }),
      base,
      fc.nat(40),
      async (specs, from, skip) => {
        let next = from;
        const bytes: Buffer[] = [];
        const expected = [];
        for (const { records, codec, isAppendTime } of specs) {
          const baseOffset = next;
          let offsetDelta = -1;
          const placed = records.map(({ gap, ...each }) => {
            offsetDelta += gap + 1;
            return { ...each, offsetDelta };
          });
          const pack = await packer(codec);
          let packed: Buffer | undefined;
          const spec: BatchSpec = {
            baseOffset,
            records: placed,
            codec,
            isAppendTime,
            baseTimestampMs: 1e12,
            maxTimestampMs: 7,
          };
          // The codecs are asynchronous: the records are taken out of an unpacked batch first.
          packed = await pack(batchBytes(spec).subarray(61));
          bytes.push(batchBytes({ ...spec, pack: () => packed! }));
          for (const { offsetDelta: delta, timestampDelta, key, value, headers } of placed)
            expected.push({
              offset: baseOffset + BigInt(delta),
              timestampMs: isAppendTime ? 7 : 1e12 + timestampDelta,
              key,
              value,
              headers,
            });
          next = baseOffset + BigInt(offsetDelta) + 1n;
        }
        const fetchedOffset = from + BigInt(skip) < next ? from + BigInt(skip) : from;
        const pieces = await read(Buffer.concat(bytes), fetchedOffset);
        const visible = expected.filter(({ offset }) => offset >= fetchedOffset);
        assert.deepEqual(recordsOf(pieces), visible);
        assert.equal(end(pieces), next);
        for (const { records, timestampType } of pieces) {
          const found = records.toArray();
          const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
          assert.equal(records.valueBytes, sum(found.map(({ value }) => value?.length ?? 0)));
          assert.equal(records.keyBytes, sum(found.map(({ key }) => key?.length ?? 0)));
          if (timestampType === "append") assert.ok(found.every(({ timestampMs }) => timestampMs === 7));
        }
        const theirs = await decodeMessages(
          new Decoder(Buffer.concat([int32(Buffer.concat(bytes).length), ...bytes])),
        );
        assert.deepEqual(
          theirs.map(({ offset, key, value }) => ({ offset: BigInt(offset), key, value })),
          expected.map(({ offset, key, value }) => ({ offset, key, value })),
        );
      },
    ),
    { numRuns: 60 },
  );
});

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

test("batches of the lab's own encoder are read", async () => {
  const headers = [
    ["a", Buffer.from("1")],
    ["a", null],
    ["b", Buffer.alloc(0)],
  ] as const;
  const sent = { partition: 3, timestampMs: 5, key: Buffer.from("k"), value: null, headers };
  const writer = createBatchWriter();
  for (const timestampMs of [5, 2]) writer.add({ ...sent, timestampMs });
  const bytes = writer.finish({ producerId: 9n, producerEpoch: 0, sequence: 0 });
  const { partition: _, ...expected } = sent;
  assert.deepEqual(recordsOf(await read(bytes, 0n)), [
    { offset: 0n, ...expected },
    { offset: 1n, ...expected, timestampMs: 2 },
  ]);
});

test("a last batch that is cut off is left for the next fetch, wherever it is cut", async () => {
  const whole = plain(10n, 3);
  const next = plain(13n, 4);
  for (let kept = 0; kept < next.length; kept++) {
    const pieces = await read(Buffer.concat([whole, next.subarray(0, kept)]), 10n);
    assert.deepEqual([values(pieces), end(pieces)], [["10", "11", "12"], 13n]);
  }
  assert.deepEqual(await read(next.subarray(0, 40), 13n), []);
});

test("a position passes gaps, batches that compaction emptied, and the end of one that lost its last records", async () => {
  const bytes = Buffer.concat([
    batchBytes({ baseOffset: 10n, records: [], lastOffsetDelta: 6 }),
    batchBytes({
      baseOffset: 20n,
      records: [{ offsetDelta: 2, value: Buffer.from("x") }],
      lastOffsetDelta: 9,
    }),
  ]);
  const pieces = await read(bytes, 10n);
  assert.deepEqual([offsets(pieces), end(pieces)], [[22n], 30n]);
  const [empty, ...none] = await read(bytes.subarray(0, 61), 10n);
  assert.deepEqual([empty!.records.length, empty!.nextOffset, none], [0, 17n, []]);
});

test("a packed batch of which nothing is left from the position on gives no bytes to what comes behind it", async () => {
  const first = plain(0n, 3, { codec: 1, pack: gzipSync, lastOffsetDelta: 9 });
  for (const more of [{}, { codec: 1, pack: gzipSync }]) {
    const pieces = await read(Buffer.concat([first, plain(10n, 2, more)]), 5n);
    assert.deepEqual([values(pieces), offsets(pieces), end(pieces)], [["10", "11"], [10n, 11n], 12n]);
  }
});

test("offsets beyond 2^53 and over the border of 32 bits stay exact", async () => {
  for (const from of [9223372036854775000n, 2n ** 32n - 2n, 2n ** 33n - 1n, 2n ** 53n - 1n]) {
    const pieces = await read(plain(from, 5), from);
    assert.deepEqual(
      offsets(pieces),
      [0n, 1n, 2n, 3n, 4n].map((n) => from + n),
    );
    assert.equal(end(pieces), from + 5n);
  }
});

test("times as far apart as 64 bits allow are read", async () => {
  const record = (timestampDelta: number) => ({ offsetDelta: 0, timestampDelta });
  // Of each length that a number can have, the largest and the smallest.
  const borders = Array.from({ length: 7 }, (_, n) => 2 ** (7 * n + 6)).flatMap((b) => [
    b - 1,
    b,
    -b,
    -b - 1,
  ]);
  for (const delta of [...borders, 0, 2 ** 52, -(2 ** 52), 2 ** 31, -(2 ** 31), 2 ** 34]) {
    const pieces = await read(
      batchBytes({ baseOffset: 0n, records: [record(delta)], baseTimestampMs: 1000 }),
      0n,
    );
    assert.equal(pieces[0]!.records.at(0).timestampMs, 1000 + delta);
  }
});

test("each piece has one kind of timestamp", async () => {
  const bytes = Buffer.concat([
    plain(0n, 2),
    plain(2n, 2, { isAppendTime: true, maxTimestampMs: 8 }),
    plain(4n, 1),
  ]);
  const pieces = await read(bytes, 0n);
  assert.deepEqual(
    pieces.map(({ timestampType, records }) => [timestampType, records.length]),
    [
      ["create", 2],
      ["append", 2],
      ["create", 1],
    ],
  );
});

test("what is packed is unpacked a piece at a time, so that memory does not grow with what it becomes", async () => {
  const value = Buffer.alloc(400_000, "x");
  const bytes = Array.from({ length: 12 }, (_, n) =>
    batchBytes({
      baseOffset: BigInt(n),
      records: [{ offsetDelta: 0, value }],
      codec: 1,
      pack: (raw) => gzipSync(raw),
    }),
  );
  const pieces = await read(Buffer.concat(bytes), 0n);
  assert.deepEqual(
    pieces.map(({ records }) => records.length),
    [3, 3, 3, 3],
  );
  assert.ok(recordsOf(pieces).every((one) => one.value?.equals(value)));
});

test("a batch that is damaged is refused with its place, and what is before it is handed over first", async () => {
  const next = plain(7n, 2);
  next[next.length - 3]! ^= 1;
  const records = Buffer.concat([plain(5n, 2), next]);
  const pieces = readRange({ topic: "t", partition: 3, aborted: [], records }, 5n);
  const { value: first } = await pieces.next();
  assert.deepEqual([values([first!]), first!.nextOffset], [["5", "6"], 7n]);
  await assert.rejects(pieces.next(), (error) => {
    assert.ok(isLabError(error, "KAFKA_PROTOCOL"));
    assert.match(
      error.message,
      /^t-3 cannot be read from offset 7 on: the batch at offset 7 is damaged: its checksum/,
    );
    assert.deepEqual(error.details, { topic: "t", partition: 3, offset: 7n });
    return true;
  });
});

test("of a batch whose last record is damaged, none is handed over", async () => {
  const next = plain(7n, 3);
  next[next.length - 1] = 9;
  const pieces = readRange(
    { topic: "t", partition: 3, aborted: [], records: Buffer.concat([plain(5n, 2), sealed(next)]) },
    5n,
  );
  const { value: first } = await pieces.next();
  assert.deepEqual([values([first!]), first!.records.valueBytes], [["5", "6"], 2]);
  await assert.rejects(pieces.next(), (error) => isLabError(error, "KAFKA_PROTOCOL"));
});

test("formats before 2 and codecs that nobody knows are refused by name", async () => {
  const old = plain(0n, 1);
  old[16] = 1;
  // A whole message of the old formats is shorter than the header of a batch, where its key and value are.
  for (const bytes of [old, old.subarray(0, 34), old.subarray(0, 17)])
    await assert.rejects(
      read(bytes, 0n),
      (error) => isLabError(error, "KAFKA_PROTOCOL") && /format 1/.test(error.message),
    );
  await assert.rejects(read(plain(0n, 1, { codec: 6 }), 0n), (error) =>
    isLabError(error, "CODEC_UNSUPPORTED"),
  );
  await assert.rejects(read(plain(0n, 1, { codec: 1 }), 0n), (error) =>
    isLabError(error, "CODEC_UNSUPPORTED"),
  );
});

test("whatever bytes a batch holds, it is read to its end or refused by name", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 }),
      async (changes) => {
        const records = [1, 2, 3].map((n) => ({
          offsetDelta: n,
          key: Buffer.from("key"),
          value: Buffer.from("value"),
          headers: [["h", Buffer.from("1")] as const],
        }));
        const bytes = batchBytes({ baseOffset: 0n, records });
        for (const [at, byte] of changes) bytes[57 + (at % (bytes.length - 57))] = byte;
        try {
          for (const { records: found } of await read(sealed(bytes), 0n)) found.toArray();
        } catch (error) {
          assert.ok(isLabError(error, "KAFKA_PROTOCOL"), String(error));
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test("numbers that have no end are refused", async () => {
  const endless = Buffer.alloc(20, 0xff);
  for (const head of [Buffer.alloc(0), Buffer.concat([varint(20), Buffer.from([0])])]) {
    const records = Buffer.concat([head, endless]);
    const bytes = batchBytes({ baseOffset: 0n, records: [{ offsetDelta: 0 }], pack: () => records });
    await assert.rejects(read(bytes, 0n), (error) => isLabError(error, "KAFKA_PROTOCOL"));
  }
  const many = batchBytes({ baseOffset: 0n, records: [{ offsetDelta: 0 }] });
  many.writeInt32BE(2 ** 31 - 1, 57);
  await assert.rejects(read(sealed(many), 0n), (error) => isLabError(error, "KAFKA_PROTOCOL"));
});

test("a record whose key looks like a marker ends nothing, and a marker of a commit hides nothing", async () => {
  const bytes = Buffer.concat([
    plain(0n, 1, { producerId: 1n, isTransactional: true }),
    batchBytes({
      baseOffset: 1n,
      records: [{ offsetDelta: 0, key: Buffer.alloc(4) }],
      producerId: 1n,
      isTransactional: true,
    }),
    plain(2n, 1, { producerId: 1n, isTransactional: true }),
    markerBytes(3n, 1n, "abort"),
    plain(4n, 1, { producerId: 1n, isTransactional: true }),
    markerBytes(5n, 1n, "commit"),
  ]);
  const pieces = await read(bytes, 0n, [{ producerId: 1n, firstOffset: 0n }]);
  assert.deepEqual([values(pieces), end(pieces)], [["4"], 6n]);
});

test("records beside a transaction are seen, though they are of its producer", async () => {
  const bytes = Buffer.concat([
    plain(0n, 1, { producerId: 1n }),
    plain(1n, 1, { producerId: 1n, isTransactional: true }),
  ]);
  assert.deepEqual(values(await read(bytes, 0n, [{ producerId: 1n, firstOffset: 0n }])), ["0"]);
});

test("any interleaving of transactions shows what was committed, and only that, from any offset on", async () => {
  const step = fc.record({
    producer: fc.bigInt({ min: 0n, max: 3n }),
    act: fc.constantFrom("write", "write", "write", "abort", "commit"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(60), async (steps, from) => {
      const log: Buffer[] = [];
      const open = new Map<bigint, number[]>();
      const aborted: AbortedTransaction[] = [];
      const expected = new Set<number>();
      for (const { producer, act } of steps) {
        const offset = log.length;
        const written = open.get(producer) ?? [];
        if (act === "write") {
          log.push(plain(BigInt(offset), 1, { producerId: producer, isTransactional: true }));
          open.set(producer, [...written, offset]);
        } else if (written.length > 0) {
          log.push(markerBytes(BigInt(offset), producer, act === "abort" ? "abort" : "commit"));
          if (act === "commit") for (const each of written) expected.add(each);
          else if (offset >= from) aborted.push({ producerId: producer, firstOffset: BigInt(written[0]!) });
          open.delete(producer);
        }
      }
      const stableEnd = Math.min(log.length, ...[...open.values()].flat());
      const range = log.slice(from, Math.max(from, stableEnd));
      const pieces = await read(Buffer.concat(range), BigInt(from), aborted);
      assert.deepEqual(
        offsets(pieces).map(Number),
        [...expected].sort((a, b) => a - b).filter((offset) => offset >= from && offset < stableEnd),
      );
      assert.equal(end(pieces) ?? BigInt(from), BigInt(Math.max(from, Math.min(stableEnd, log.length))));
    }),
    { numRuns: 300 },
  );
});
