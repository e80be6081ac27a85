/** What one message makes fail must not fail the others: a batch that fails is halved until that message is alone, and a letter. */

import { rm } from "node:fs/promises";
import { isLabError, LabError } from "../core/errors.ts";
import type { Encoded, EncodePlan } from "./encoder.ts";
import { createRawBatch, type RawBatch } from "./raw-batch.ts";

type Encode = (batch: RawBatch, plan: EncodePlan, signal: AbortSignal) => Promise<Encoded>;

/**
 * `encode`, and where a statement fails, its halves one after the other, each by the schema that the one before it left. A failure that
 * a batch without content meets, too, is a bug or a wrong transform and thrown; so is what no message is to blame for: an outage of the
 * disk, too little memory for a single message.
 */
export function encodeApart(encode: Encode): Encode {
  async function attempt(batch: RawBatch, plan: EncodePlan, signal: AbortSignal): Promise<Encoded> {
    try {
      return await encode(batch, plan, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (batch.length > 1 && isAboutMessages(error)) return halves(batch, plan, signal);
      if (!isAboutMessages(error) || isAboutMemory(error)) throw asStoreFull(error);
      return { files: [], bad: [letter(error)], counts: noRows(batch), evolvedSchema: undefined };
    }
  }

  /** Throws `error` where a message without content meets one, too. */
  async function proveWell(batch: RawBatch, plan: EncodePlan, error: unknown, signal: AbortSignal) {
    const blanks = await encode(blank(batch), plan, signal).catch(() => {
      signal.throwIfAborted();
      throw error;
    });
    await Promise.all(blanks.files.map(({ file }) => rm(file, { force: true })));
  }

  async function halves(batch: RawBatch, plan: EncodePlan, signal: AbortSignal): Promise<Encoded> {
    const middle = batch.length >> 1;
    const first = await attempt(part(batch, 0, middle), plan, signal);
    const grown: EncodePlan = {
      ...plan,
      schema: first.evolvedSchema ?? plan.schema,
      ...(first.evolvedInput === undefined ? {} : { input: first.evolvedInput }),
    };
    const second = await attempt(part(batch, middle, batch.length), grown, signal);
    return joined(first, second, middle);
  }

  async function encodeAll(batch: RawBatch, plan: EncodePlan, signal: AbortSignal): Promise<Encoded> {
    try {
      return await encode(batch, plan, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isAboutMessages(error)) throw asStoreFull(error);
      await proveWell(batch, plan, error, signal);
      return batch.length > 1 ? halves(batch, plan, signal) : attempt(batch, plan, signal);
    }
  }

  return async (batch, plan, signal) => {
    let i = 0;
    while (i < batch.length && isStorableTime(batch.timestampMs(i))) i++;
    if (i === batch.length) return encodeAll(batch, plan, signal);
    // A producer that gives nanoseconds does so for each of its messages: they are not looked for one by one.
    const places = Array.from({ length: batch.length }, (_, place) => place);
    const timely = places.filter((place) => isStorableTime(batch.timestampMs(place)));
    const encoded = await encodeAll(pick(batch, timely), plan, signal);
    const untimely = places.filter((place) => !isStorableTime(batch.timestampMs(place)));
    const bad = [
      ...encoded.bad.map((one) => ({ ...one, index: timely[one.index]! })),
      ...untimely.map((index) => ({ index, ...BAD_TIMESTAMP })),
    ];
    return { ...encoded, bad: bad.sort((a, b) => a.index - b.index) };
  };
}

/** A record whose time `isStorableTime` refuses is no row. */
export const BAD_TIMESTAMP = {
  stage: "decode",
  code: "BAD_TIMESTAMP",
  message: "the record's time is beyond what a timestamp can hold: it is in milliseconds since 1970",
} as const;

/** Whether a Kafka timestamp in ms fits a timestamp of microseconds. */
export function isStorableTime(ms: number): boolean {
  return Math.abs(ms) <= 9.2e15;
}

/** A message like the first one with nothing in it that could be wrong. */
function blank(batch: RawBatch): RawBatch {
  const one = createRawBatch();
  const { topic, partition, offset, timestampType, generation } = batch.message(0);
  const from = { topic, partition, offset, timestampType, generation, timestampMs: 0 };
  one.append({ ...from, key: null, value: Buffer.from("{}"), headers: [] });
  return one;
}

function pick(batch: RawBatch, places: readonly number[]): RawBatch {
  const some = createRawBatch();
  for (const place of places) some.append(batch.message(place));
  return some;
}

function part(batch: RawBatch, start: number, end: number): RawBatch {
  return pick(
    batch,
    Array.from({ length: end - start }, (_, i) => start + i),
  );
}

function joined(first: Encoded, second: Encoded, middle: number): Encoded {
  const counts = new Map(first.counts);
  for (const [partition, { rows, skipped }] of second.counts) {
    const sum = counts.get(partition) ?? { rows: 0, skipped: 0 };
    counts.set(partition, { rows: sum.rows + rows, skipped: sum.skipped + skipped });
  }
  const evolvedInput = second.evolvedInput ?? first.evolvedInput;
  return {
    files: [...first.files, ...second.files],
    bad: [...first.bad, ...second.bad.map((bad) => ({ ...bad, index: bad.index + middle }))],
    counts,
    evolvedSchema: second.evolvedSchema ?? first.evolvedSchema,
    ...(evolvedInput === undefined ? {} : { evolvedInput }),
  };
}

function noRows(batch: RawBatch): Encoded["counts"] {
  return new Map([[batch.partition(0), { rows: 0, skipped: 0 }]]);
}

/** A field that a message brings may clash with what the transform yields. */
const OF_TRANSFORMS = ["TRANSFORM_REFUSED", "SCHEMA_MISMATCH"] as const;

function letter(error: unknown): Encoded["bad"][number] {
  const message = (error as Error).message.split("\n")[0] ?? "";
  const stage = isLabError(error, ...OF_TRANSFORMS) ? "transform" : "decode";
  return { index: 0, stage, code: "NOT_WRITABLE", message };
}

/** What the engine says of statements, as against the machine; and rows that are not as many as messages. */
function isAboutMessages(error: unknown): boolean {
  if (isLabError(error)) return isLabError(error, "INTERNAL", ...OF_TRANSFORMS);
  const { message } = error as Error;
  return (
    /^[A-Z][A-Za-z ]* Error: /.test(message) &&
    !/^(IO|INTERRUPT|FATAL|INTERNAL|Permission) Error/i.test(message)
  );
}

function isAboutMemory(error: unknown): boolean {
  return /^Out of Memory Error/.test((error as Error).message);
}

/** STORE_FULL in place of what a full disk makes fail; `error` itself otherwise. */
export function asStoreFull(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  const isFull =
    code === "ENOSPC" || code === "EDQUOT" || /no space left on device|quota exceeded/i.test(message);
  if (!isFull) return error;
  return new LabError("STORE_FULL", `the staging folder is full: ${message.split("\n")[0]}`, {
    hint: "free some space on the disk of the data folder (--data)",
    cause: error,
  });
}
