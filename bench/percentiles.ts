/** Of many values of one kind: half are at most `p50`, 99 of 100 at most `p99`, 999 of 1000 at most `p999`. */
export type Percentiles = { p50: number; p99: number; p999: number; max: number };

/** By nearest rank, so each is a value that was measured. Of no values: not a number. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number) => atRank(sorted, share);
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

/** The value that so large a share of them is at most, as `percentiles` finds it. */
export const percentile = (values: readonly number[], share: number): number =>
  atRank(Float64Array.from(values).sort(), share);

const atRank = (sorted: Float64Array, share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
