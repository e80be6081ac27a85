/** Sets of versions as ranges, both ends included. */

export type VersionRange = readonly [from: number, to: number];

/** The same versions as few ranges, ascending, none touching another. */
export function merged(ranges: readonly VersionRange[]): VersionRange[] {
  const result: [number, number][] = [];
  for (const [from, to] of ranges.filter(([from, to]) => from <= to).sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

/** The versions of `ranges` that are in none of `others`. Both as `merged` gives them. */
export function without(ranges: readonly VersionRange[], others: readonly VersionRange[]): VersionRange[] {
  let left: VersionRange[] = [...ranges];
  for (const [from, to] of others) {
    left = left.flatMap((range): VersionRange[] => {
      if (to < range[0] || from > range[1]) return [range];
      return [
        [range[0], Math.min(range[1], from - 1)],
        [Math.max(range[0], to + 1), range[1]],
      ];
    });
    left = left.filter(([first, last]) => first <= last);
  }
  return left;
}
