/** Runs and bit-packed groups of small numbers: levels and places in a dictionary (parquet-format, "RLE/Bit-Packing Hybrid"). */

/** Fills `out` with the numbers of `width` bits that stand in `bytes`. RangeError where there are fewer, or `width` is over 24. */
export function readHybrid<T extends Uint8Array | Int32Array>(bytes: Uint8Array, width: number, out: T): T {
  if (width === 0) return out;
  if (width > 24) throw new RangeError(`numbers of ${width} bits`);
  const bytesPerValue = (width + 7) >> 3;
  let at = 0;
  const byte = (): number => {
    const value = bytes[at++];
    if (value === undefined) throw new RangeError("runs end early");
    return value;
  };
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = byte();
      value += (next & 127) * scale;
      if (next < 128) return value;
      if (scale > 2 ** 35) throw new RangeError("a run is too long");
    }
  };
  for (let filled = 0; filled < out.length; ) {
    const head = varint();
    const left = out.length - filled;
    if (head % 2 === 0) {
      let value = 0;
      for (let n = 0; n < bytesPerValue; n++) value += byte() * 2 ** (8 * n);
      const run = Math.min(head / 2, left);
      if (run === 0) throw new RangeError("a run of nothing");
      out.fill(value, filled, filled + run);
      filled += run;
      continue;
    }
    const run = Math.min(((head - 1) / 2) * 8, left);
    if (run === 0) throw new RangeError("a run of nothing");
    const mask = 2 ** width - 1;
    let [pending, bits] = [0, 0];
    for (const end = filled + run; filled < end; filled++) {
      for (; bits < width; bits += 8) pending |= byte() << bits;
      out[filled] = pending & mask;
      pending >>>= width;
      bits -= width;
    }
  }
  return out;
}
