/** Short pieces of bytes from one memory to another: a call to copy costs more than the loop below. */

/** So many bytes are cheaper by a call. */
export const LONG = 256;

/**
 * Copies `length` bytes by words of four. Up to three bytes behind them are overwritten, so that `target` needs that room; `source` is never read
 * beyond its end.
 */
export function copyWords(
  target: DataView,
  to: number,
  source: DataView,
  from: number,
  length: number,
): void {
  const end = from + length;
  const words = Math.min(end, source.byteLength - 3);
  let at = to;
  let next = from;
  for (; next < words; next += 4, at += 4) target.setInt32(at, source.getInt32(next, true), true);
  for (; next < end; next++, at++) target.setUint8(at, source.getUint8(next));
}
