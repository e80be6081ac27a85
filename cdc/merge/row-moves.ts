/** Where rows are once their files have been joined into one, in their order and without those that were deleted by then. Pure. */

/** A file as it was read: how many rows it has, and which of them were deleted, ascending. */
export type Source = { rows: number; deleted: Float64Array | undefined };

export type Moves = {
  /** Of all files together. */
  rows: number;
  /** Where row `row` of the source at `place` is, which was not deleted when it was read. */
  rowOf(place: number, row: number): number;
  /** Which rows of the joined file are deleted, given those of each source by now, ascending; null where a row came back. */
  deleted(now: readonly (Float64Array | undefined)[]): Float64Array | null;
};

export function movesOf(sources: readonly Source[]): Moves {
  let rows = 0;
  const firsts = sources.map((source) => {
    const first = rows;
    rows += source.rows - (source.deleted?.length ?? 0);
    return first;
  });
  const rowOf = (place: number, row: number) =>
    firsts[place]! + row - countBelow(sources[place]!.deleted, row);
  return {
    rows,
    rowOf,
    deleted(now) {
      const moved: number[] = [];
      for (const [place, { deleted: before = NONE }] of sources.entries()) {
        let known = 0;
        for (const row of now[place] ?? NONE)
          if (before[known] === row) known++;
          else moved.push(rowOf(place, row));
        if (known < before.length) return null;
      }
      return Float64Array.from(moved);
    },
  };
}

const NONE = new Float64Array();

/** How many of the ascending numbers are smaller. */
function countBelow(numbers: Float64Array | undefined, limit: number): number {
  if (numbers === undefined) return 0;
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
