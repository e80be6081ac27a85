/** Least and largest value of a leaf, as places among its values. */

import { Leaf } from "./leaf";
import { compare, isNaNAt } from "./values";

/** -1 where there is no value, or none but NaN. */
export let least = -1;
export let largest = -1;
/** There is a NaN; it is neither of the two. */
export let hasNaN = false;

/** Of the values from `from` to before `to`. */
export function findExtremes(leaf: Leaf, from: i32, to: i32): void {
  begin();
  for (let i = from; i < to; i++) meet(leaf, i);
}

/** Of the values at the `count` places that `places` lists, 4 bytes each. */
export function findExtremesAt(leaf: Leaf, places: usize, count: i32): void {
  begin();
  for (let i = 0; i < count; i++) meet(leaf, load<i32>(places + ((<usize>i) << 2)));
}

function begin(): void {
  least = -1;
  largest = -1;
  hasNaN = false;
}

function meet(leaf: Leaf, i: i32): void {
  if (isNaNAt(leaf, i)) {
    hasNaN = true;
    return;
  }
  if (least < 0) {
    least = i;
    largest = i;
  } else if (compare(leaf, i, least) < 0) least = i;
  else if (compare(leaf, i, largest) > 0) largest = i;
}
