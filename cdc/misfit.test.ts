/** Settings that fit no message are told, with what would fit; messages that are bad themselves are letters. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LabError } from "../core/errors.ts";
import { type ChunkContent, emptyChunk, type Letter } from "../ingest/chunk.ts";
import type { Work } from "../ingest/work.ts";
import { misfitOf, requireFitting } from "./misfit.ts";
import type { ChangeFormat } from "./options.ts";

function letter(offset: number, code: string, message: string, value: object | string): Letter {
  return {
    ...{ topic: "people", partition: 0, offset: BigInt(offset), timestampMs: 0, key: null, headers: [] },
    ...{ value: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)) },
    ...{ stage: code === "MALFORMED_JSON" ? "decode" : "schema", code, message },
  };
}

const ADA = { op: "c", row: { id: 1, name: "Ada" }, seq: 1 };
const GONE = { op: "d", key: { id: 1 }, seq: 2 };
const plain = { op: "op", row: "row", key: "key", position: ["sequence"] };
const told = { topic: "people", format: "plain" as ChangeFormat, keyColumns: ["person"], plain };

type Case = [story: string, of: Partial<typeof told>, letters: Letter[], message: RegExp, hint: RegExp];

const noKey = "person is a column of the key, and not there";
const CASES: Case[] = [
  [
    "a key column that no row has: those that rows have are named",
    {},
    [letter(0, "CDC_KEY_MISSING", noKey, ADA), letter(1, "CDC_KEY_MISSING", noKey, GONE)],
    /^people: none of 2 messages has a key: person is .*; rows have id, name$/,
    /cdc\.key \(--cdc-key\) is person: set it right and start again/,
  ],
  [
    "a position that no message tells: the paths that there are are named",
    {},
    [letter(0, "CDC_POSITION", "sequence is no whole number that a long holds", ADA)],
    /^people: the only message lacks a position: .*; messages have op, row\.id, row\.name, seq$/,
    /cdc\.position \(--cdc-position\) is sequence/,
  ],
  [
    "a place without a row",
    { plain: { ...plain, row: "after" } },
    [letter(0, "CDC_ROW_MISSING", "after is no object", ADA)],
    /has a row|lacks a row/,
    /cdc\.row \(--cdc-row\) is after/,
  ],
  [
    "a path to the operation that leads elsewhere",
    { plain: { ...plain, op: "seq" } },
    [letter(0, "UNKNOWN_OPERATION", "seq is 1, which is no known operation", ADA)],
    /lacks a known operation/,
    /cdc\.op \(--cdc-op\) is seq/,
  ],
  [
    "another format: the columns of Debezium's rows are found behind its envelope",
    { format: "debezium" },
    [
      letter(0, "CDC_KEY_MISSING", "the message's key is no JSON object", {
        payload: { op: "c", after: { id: 1, name: "Ada" } },
      }),
    ],
    /rows have id, name$/,
    /cdc\.key \(--cdc-key\) is person/,
  ],
  [
    "messages of another format than was told",
    { format: "dms" },
    [letter(0, "NOT_A_CHANGE", "there is no object metadata", ADA)],
    /lacks a change of format dms/,
    /cdc\.format \(--cdc-format\) is dms/,
  ],
  [
    "what is no JSON says nothing against it",
    {},
    [letter(0, "MALFORMED_JSON", "expected a value", "no"), letter(1, "CDC_KEY_MISSING", noKey, ADA)],
    /none of 2 messages has a key/,
    /--max-bad off/,
  ],
];

for (const [story, of, letters, message, hint] of CASES)
  test(`no message is a change, and the setting is told: ${story}`, () => {
    const error = misfitOf(letters, { ...told, ...of }, false);
    assert.equal(error?.code, "CONFIG_INVALID");
    assert.match(error.message, message);
    assert.match(error.hint ?? "", hint);
  });

const BAD: [story: string, letters: Letter[], hasRows: boolean][] = [
  ["several reasons", [letter(0, "CDC_KEY_MISSING", "", ADA), letter(1, "CDC_ROW_MISSING", "", ADA)], false],
  ["no JSON at all", [letter(0, "MALFORMED_JSON", "", "no")], false],
  ["a reason that no setting changes", [letter(0, "RESERVED_FIELD", "", ADA)], false],
  ["a table whose rows have the key", [letter(0, "CDC_KEY_MISSING", "", ADA)], true],
];

for (const [story, letters, hasRows] of BAD)
  test(`messages that are bad themselves stay letters: ${story}`, () => {
    assert.equal(misfitOf(letters, told, hasRows), null);
  });

/** Judges as it is told: each chunk so many changes and letters. */
function fakeWork(chunks: { changes: number; letters: number; code?: string }[]): Work {
  let offset = 0;
  return {
    async encode(chunk) {
      const { changes, letters, code = "CDC_KEY_MISSING" } = chunks.shift()!;
      for (let n = 0; n < letters; n++) chunk.letters.push(letter(offset++, code, noKey, ADA));
      offset += changes;
      const counts = {
        first: 0n,
        last: 0n,
        skipped: 0,
        minTimestampMs: 0,
        maxTimestampMs: 0,
        fingerprint: "",
      };
      chunk.counts.set(0, { ...counts, rows: changes, letters });
    },
    publish: () => assert.fail("nothing is published here"),
    requireFit: () => {},
    tableFor: () => null,
    close: async () => {},
  };
}

async function encodeAll(
  once: boolean,
  chunks: { changes: number; letters: number; code?: string }[],
): Promise<"fits" | LabError> {
  const count = chunks.length;
  const work = requireFitting(fakeWork(chunks), { ...told, once });
  const input = { targetFor: async () => null } as unknown as Parameters<Work["encode"]>[1];
  try {
    for (let n = 0; n < count; n++) await work.encode(emptyChunk() as ChunkContent, input);
    return "fits";
  } catch (error) {
    return error as LabError;
  }
}

test("a run with an end stops at its first messages, one without after a thousand, and neither once there was a change", async () => {
  const stops = async (...of: Parameters<typeof encodeAll>) => (await encodeAll(...of)) !== "fits";
  assert.equal(await stops(true, [{ changes: 0, letters: 1 }]), true);
  assert.equal(await stops(false, [{ changes: 0, letters: 999 }]), false);
  assert.equal(
    await stops(false, [
      { changes: 0, letters: 999 },
      { changes: 0, letters: 1 },
    ]),
    true,
  );
  assert.equal(await stops(true, [{ changes: 1, letters: 5000 }]), false);
  assert.equal(
    await stops(false, [
      { changes: 1, letters: 0 },
      { changes: 0, letters: 5000 },
    ]),
    false,
  );
  assert.equal(await stops(true, [{ changes: 0, letters: 0 }]), false);
});
