/** Random numbers that are a function of a seed and an index: the same message at any time, from any starting point. */

export type Random = {
  /** An integer in [0, limit). */
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
};

/** Mixes seed and index into a stream of its own (the mixer is that of SplitMix32). */
export function randomAt(seed: number, index: number): Random {
  let state =
    (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b) ^ Math.floor(index / 2 ** 32)) | 0;
  const next = () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const below = (limit: number) => next() % limit;
  return { below, pick: <T>(items: readonly T[]) => items[below(items.length)] as T };
}
