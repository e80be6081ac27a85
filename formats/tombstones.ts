/** Messages without a value: what becomes of them is the user's to say, whatever the format. */

import type { Decoded, Decoder } from "./decoder.ts";

/** A dead letter, nothing, or a row of nulls that says with its key where it is from. */
export const TOMBSTONES = ["deadletter", "skip", "row"] as const;
export type Tombstones = (typeof TOMBSTONES)[number];

const DEAD_LETTER: Decoded = {
  bad: { stage: "decode", code: "NULL_VALUE", message: "the value is null (a tombstone)" },
};
const NOTHING: Decoded = { objects: [] };
const EMPTY_ROW: Decoded = { objects: [Buffer.from("{}")] };

/** `decoder`, or values as they are where there is none, and null values by the rule. */
export function withTombstones(decoder: Decoder | null, rule: Tombstones): Decoder {
  const ofNull = { deadletter: DEAD_LETTER, skip: NOTHING, row: EMPTY_ROW }[rule];
  return {
    prepare: async (values, signal) => decoder?.prepare(values, signal),
    decode: (value) => (value === null ? ofNull : (decoder?.decode(value) ?? { objects: [value] })),
    schema: () => decoder?.schema() ?? null,
  };
}
