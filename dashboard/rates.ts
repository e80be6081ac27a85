/** Rates from counters that are looked at now and then. Pure. */

export type Samples = ReadonlyMap<string, readonly { atMs: number; value: bigint }[]>;

/** Rates are averages over this time, or since the look before, if looks are further apart. */
const WINDOW_MS = 5_000;
/** A look longer ago than this says nothing about now. */
const OLDEST_MS = 30_000;

export type RateMeter = {
  /** Growth per second over the last seconds; null at the first look. A counter that fell was reset: starts anew. */
  rate(key: string, value: bigint): number | null;
  /** What the next meter needs: only the counters that were asked for. */
  samples: Samples;
};

export function rateMeter(before: Samples, atMs: number): RateMeter {
  const samples = new Map<string, readonly { atMs: number; value: bigint }[]>();
  return {
    samples,
    rate(key, value) {
      const known = before.get(key) ?? [];
      const inWindow = known.filter((sample) => atMs - sample.atMs <= WINDOW_MS);
      const lastOne = known.slice(-1).filter((sample) => atMs - sample.atMs <= OLDEST_MS);
      const recent = inWindow.length > 0 ? inWindow : lastOne;
      const wasReset = (recent.at(-1)?.value ?? value) > value;
      const series = [...(wasReset ? [] : recent), { atMs, value }];
      samples.set(key, series);
      const first = series[0]!;
      return atMs > first.atMs ? (Number(value - first.value) * 1000) / (atMs - first.atMs) : null;
    },
  };
}
