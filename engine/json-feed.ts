/** JSON messages as an NDJSON file for DuckDB: bytes as they came where they fit, rewritten where only the exact way knows, letters left out. */

import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StructType } from "../delta/types.ts";
import type { BadRecord } from "./encoder.ts";
import { FITS, FITS_WITH_NEWLINES, type JsonCheck } from "./json-check.ts";
import { fitMessage, parseMessage } from "./json-exact.ts";
import type { RawBatch } from "./raw-batch.ts";

/** How many messages are looked at before other work of the process gets its turn. */
const TURN = 4096;
/** The same for those that are parsed and rewritten. */
const EXACT_TURN = 256;
const PIECES_AT_ONCE = 512;
const NEWLINE = Buffer.from("\n");

/** What `check` says of each message: FITS, FITS_WITH_NEWLINES or UNSURE. */
export async function checkMessages(
  batch: RawBatch,
  check: JsonCheck,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const verdicts = new Uint8Array(batch.length);
  const bytes = batch.values;
  const isAllUtf8 = isUtf8(bytes);
  for (let i = 0, start = 0; i < batch.length; i++) {
    const end = batch.valueEnd(i);
    if (isAllUtf8 || isUtf8(bytes.subarray(start, end))) verdicts[i] = check.look(bytes, start, end);
    start = end + 1;
    if (i % TURN === TURN - 1) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  return verdicts;
}

export type Feed = {
  /** Indexes of the batch, one a line of the file. */
  places: Uint32Array;
  bad: BadRecord[];
  /** Some lines are not as they came. */
  isRewritten: boolean;
  /** Bytes. */
  longestLine: number;
};

/** Writes `file` anew: one line for each message that is a row of `schema`, in the order of the batch. */
export async function writeFeed(options: {
  file: string;
  batch: RawBatch;
  verdicts: Uint8Array;
  schema: StructType;
  ignoreUnknown: boolean;
  signal: AbortSignal;
}): Promise<Feed> {
  const { batch, verdicts, signal } = options;
  const bytes = batch.values;
  const places = new Uint32Array(batch.length);
  const bad: BadRecord[] = [];
  let lines = 0;
  let longestLine = 0;
  let isRewritten = false;
  let pieces: Uint8Array[] = [];
  const handle = await open(options.file, "w");
  try {
    for (let i = 0; i < batch.length; i++) {
      const start = batch.valueStart(i);
      let end = batch.valueEnd(i);
      longestLine = Math.max(longestLine, end - start);
      if (verdicts[i] === FITS) {
        places[lines++] = i;
        while (verdicts[i + 1] === FITS) {
          places[lines++] = ++i;
          const next = batch.valueEnd(i);
          longestLine = Math.max(longestLine, next - end - 1);
          end = next;
        }
        pieces.push(bytes.subarray(start, end + 1));
      } else if (verdicts[i] === FITS_WITH_NEWLINES) {
        places[lines++] = i;
        pieces.push(onOneLine(bytes.slice(start, end)), NEWLINE);
      } else {
        const parsed = parseMessage(batch.value(i));
        const fitted = parsed.kind === "fault" ? parsed : fitMessage(parsed.object, options.schema, options);
        if (fitted.kind === "fault") {
          bad.push({ index: i, ...fitted.fault });
        } else {
          const line = Buffer.from(`${fitted.json}\n`);
          longestLine = Math.max(longestLine, line.length);
          isRewritten = true;
          places[lines++] = i;
          pieces.push(line);
        }
        if (i % EXACT_TURN === 0) await nextTurn();
      }
      if (pieces.length >= PIECES_AT_ONCE) {
        signal.throwIfAborted();
        await writeAll(handle, pieces);
        pieces = [];
      }
    }
    await writeAll(handle, pieces);
  } finally {
    await handle.close();
  }
  return { places: places.subarray(0, lines), bad, isRewritten, longestLine };
}

/** Space between tokens stays space; in a string these bytes cannot stand. */
function onOneLine(json: Uint8Array): Uint8Array {
  for (let i = 0; i < json.length; i++) if (json[i] === 10 || json[i] === 13) json[i] = 32;
  return json;
}

async function writeAll(handle: Awaited<ReturnType<typeof open>>, pieces: Uint8Array[]): Promise<void> {
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (total === 0) return;
  const { bytesWritten } = await handle.writev(pieces);
  if (bytesWritten === total) return;
  // A short write, as before a full disk: once more, so that the cause is thrown.
  const rest = Buffer.concat(pieces).subarray(bytesWritten);
  for (let done = 0; done < rest.length; )
    done += (await handle.write(rest, done, rest.length - done)).bytesWritten;
}
