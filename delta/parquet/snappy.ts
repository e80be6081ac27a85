/** Snappy's raw form (google/snappy, `format_description.txt`), decoded with every length checked. */

/** Bytes copied at once. */
const WORD = 4;
/** Up to here copying by words is faster than a call. */
const SHORT = 64;

/** Bytes there must be at `into` behind those that are wanted. */
export const SLACK = WORD;

/**
 * The bytes, which must be `size` in number, at the start of what is returned, which is `into` where that is large enough; at least the first `enough`. RangeError where they are not, or
 * where the input is damaged as far as it was looked at.
 */
export function unsnappy(input: Uint8Array, size: number, into: Buffer | undefined, enough = size): Buffer {
  let at = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = input[at++];
    if (byte === undefined || shift > 28) throw damaged();
    length += (byte & 127) * 2 ** shift;
    if (byte < 128) break;
  }
  if (length !== size) throw damaged();
  const output = into && into.length >= size + SLACK ? into : Buffer.allocUnsafeSlow(size + SLACK);
  const words = new DataView(output.buffer, output.byteOffset, output.length);
  const source = new DataView(input.buffer, input.byteOffset, input.length);
  let to = 0;
  while (at < input.length && (to < enough || enough === size)) {
    const tag = input[at++]!;
    let run = (tag >> 2) + 1;
    if ((tag & 3) === 0) {
      if (run > 60) {
        const extra = run - 60;
        run = 1;
        for (let n = 0; n < extra; n++) run += (input[at++] ?? 0) * 2 ** (8 * n);
      }
      if (run > input.length - at || run > size - to) throw damaged();
      if (run <= SHORT && at + SHORT + WORD <= input.length)
        for (let n = 0; n < run; n += WORD) words.setInt32(to + n, source.getInt32(at + n));
      else output.set(input.subarray(at, at + run), to);
      at += run;
      to += run;
      continue;
    }
    let back = input[at++] ?? 0;
    if ((tag & 3) === 1) {
      run = ((tag >> 2) & 7) + 4;
      back += (tag >> 5) << 8;
    } else {
      back += (input[at++] ?? 0) << 8;
      if ((tag & 3) === 3) back += ((input[at++] ?? 0) + (input[at++] ?? 0) * 256) * 65_536;
    }
    if (back === 0 || back > to || run > size - to || at > input.length) throw damaged();
    const end = to + run;
    if (back >= WORD) {
      // The last word may write beyond the end: what comes next writes over it.
      for (; to < end; to += WORD) words.setInt32(to, words.getInt32(to - back));
      to = end;
    }
    // Source and target overlap: what was just written is repeated.
    for (; to < end; to++) output[to] = output[to - back]!;
  }
  if (to < enough) throw damaged();
  return output;
}

function damaged(): RangeError {
  return new RangeError("compressed bytes are damaged");
}
