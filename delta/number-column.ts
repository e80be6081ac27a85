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

/** Without `distances`, all numbers are `base`. */
type Block = { base: number; distances: Numbers | undefined };
type Numbers = Int8Array | Int16Array | Int32Array | Float64Array;

const BITS = 13;
const SIZE = 2 ** BITS;
/** The first block starts small: most tables are. */
const SMALL = 64;
const KINDS = [Int8Array, Int16Array, Int32Array, Float64Array] as const;

export function numberColumn(): NumberColumn {
  const blocks: Block[] = [];
  let length = 0;

  /** Whether the number could be put into its place. */
  const isPut = ({ base, distances }: Block, slot: number, value: number): boolean => {
    if (!distances) return value === base;
    if (slot >= distances.length) return false;
    distances[slot] = value - base;
    return base + distances[slot]! === value;
  };
  const put = (index: number, value: number) => {
    const block = blocks[index >> BITS]!;
    const slot = index & (SIZE - 1);
    if (isPut(block, slot, value) || Object.is(numberAt(block, slot), value)) return;
    const number = index >> BITS;
    widen(block, { value, isSmall: length <= SMALL, before: blocks[number - 1] });
    isPut(block, slot, value);
  };

  return {
    get length() {
      return length;
    },
    push(value) {
      if ((length & (SIZE - 1)) === 0) blocks.push({ base: value, distances: undefined });
      put(length++, value);
    },
    get: (index) => numberAt(blocks[index >> BITS]!, index & (SIZE - 1)),
    set: put,
  };
}

function numberAt({ base, distances }: Block, slot: number): number {
  return distances ? base + distances[slot]! : base;
}

/** Makes room for `value`; at once as much as the block before needed, since it mostly comes to that. */
function widen(
  block: Block,
  { value, isSmall, before }: { value: number; isSmall: boolean; before: Block | undefined },
): void {
  const { base, distances } = block;
  const least = Math.max(kindOf(distances), Math.min(kindOf(before?.distances), KINDS.length - 2));
  const kind = Math.max(least, kindFor(base, value));
  const fresh = new KINDS[kind]!(isSmall ? SMALL : SIZE);
  const isWhole = kind === KINDS.length - 1;
  // The widest kind holds the numbers themselves: infinities, and what is no number, are no distance from others.
  if (isWhole && !distances) fresh.fill(base);
  else if (isWhole && !(distances instanceof Float64Array))
    for (let slot = 0; slot < distances!.length; slot++) fresh[slot] = base + distances![slot]!;
  else if (distances) fresh.set(distances);
  block.distances = fresh;
  if (isWhole) block.base = 0;
}

/** The first kind that holds how far `value` is from `base`. */
function kindFor(base: number, value: number): number {
  const distance = value - base;
  const exact = base + distance === value ? Math.abs(distance) : Number.NaN;
  const kind = [2 ** 7, 2 ** 15, 2 ** 31].findIndex((limit) => Number.isInteger(distance) && exact < limit);
  return kind === -1 ? KINDS.length - 1 : kind;
}

function kindOf(distances: Numbers | undefined): number {
  return distances ? KINDS.findIndex((kind) => distances instanceof kind) : 0;
}
