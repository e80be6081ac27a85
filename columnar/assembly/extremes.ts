/** Least and largest value of a leaf, as places among its values. */

import { BOOLEAN, DOUBLE, FLOAT, INT32, INT64, Leaf } from "./leaf";
import { compare } from "./values";

/** -1 where there is no value, or none but NaN. */
export let least = -1;
export let largest = -1;
/** There is a NaN; it is neither of the two. */
export let hasNaN = false;

/** Of the values from `from` to before `to`. */
export function findExtremes(leaf: Leaf, from: i32, to: i32): void {
  find(leaf, 0, from, to);
}

/** Of the values at the `count` places that `places` lists, 4 bytes each. */
export function findExtremesAt(leaf: Leaf, places: usize, count: i32): void {
  find(leaf, places, 0, count);
}

function find(leaf: Leaf, places: usize, from: i32, to: i32): void {
  least = -1;
  largest = -1;
  hasNaN = false;
  const physical = leaf.physical;
  if (physical === BOOLEAN) ofNumbers<u8>(leaf, places, from, to);
  else if (physical === INT32) ofNumbers<i32>(leaf, places, from, to);
  else if (physical === INT64) ofNumbers<i64>(leaf, places, from, to);
  else if (physical === FLOAT) ofNumbers<f32>(leaf, places, from, to);
  else if (physical === DOUBLE) ofNumbers<f64>(leaf, places, from, to);
  else ofBytes(leaf, places, from, to);
}

function placeAt(places: usize, i: i32): i32 {
  return places === 0 ? i : load<i32>(places + ((<usize>i) << 2));
}

function ofNumbers<T>(leaf: Leaf, places: usize, from: i32, to: i32): void {
  let min = <T>0;
  let max = <T>0;
  for (let i = from; i < to; i++) {
    const place = placeAt(places, i);
    const value = load<T>(leaf.values + <usize>place * sizeof<T>());
    if (isNaN<T>(value)) hasNaN = true;
    else if (least < 0) {
      least = place;
      largest = place;
      min = value;
      max = value;
    } else if (value < min) {
      least = place;
      min = value;
    } else if (value > max) {
      largest = place;
      max = value;
    }
  }
}

/** Most values are told apart by their first bytes. */
function ofBytes(leaf: Leaf, places: usize, from: i32, to: i32): void {
  let minHead: u64 = 0;
  let maxHead: u64 = 0;
  for (let i = from; i < to; i++) {
    const place = placeAt(places, i);
    const head = leaf.headOf(place);
    if (least < 0) {
      least = place;
      largest = place;
      minHead = head;
      maxHead = head;
    } else if (head <= minHead && compare(leaf, place, least) < 0) {
      least = place;
      minHead = head;
    } else if (head >= maxHead && compare(leaf, place, largest) > 0) {
      largest = place;
      maxHead = head;
    }
  }
}
