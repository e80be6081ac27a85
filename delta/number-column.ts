/** A growing column of numbers in blocks: growing copies nothing, so that a column of millions never stands in memory twice. */

type Numbers = Float64Array | Int32Array | Uint8Array;

export type NumberColumn = {
  readonly length: number;
  push(value: number): void;
  get(index: number): number;
  set(index: number, value: number): void;
};

const BITS = 13;
const SIZE = 2 ** BITS;

export function numberColumn(make: new (length: number) => Numbers): NumberColumn {
  const blocks: Numbers[] = [];
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      // The first one starts small: most tables are.
      if (length === 0) blocks.push(new make(SMALL));
      else if (length === SMALL) blocks[0] = full(blocks[0]!);
      else if ((length & (SIZE - 1)) === 0) blocks.push(new make(SIZE));
      blocks[length >> BITS]![length & (SIZE - 1)] = value;
      length++;
    },
    get: (index) => blocks[index >> BITS]![index & (SIZE - 1)]!,
    set(index, value) {
      blocks[index >> BITS]![index & (SIZE - 1)] = value;
    },
  };

  function full(small: Numbers): Numbers {
    const block = new make(SIZE);
    block.set(small);
    return block;
  }
}

const SMALL = 64;
