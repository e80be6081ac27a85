/** Some rows of a leaf as another one: how rows get to the file of their partition. */

import { BYTES, Leaf } from "./leaf";

/** Makes `pickRows` of it possible, until it is changed: where each of its `rows` rows begins. */
export function indexRows(leaf: Leaf, rows: i32): void {
  leaf.forgetRows();
  const isFlat = leaf.maxRepetition === 0;
  if (!isFlat) {
    leaf.rowStarts = heap.alloc((<usize>(rows + 1)) << 2);
    let row = 0;
    for (let entry = 0; entry < leaf.entries; entry++)
      if (load<u8>(leaf.repetitions + entry) === 0) setAt(leaf.rowStarts, row++, entry);
    setAt(leaf.rowStarts, row, leaf.entries);
  }
  if (leaf.isFull) return;
  leaf.valuesBefore = heap.alloc((<usize>leaf.entries) << 2);
  let values = 0;
  for (let entry = 0; entry < leaf.entries; entry++) {
    setAt(leaf.valuesBefore, entry, values);
    if (load<u8>(leaf.definitions + entry) === leaf.maxDefinition) values++;
  }
}

/** Fills `into`, a leaf of the same kind, with the `count` rows that `rows` lists in ascending order, 4 bytes each. */
export function pickRows(leaf: Leaf, into: Leaf, rows: usize, count: i32): void {
  into.begin(count);
  for (let i = 0; i < count; i++) {
    const row = at(rows, i);
    if (leaf.rowStarts === 0) pickEntry(leaf, into, row);
    else {
      const end = at(leaf.rowStarts, row + 1);
      for (let entry = at(leaf.rowStarts, row); entry < end; entry++) pickEntry(leaf, into, entry);
    }
  }
}

function pickEntry(leaf: Leaf, into: Leaf, entry: i32): void {
  const repetition = leaf.maxRepetition === 0 ? 0 : <i32>load<u8>(leaf.repetitions + entry);
  let i = entry;
  if (!leaf.isFull) {
    const definition = load<u8>(leaf.definitions + entry);
    if (definition !== leaf.maxDefinition) {
      into.addNull(repetition, definition);
      return;
    }
    i = at(leaf.valuesBefore, entry);
  }
  if (leaf.physical === BYTES) {
    const start = leaf.startOf(i);
    into.addBytes(repetition, leaf.text + start, leaf.endOf(i) - start);
    return;
  }
  const from = leaf.values + <usize>i * leaf.width;
  const to = into.add(repetition);
  switch (leaf.width) {
    case 1:
      store<u8>(to, load<u8>(from));
      break;
    case 4:
      store<u32>(to, load<u32>(from));
      break;
    case 8:
      store<u64>(to, load<u64>(from));
      break;
    default:
      v128.store(to, v128.load(from));
  }
}

function at(list: usize, i: i32): i32 {
  return load<i32>(list + ((<usize>i) << 2));
}

function setAt(list: usize, i: i32, value: i32): void {
  store<i32>(list + ((<usize>i) << 2), value);
}
