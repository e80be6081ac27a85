/** Reading ahead of whoever sends: while some records are on their way the engine looks for the next ones. */

import type { LakeRecord } from "./lake.ts";

/** Records that wait for their sending, in bytes. */
const MOST_WAITING = 16 << 20;
/** Lists that wait are handed on as one, up to so many bytes. */
const TOGETHER = 4 << 20;
/** What a record takes beside key and value. */
const FRAME_BYTES = 100;

/**
 * The lists of `source` in their order, as many as wait taken together; about `mostBytes` wait at most. An empty list comes where none waits and `source` said with
 * one that the next takes a while. A failure comes behind what was read before it.
 */
export async function* ahead(
  source: AsyncGenerator<LakeRecord[]>,
  mostBytes: number = MOST_WAITING,
): AsyncGenerator<LakeRecord[]> {
  const waiting: { records: LakeRecord[]; bytes: number }[] = [];
  let bytes = 0;
  let [hasEnded, isClosed] = [false, false];
  let failure: { error: unknown } | undefined;
  let wakeReader = () => {};
  let wakeSource = () => {};
  const pumping = (async () => {
    try {
      for await (const records of source) {
        const one = { records, bytes: bytesOf(records) };
        waiting.push(one);
        bytes += one.bytes;
        wakeReader();
        while (bytes >= mostBytes && !isClosed)
          await new Promise<void>((resolve) => {
            wakeSource = resolve;
          });
        if (isClosed) return;
      }
    } catch (error) {
      failure = { error };
    } finally {
      hasEnded = true;
      wakeReader();
    }
  })();
  try {
    for (;;) {
      while (waiting.length === 0 && !hasEnded)
        await new Promise<void>((resolve) => {
          wakeReader = resolve;
        });
      if (waiting.length === 0) break;
      const taken: LakeRecord[][] = [];
      let takenBytes = 0;
      let takesAWhile = false;
      while (waiting.length > 0 && takenBytes < TOGETHER) {
        const one = waiting.shift()!;
        takesAWhile = one.records.length === 0;
        if (!takesAWhile) taken.push(one.records);
        takenBytes += one.bytes;
      }
      bytes -= takenBytes;
      wakeSource();
      if (taken.length > 0) yield taken.length === 1 ? taken[0]! : taken.flat();
      if (takesAWhile && waiting.length === 0 && !hasEnded) yield [];
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    isClosed = true;
    wakeSource();
    await pumping;
  }
}

function bytesOf(records: readonly LakeRecord[]): number {
  let bytes = 0;
  for (const { key, value } of records) bytes += FRAME_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  return bytes;
}
