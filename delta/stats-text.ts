/** Text bounds cut to a length that statistics can afford, still bounds in the order of UTF-8 bytes. */

/** UTF-16 units, as the reference counts. */
const LENGTH = 32;
const LARGEST = "\u{10FFFF}";
const LARGEST_ASCII = "\u007f";

/** A text not above any that starts like `value`. */
export function smallestText(value: string): string {
  return prefix(value, LENGTH);
}

/** A text not below any that starts like `value`; undefined where none is near. */
export function largestText(value: string): string | undefined {
  if (value.length <= LENGTH) return value;
  let cut = prefix(value, LENGTH);
  // A tie breaker must be above what follows; nothing is above the largest character, so that one is taken along.
  while (cut.length < Math.min(value.length, 2 * LENGTH)) {
    const next = String.fromCodePoint(value.codePointAt(cut.length)!);
    if (next < LARGEST_ASCII) return cut + LARGEST_ASCII;
    if (next !== LARGEST) return cut + LARGEST;
    cut += next;
  }
  return cut.length >= value.length ? value : undefined;
}

/** The first `length` units, one less where that would split a surrogate pair. */
function prefix(value: string, length: number): string {
  if (value.length <= length) return value;
  const isSplit = /[\uD800-\uDBFF]/.test(value[length - 1]!) && /[\uDC00-\uDFFF]/.test(value[length]!);
  return value.slice(0, isSplit ? length - 1 : length);
}
