/** Values of a leaf as the bytes of a page: plain, differences, or lengths and then bytes. */

import type { LeafValues } from "./leaf-vector.ts";
import { putPacked } from "./parquet-bits.ts";
import { type ByteSink, putBytes, putWord, reserve } from "./parquet-bytes.ts";
import { putDeltas, putWideDeltas } from "./parquet-delta.ts";
import { putStrings, stringsOf } from "./parquet-strings.ts";

/** By their numbers in `parquet.thrift`. */
export const ENCODING = { plain: 0, rle: 3, delta: 5, deltaLength: 6, dictionary: 8 } as const;

/** How values of a range are best written, where they do not repeat themselves; `spread` is their largest less their least. */
export function encodingOf(values: LeafValues, spread: number): number {
  if (values.kind === "bytes") return ENCODING.deltaLength;
  if (values.kind === "int32") return ENCODING.delta;
  return values.kind === "int64" && spread < MOST_SPREAD ? ENCODING.delta : ENCODING.plain;
}

/** Differences up to here are exact as doubles. */
const MOST_SPREAD = 2 ** 52;
/** Up to here differences of the lower halves are all there is. */
const NARROW_SPREAD = 2 ** 31;

/** Writes the values from `from` to before `to` as `encodingOf` says. */
export function putValues(
  sink: ByteSink,
  values: LeafValues,
  from: number,
  to: number,
  spread: number,
): void {
  const encoding = encodingOf(values, spread);
  if (encoding === ENCODING.plain) putPlain(sink, values, from, to);
  else if (values.kind === "int32") putDeltas(sink, values.numbers, from, to);
  else if (values.kind === "int64") {
    const { high } = values;
    const low = new Int32Array(values.low.buffer, values.low.byteOffset, values.low.length);
    if (spread < NARROW_SPREAD) putDeltas(sink, low, from, to, high[from] ?? 0);
    else putWideDeltas(sink, low, high, from, to);
  } else if (values.kind === "bytes") {
    const { length } = values;
    putDeltas(sink, new Int32Array(length.buffer, length.byteOffset, length.length), from, to);
    putStrings(sink, stringsOf(values), from, to);
  }
}

/** Writes values as they are. Numbers are little-endian in memory, too, wherever Node runs. */
export function putPlain(sink: ByteSink, values: LeafValues, from: number, to: number): void {
  switch (values.kind) {
    case "boolean":
      putPacked(sink, values.bits, from, to, 1);
      return;
    case "int32":
    case "float":
    case "double": {
      const { buffer, byteOffset, BYTES_PER_ELEMENT: size } = values.numbers;
      putBytes(sink, new Uint8Array(buffer, byteOffset + from * size, (to - from) * size));
      return;
    }
    case "int64":
      reserve(sink, 8 * (to - from));
      for (let i = from; i < to; i++) {
        putWord(sink, values.low[i]!);
        putWord(sink, values.high[i]!);
      }
      return;
    case "bytes": {
      const strings = stringsOf(values);
      for (let i = from; i < to; i++) {
        putWord(sink, values.length[i]!);
        putStrings(sink, strings, i, i + 1);
      }
      return;
    }
    case "fixed":
      putBytes(sink, values.bytes.subarray(16 * from, 16 * to));
  }
}
