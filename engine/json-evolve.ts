/** Schemas that messages tell, or that they add to: those of a batch that are parsed for it, one by one. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { mergeSchemas } from "../delta/schema-merge.ts";
import { withTypeChanges } from "../delta/type-widening.ts";
import type { StructType } from "../delta/types.ts";
import type { EncodePlan } from "./encoder.ts";
import { inferAdditions, inferStruct, nothingObserved, type Observed, observe } from "./infer.ts";
import { fitMessage, parseMessage } from "./json-exact.ts";
import { JsonNumber, type JsonValue } from "./json-parse.ts";
import { KAFKA_FIELD, withoutKafka } from "./kafka-column.ts";
import { tellMixed } from "./mixed-columns.ts";
import type { RawBatch } from "./raw-batch.ts";
import { widenedFor } from "./widening.ts";

/** What of a plan says how its schema may grow. */
export type Growth = Pick<EncodePlan, "schema" | "widen"> & {
  /** Types to give to new fields of these names where what was seen widens to them. */
  hints?: StructType;
};

/** Messages looked at before other work of the process gets its turn: parsing one is slow. */
const TURN = 512;

/** The schema of the batch's messages; null when none parses. */
export async function inferMessages(batch: RawBatch, signal: AbortSignal): Promise<StructType | null> {
  const seen = nothingObserved();
  for (let i = 0; i < batch.length; i++) {
    observeMessage(seen, batch.value(i));
    if (i % TURN === TURN - 1) await nextTurn();
    signal.throwIfAborted();
  }
  const schema = inferStruct(seen);
  return schema && tellMixed(schema, batch, signal);
}

/** Adds a message to what was seen; one that is no JSON object, or too deep, adds nothing. */
export function observeMessage(seen: Observed, message: Uint8Array | null): void {
  const parsed = parseMessage(message);
  if (parsed.kind === "object" && !isDeep(parsed.object)) observe(seen, parsed.object);
}

/**
 * The schema with the fields that messages hold and it lacks, and with wider types where it may have them; only of messages that are rows
 * then. The same object where nothing is new. `places` are those of the messages that may bring something: all that do not fit it as it is.
 */
export async function evolveSchema(
  batch: RawBatch,
  places: readonly number[],
  { schema, hints, widen }: Growth,
  signal: AbortSignal,
): Promise<StructType> {
  const before = withoutKafka(schema);
  let known = before;
  const seen = nothingObserved();
  for (const [i, place] of places.entries()) {
    const parsed = parseMessage(batch.value(place));
    if (parsed.kind === "object" && !isDeep(parsed.object)) {
      const wider = widen ? widenedFor(known, parsed.object, widen) : known;
      const fitted = fitMessage(parsed.object, wider, { ignoreUnknown: true });
      if (fitted.kind === "row") known = wider;
      if (fitted.kind === "row" && fitted.hasUnknown) observe(seen, parsed.object);
    }
    if (i % TURN === TURN - 1) await nextTurn();
    signal.throwIfAborted();
  }
  const additions = inferAdditions(known, seen, hints);
  const merged = additions === null ? known : mergeSchemas(known, await tellMixed(additions, batch, signal));
  if (merged === before) return schema;
  const noted = known === before ? merged : withTypeChanges(before, merged);
  const kafka = schema.fields.filter((field) => field.name === KAFKA_FIELD.name);
  return { type: "struct", fields: [...noted.fields, ...kafka] };
}

/** Engines bind a nested type by recursion: what is deeper than this becomes no column. */
const MOST_LEVELS = 64;

function isDeep(value: JsonValue, level = 0): boolean {
  if (typeof value !== "object" || value === null || value instanceof JsonNumber) return false;
  if (level > MOST_LEVELS) return true;
  return Object.values(value).some((inner: JsonValue) => isDeep(inner, level + 1));
}
