import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Finding } from "./findings.ts";
import { nameMessages, rangesOf } from "./name-messages.ts";
import type { Seen } from "./seen.ts";

const finding: Finding = {
  ...{ origin: "shop", epoch: 1, windowMs: 0, stage: "ingest", cause: "altered", count: 0, sinceMs: 0 },
};

test("whatever is dropped, sent twice or written twice of a window is named exactly, together or alone", () => {
  const fates = fc.array(fc.constantFrom("there", "there", "dropped", "sent twice", "written twice"), {
    minLength: 1,
    maxLength: 40,
  });
  fc.assert(
    fc.property(fates, (all) => {
      const seen = all.flatMap((fate, sequence): Seen[] => {
        const place = { sequence, partition: sequence % 3, offset: BigInt(sequence), times: 1 };
        if (fate === "dropped") return [];
        if (fate === "sent twice") return [place, { ...place, offset: 1_000n + BigInt(sequence) }];
        return [{ ...place, times: fate === "written twice" ? 2 : 1 }];
      });
      const of = (fate: string) => all.flatMap((one, sequence) => (one === fate ? [sequence] : []));
      const cell = { stated: all.length, first: 0, last: all.length - 1, found: seen.length };
      const named = nameMessages(finding, { ...cell, whyMissing: "lost" }, seen);
      const expected = [
        { stage: "ingest", cause: "lost", which: of("dropped") },
        { stage: "producer", cause: "doubled", which: of("sent twice") },
        { stage: "ingest", cause: "doubled", which: of("written twice") },
      ].filter(({ which }) => which.length > 0);
      if (expected.length === 0) assert.deepEqual(named, [finding]);
      else
        assert.deepEqual(
          named.map(({ stage, cause, count, named: names }) => ({
            ...{ stage, cause, count, sequences: names?.sequences, isExact: names?.isExact },
          })),
          expected.map(({ stage, cause, which }) => ({
            ...{ stage, cause, count: which.length, sequences: rangesOf(which), isExact: true },
          })),
        );
    }),
  );
});

test("of a run that was killed some places were never acknowledged: only what was stated can be missing", () => {
  const place = (sequence: number): Seen => ({ sequence, partition: 0, offset: BigInt(sequence), times: 1 });
  // Ten of 0 to 19 were stated, and all are there, with two more.
  const seen = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 3, 4].map(place);
  const cell = { stated: 10, first: 3, last: 19, found: 12, whyMissing: "lost" as const };
  assert.deepEqual(nameMessages(finding, cell, seen), [finding]);
  const [lost] = nameMessages(finding, { ...cell, found: 8 }, seen.slice(0, 8));
  assert.deepEqual(
    [lost?.count, lost?.named?.isExact, lost?.named?.sequences],
    [
      2,
      false,
      [
        [3, 9],
        [18, 19],
      ],
    ],
  );
});
