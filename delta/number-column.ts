/**
 * A growing column of numbers in blocks, each of which holds how far its numbers are from the first of them, in as few bytes as that takes;
 * one whose numbers are all the same takes none. Growing copies no block that is full, so that a column of millions never stands in memory twice.
 */

export type NumberColumn = {
  readonly length: number;
  push(value: number): void;
  get(index: number): number;
  set(index: number, value: number): void;
};

/** Distances from `base` stand in the array of their kind; each kind has a field of its own, as code that meets arrays of one kind only runs fast. */
type Block = {
  base: number;
  kind: number;
  bytes: Int8Array;
  shorts: Int16Array;
  words: Int32Array;
  doubles: Float64Array;
};

const BITS = 13;
const SIZE = 2 ** BITS;
/** The first block starts small: most tables are. */
const SMALL = 64;

/** All numbers are `base`. */
const SAME = 0;
const BYTES = 1;
const SHORTS = 2;
const WORDS = 3;
/** The numbers themselves, whatever they are: infinities, and what is no number, are no distance from others. */
const DOUBLES = 4;

const NO_BYTES = new Int8Array(0);
const NO_SHORTS = new Int16Array(0);
const NO_WORDS = new Int32Array(0);
const NO_DOUBLES = new Float64Array(0);

export function numberColumn(): NumberColumn {
  const blocks: Block[] = [];
  let length = 0;

  const put = (index: number, value: number) => {
    const number = index >> BITS;
    const block = blocks[number]!;
    const slot = index & (SIZE - 1);
    if (isPut(block, slot, value)) return;
    widen(block, { value, isSmall: length <= SMALL, before: blocks[number - 1] });
    isPut(block, slot, value);
  };

  return {
    get length() {
      return length;
    },
    push(value) {
      if ((length & (SIZE - 1)) === 0) blocks.push(sameBlock(value));
      put(length++, value);
    },
    get: (index) => numberAt(blocks[index >> BITS]!, index & (SIZE - 1)),
    set: put,
  };
}

function sameBlock(base: number): Block {
  const none = { bytes: NO_BYTES, shorts: NO_SHORTS, words: NO_WORDS, doubles: NO_DOUBLES };
  return { base, kind: SAME, ...none };
}

/** Puts the number into its place, if that can hold it. */
function isPut(block: Block, slot: number, value: number): boolean {
  const { base } = block;
  switch (block.kind) {
    case SAME:
      return Object.is(value, base) || value === base;
    case BYTES: {
      const distance = value - base;
      if (slot >= block.bytes.length || (distance << 24) >> 24 !== distance || base + distance !== value)
        return false;
      block.bytes[slot] = distance;
      return true;
    }
    case SHORTS: {
      const distance = value - base;
      if (slot >= block.shorts.length || (distance << 16) >> 16 !== distance || base + distance !== value)
        return false;
      block.shorts[slot] = distance;
      return true;
    }
    case WORDS: {
      const distance = value - base;
      if (slot >= block.words.length || (distance | 0) !== distance || base + distance !== value)
        return false;
      block.words[slot] = distance;
      return true;
    }
    default:
      if (slot >= block.doubles.length) return false;
      block.doubles[slot] = value;
      return true;
  }
}

function numberAt(block: Block, slot: number): number {
  switch (block.kind) {
    case SAME:
      return block.base;
    case BYTES:
      return block.base + block.bytes[slot]!;
    case SHORTS:
      return block.base + block.shorts[slot]!;
    case WORDS:
      return block.base + block.words[slot]!;
    default:
      return block.doubles[slot]!;
  }
}

/** Makes room for `value`; at once as much as the block before needed, since it mostly comes to that. */
function widen(
  block: Block,
  { value, isSmall, before }: { value: number; isSmall: boolean; before: Block | undefined },
): void {
  const old = { ...block };
  const kind = Math.max(old.kind, Math.min(before?.kind ?? SAME, WORDS), kindFor(block.base, value));
  const size = isSmall ? SMALL : SIZE;
  Object.assign(block, sameBlock(block.base), { kind });
  if (kind === BYTES) block.bytes = grown(new Int8Array(size), old.bytes);
  else if (kind === SHORTS)
    block.shorts = grown(new Int16Array(size), old.kind === BYTES ? old.bytes : old.shorts);
  else if (kind === WORDS)
    block.words = grown(new Int32Array(size), [NO_WORDS, old.bytes, old.shorts, old.words][old.kind]!);
  else {
    block.doubles = new Float64Array(size).fill(block.base);
    const filled = [0, old.bytes.length, old.shorts.length, old.words.length, old.doubles.length][old.kind]!;
    for (let slot = 0; slot < filled; slot++) block.doubles[slot] = numberAt(old, slot);
  }
}

function grown<T extends Int8Array | Int16Array | Int32Array>(fresh: T, old: ArrayLike<number>): T {
  fresh.set(old);
  return fresh;
}

/** The first kind that holds how far `value` is from `base`. */
function kindFor(base: number, value: number): number {
  const distance = value - base;
  if (base + distance !== value || !Number.isInteger(distance)) return DOUBLES;
  const kind = [2 ** 7, 2 ** 15, 2 ** 31].findIndex((limit) => Math.abs(distance) < limit);
  return kind === -1 ? DOUBLES : BYTES + kind;
}
