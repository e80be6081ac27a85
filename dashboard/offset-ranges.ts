/** Sets of Kafka offsets as ranges: a million neighbours are one entry. Pure; nothing is changed in place. */

/** Both ends included. */
export type OffsetRange = { first: bigint; last: bigint };

/** Ascending, apart from each other: what `rangesOf` makes. */
export type Ranges = readonly OffsetRange[];

export const NONE: Ranges = [];

/** The offsets of ranges in any order, which may overlap. */
export function rangesOf(ranges: Iterable<OffsetRange>): Ranges {
  const merged: OffsetRange[] = [];
  for (const { first, last } of sorted(ranges)) {
    const before = merged.at(-1);
    if (before === undefined || first > before.last + 1n) merged.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return merged;
}

/** Offsets that several of these ranges hold, and how many times too often all in all. */
export function doubledIn(ranges: Iterable<OffsetRange>): { offsets: Ranges; extra: bigint } {
  const doubled: OffsetRange[] = [];
  let extra = 0n;
  let end = -1n;
  for (const { first, last } of sorted(ranges)) {
    if (first <= end) {
      const until = last < end ? last : end;
      doubled.push({ first, last: until });
      extra += until - first + 1n;
    }
    if (last > end) end = last;
  }
  return { offsets: rangesOf(doubled), extra };
}

export function sizeOf(ranges: Ranges): bigint {
  let size = 0n;
  for (const { first, last } of ranges) size += last - first + 1n;
  return size;
}

/** Offsets of `a` that are not in `b`. */
export function minus(a: Ranges, b: Ranges): Ranges {
  const left: OffsetRange[] = [];
  let at = 0;
  for (const { first, last } of a) {
    let from = first;
    while (at < b.length && b[at]!.last < from) at++;
    for (let n = at; n < b.length && b[n]!.first <= last; n++) {
      if (b[n]!.first > from) left.push({ first: from, last: b[n]!.first - 1n });
      from = b[n]!.last + 1n;
    }
    if (from <= last) left.push({ first: from, last });
  }
  return left;
}

/** Offsets of both. */
export function common(a: Ranges, b: Ranges): Ranges {
  const both: OffsetRange[] = [];
  let n = 0;
  let m = 0;
  while (n < a.length && m < b.length) {
    const [x, y] = [a[n]!, b[m]!];
    const first = x.first > y.first ? x.first : y.first;
    const last = x.last < y.last ? x.last : y.last;
    if (first <= last) both.push({ first, last });
    if (x.last < y.last) n++;
    else m++;
  }
  return both;
}

/** Offsets from `first` (included) up to `end` (not included). */
export function within(ranges: Ranges, first: bigint, end: bigint): Ranges {
  return end > first ? common(ranges, [{ first, last: end - 1n }]) : NONE;
}

function sorted(ranges: Iterable<OffsetRange>): OffsetRange[] {
  return [...ranges].sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
}
