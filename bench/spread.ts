/** Smallest, middle and largest of the rounds. */
export type Spread = { min: number; median: number; max: number };

/** Rounded to hundredths. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const round = (value: number) => Math.round(value * 100) / 100;
  return {
    min: round(sorted[0]!),
    median: round(sorted[Math.floor(sorted.length / 2)]!),
    max: round(sorted.at(-1)!),
  };
}
