/** Text that stays in the bytes it was read with, until somebody wants it. */

/** The UTF-8 bytes of one text. */
export type Slice = { bytes: Buffer; start: number; length: number };

/** Text number `number` of a block. */
export type PackedText = { block: PackedBlock; number: number };

/** Texts that stand packed. Unpacking may use the bytes of `into`, and throws CORRUPT_LOG where the bytes are damaged. */
export type PackedBlock = { unpack(into?: Buffer): UnpackedBlock };

/** Text n goes from `starts[n]`, `lengths[n]` bytes. */
export type UnpackedBlock = { bytes: Buffer; starts: Int32Array; lengths: Int32Array };

export function sliceText({ bytes, start, length }: Slice): string {
  return bytes.toString("utf8", start, start + length);
}

export function packedText({ block, number }: PackedText): string {
  return blockText(block.unpack(), number);
}

export function blockText({ bytes, starts, lengths }: UnpackedBlock, number: number): string {
  const start = starts[number]!;
  return bytes.toString("utf8", start, start + lengths[number]!);
}
