/** Which values of a column occur, and which of them each one is: for columns that repeat themselves. */

import { BOOLEAN, BYTES, FIXED, Leaf } from "./leaf";
import { hashAt, isSame } from "./values";

/** As others have it: readers keep a whole dictionary in memory. */
const MOST_BYTES = 1 << 20;
const MOST_ENTRIES = 1 << 15;
/** So many values are looked at before a column can be given up. */
const TRIAL = 1024;
/** Of ten values that many may be new. */
const MOST_NEW = 7;
/** A place in the table that so many steps lead to means that hashes fail to tell values apart. */
const MOST_STEPS = 64;
const FIRST_SLOTS = 1 << 10;

/** How many different values there are. */
export let size = 0;
/** Where each one is met first, among the values: 4 bytes each. */
export const places: usize = heap.alloc(4 * MOST_ENTRIES);
/** For each value, from the first of the range on, which one it is: 4 bytes each. */
export let indices: usize = 0;

let indexRoom = 0;
const hashes: usize = heap.alloc(4 * MOST_ENTRIES);
/** Entry + 1 by hash, 0 is free; of those up to `mask` half is free at least. */
const slots: usize = heap.alloc(8 * MOST_ENTRIES);
let mask = 0;

/** Makes the dictionary of the values from `from` to before `to`; false where too few repeat themselves, as soon as that shows. */
export function makeDictionary(leaf: Leaf, from: i32, to: i32): bool {
  if (leaf.physical === BOOLEAN || leaf.physical === FIXED) return false;
  clear(to - from);
  let bytes = 0;
  for (let i = from; i < to; i++) {
    const hash = hashAt(leaf, i);
    let slot = hash & mask;
    let entry = load<i32>(slots + ((<usize>slot) << 2)) - 1;
    let steps = 0;
    while (entry >= 0) {
      const at = (<usize>entry) << 2;
      if (load<u32>(hashes + at) === hash) {
        if (isSame(leaf, i, load<i32>(places + at))) break;
        if (++steps > MOST_STEPS) return false;
      }
      slot = (slot + 1) & mask;
      entry = load<i32>(slots + ((<usize>slot) << 2)) - 1;
    }
    if (entry < 0) {
      entry = size;
      if (leaf.physical === BYTES) bytes += leaf.endOf(i) - leaf.startOf(i);
      if (bytes > MOST_BYTES || !add(i, hash, slot, i - from)) return false;
    }
    store<i32>(indices + ((<usize>(i - from)) << 2), entry);
  }
  return size * 10 <= (to - from) * MOST_NEW;
}

export function placeOf(entry: i32): i32 {
  return load<i32>(places + ((<usize>entry) << 2));
}

function clear(count: i32): void {
  if (indexRoom < count) {
    indexRoom = count + (count >> 2);
    indices = indices === 0 ? heap.alloc(4 * indexRoom) : heap.realloc(indices, 4 * indexRoom);
  }
  mask = FIRST_SLOTS - 1;
  memory.fill(slots, 0, 4 * FIRST_SLOTS);
  size = 0;
}

/** False where there is no room for another entry, or it does not pay. */
function add(place: i32, hash: u32, slot: u32, seen: i32): bool {
  if (size === MOST_ENTRIES || (seen >= TRIAL && size * 10 > seen * MOST_NEW)) return false;
  store<i32>(places + ((<usize>size) << 2), place);
  store<u32>(hashes + ((<usize>size) << 2), hash);
  store<i32>(slots + ((<usize>slot) << 2), ++size);
  if (2 * size > mask + 1) grow();
  return true;
}

function grow(): void {
  mask = 4 * mask + 3;
  memory.fill(slots, 0, 4 * <usize>(mask + 1));
  for (let entry = 0; entry < size; entry++) {
    let slot = load<u32>(hashes + ((<usize>entry) << 2)) & mask;
    while (load<i32>(slots + ((<usize>slot) << 2)) !== 0) slot = (slot + 1) & mask;
    store<i32>(slots + ((<usize>slot) << 2), entry + 1);
  }
}
