import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type RawMessage, toFetched } from "./fetched.ts";

function raw(fetchedOffset: string, lastOffset: string, messages: RawMessage[]) {
  return { topic: "t", partition: 3, fetchedOffset, messages, lastOffset: () => lastOffset };
}

function message(offset: string, timestampType = 0, headers: RawMessage["headers"] = {}): RawMessage {
  return {
    offset,
    timestamp: "1700000000123",
    key: null,
    value: Buffer.from(offset),
    headers,
    batchContext: { timestampType },
  };
}

test("the position passes gaps, aborted and control records behind the last visible one", () => {
  const [batch, ...rest] = toFetched(raw("10", "17", [message("12"), message("15")]), 7);
  assert.deepEqual(rest, []);
  assert.equal(batch!.fetchedOffset, 10n);
  assert.equal(batch!.nextOffset, 18n);
  assert.equal(batch!.generation, 7);
  assert.deepEqual(
    batch!.records.map(({ offset }) => offset),
    [12n, 15n],
  );
});

test("a range without a visible record is an empty batch", () => {
  const [batch] = toFetched(raw("10", "11", []), 1);
  assert.deepEqual([batch!.fetchedOffset, batch!.nextOffset, batch!.records], [10n, 12n, []]);
});

test("offsets beyond 2^53 stay exact", () => {
  const [batch] = toFetched(
    raw("9223372036854775000", "9223372036854775806", [message("9223372036854775805")]),
    1,
  );
  assert.equal(batch!.records[0]!.offset, 9223372036854775805n);
  assert.equal(batch!.nextOffset, 9223372036854775807n);
});

test("doubled headers are neighbours, and null stays null", () => {
  const headers = { a: [Buffer.from("1"), null], b: null, c: Buffer.from("2") };
  const [batch] = toFetched(raw("0", "0", [message("0", 0, headers)]), 1);
  assert.deepEqual(batch!.records[0]!.headers, [
    ["a", Buffer.from("1")],
    ["a", null],
    ["b", null],
    ["c", Buffer.from("2")],
  ]);
});

test("batches lie end to end and each has one kind of timestamp, however the kinds are mixed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ gap: fc.integer({ min: 0, max: 3 }), kind: fc.integer({ min: 0, max: 1 }) })),
      (steps) => {
        let offset = 99;
        const messages = steps.map(({ gap, kind }) => {
          offset += gap + 1;
          return message(String(offset), kind);
        });
        const batches = toFetched(raw("100", String(offset + 2), messages), 1);
        assert.equal(batches[0]!.fetchedOffset, 100n);
        assert.equal(batches.at(-1)!.nextOffset, BigInt(offset + 3));
        for (const [at, batch] of batches.entries())
          if (at > 0) assert.equal(batch.fetchedOffset, batches[at - 1]!.nextOffset);
        const kinds = batches.flatMap(({ records, timestampType }) =>
          records.map(() => (timestampType === "append" ? 1 : 0)),
        );
        assert.deepEqual(
          kinds,
          steps.map(({ kind }) => kind),
        );
      },
    ),
  );
});
