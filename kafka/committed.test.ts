import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { markAborted, type ScannedRecord } from "./committed.ts";

const ABORT = Buffer.from([0, 0, 0, 0]);
const COMMIT = Buffer.from([0, 0, 0, 1]);

function data(offset: number, producerId: number, key: Buffer | null = null): ScannedRecord {
  const batchContext = { producerId: String(producerId), inTransaction: producerId >= 0 };
  return { offset: String(offset), key, isControlRecord: false, batchContext };
}

function marker(offset: number, producerId: number, key: Buffer): ScannedRecord {
  return { ...data(offset, producerId, key), isControlRecord: true };
}

function visible(records: ScannedRecord[]): number[] {
  return records.filter(({ isControlRecord }) => !isControlRecord).map(({ offset }) => Number(offset));
}

test("overlapping transactions are told apart, in whatever order the broker lists them", () => {
  const records = [
    data(0, 1),
    data(1, 2),
    data(2, 3),
    data(3, 1),
    marker(4, 2, ABORT),
    marker(5, 3, COMMIT),
    marker(6, 1, ABORT),
    data(7, 1),
  ];
  markAborted(records, [
    { producerId: "2", firstOffset: "1" },
    { producerId: "1", firstOffset: "0" },
  ]);
  assert.deepEqual(visible(records), [2, 7]);
});

test("transactions that began before the fetched range are hidden from its first record on", () => {
  const records = [data(10, 2), data(11, 1), marker(12, 1, ABORT), marker(13, 2, ABORT)];
  markAborted(records, [
    { producerId: "1", firstOffset: "3" },
    { producerId: "2", firstOffset: "4" },
  ]);
  assert.deepEqual(visible(records), []);
});

test("a record whose key looks like a marker ends nothing", () => {
  const records = [data(0, 1), data(1, 1, ABORT), data(2, 1), marker(3, 1, ABORT)];
  markAborted(records, [{ producerId: "1", firstOffset: "0" }]);
  assert.deepEqual(visible(records), []);
});

test("any interleaving of transactions shows what was committed, and only that, from any offset on", () => {
  const step = fc.record({
    producer: fc.integer({ min: 0, max: 3 }),
    act: fc.constantFrom("write", "write", "write", "abort", "commit"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), (steps, from) => {
      const log: ScannedRecord[] = [];
      const open = new Map<number, number[]>();
      const aborted: { producerId: string; firstOffset: string }[] = [];
      const expected = new Set<number>();
      for (const { producer, act } of steps) {
        const offset = log.length;
        const written = open.get(producer) ?? [];
        if (act === "write") {
          log.push(data(offset, producer));
          open.set(producer, [...written, offset]);
        } else if (written.length > 0) {
          log.push(marker(offset, producer, act === "abort" ? ABORT : COMMIT));
          if (act === "commit") for (const each of written) expected.add(each);
          else if (offset >= from)
            aborted.push({ producerId: String(producer), firstOffset: String(written[0]) });
          open.delete(producer);
        }
      }
      const undecided = new Set([...open.values()].flat());
      const stableEnd = Math.min(log.length, ...undecided);
      const range = log.slice(from, Math.max(from, stableEnd));
      markAborted(range, aborted);
      assert.deepEqual(
        visible(range),
        [...expected].sort((a, b) => a - b).filter((offset) => offset >= from && offset < stableEnd),
      );
    }),
    { numRuns: 500 },
  );
});
