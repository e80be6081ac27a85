/** Memory for what is unpacked of a column, for page after page, row group after row group and column after column: left to the garbage collector it piles up. */

/** Each gives an array of that length, whose contents are arbitrary, and takes back the one it gave before. */
export type Scratch = {
  page(length: number): Buffer;
  dictionary(length: number): Buffer;
  starts(length: number): Int32Array;
  places(length: number): Int32Array;
  repetitions(length: number): Uint8Array;
  definitions(length: number): Uint8Array;
};

export function newScratch(): Scratch {
  const numbers = (length: number) => new Int32Array(length);
  return {
    page: reused(Buffer.allocUnsafeSlow),
    dictionary: reused(Buffer.allocUnsafeSlow),
    starts: reused(numbers),
    places: reused(numbers),
    repetitions: reused(Buffer.allocUnsafeSlow),
    definitions: reused(Buffer.allocUnsafeSlow),
  };
}

/** A quarter more than is asked for, which takes no memory until it is used: the next page is often a little larger. */
function reused<T extends Uint8Array | Int32Array>(make: (length: number) => T): (length: number) => T {
  let kept: T | undefined;
  return (length) => {
    if (!kept || kept.length < length) kept = make(length + (length >> 2));
    return kept.subarray(0, length) as T;
  };
}
