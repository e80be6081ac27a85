/** Where a file's rows are cut into row groups and these into pages, always between two rows. */

import type { LeafVector } from "./leaf-vector.ts";

/** Entries of a leaf from `first` to before `end`, and the values among them. */
export type Stretch = { first: number; end: number; firstValue: number; endValue: number };

/** As much as a reader holds at once; a page of one row may be larger. */
const PAGE_BYTES = 1 << 20;

/** The next `rows` rows behind a stretch, up to entry `limit` of the leaf. */
export function nextRows(vector: LeafVector, behind: Stretch, rows: number, limit = vector.entries): Stretch {
  const { leaf, repetition } = vector;
  const first = behind.end;
  let end = first;
  if (leaf.maxRepetition === 0 || repetition === null) end = Math.min(limit, first + rows);
  else {
    let left = rows + 1;
    while (end < limit && (repetition[end] !== 0 || --left > 0)) end++;
  }
  const firstValue = behind.endValue;
  return { first, end, firstValue, endValue: firstValue + valuesBetween(vector, first, end) };
}

/** The page at the front of a stretch, of `most` rows at most. */
export function nextPage(vector: LeafVector, stretch: Stretch, most: number): Stretch {
  const { first, firstValue } = stretch;
  const before = { first, end: first, firstValue, endValue: firstValue };
  let page = stretch;
  for (let rows = most; ; rows = Math.ceil(rows / 2)) {
    page = nextRows(vector, before, rows, stretch.end);
    if (rows === 1 || sizeOf(vector, page) <= PAGE_BYTES) return page;
  }
}

function valuesBetween(
  { leaf, definition, entries, values }: LeafVector,
  first: number,
  end: number,
): number {
  if (definition === null || values.count === entries) return end - first;
  const most = leaf.maxDefinition;
  let count = 0;
  for (let i = first; i < end; i++) if (definition[i] === most) count++;
  return count;
}

function sizeOf({ values }: LeafVector, { firstValue, endValue }: Stretch): number {
  if (values.kind !== "bytes") return 16 * (endValue - firstValue);
  let size = 0;
  for (let i = firstValue; i < endValue; i++) size += 4 + values.length[i]!;
  return size;
}
