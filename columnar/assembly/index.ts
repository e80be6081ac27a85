/** What JavaScript may ask for. Leaves, nodes and chunks are known to it by their addresses. */

import { Chunk, buildChunk as chunkOf } from "./chunk";
import { findExtremesAt, largest, least } from "./extremes";
import { append, beginWalk as begin } from "./json";
import { Leaf, widthOf } from "./leaf";
import { Field, Node } from "./nodes";
import { indexRows as index, pickRows as pick } from "./rows";

export {
  ARRAY,
  DATE,
  DECIMAL,
  INTEGER,
  MAP,
  NEVER,
  REAL,
  STRING,
  STRUCT,
  TIMESTAMP,
  TRUTH,
} from "./nodes";

/** Vectors are read where only some of their bytes count. */
const SLACK = 32;

let input: usize = 0;
let inputRoom = 0;

/** Memory for so many bytes that JavaScript writes; one piece, used again each time. */
export function inputFor(bytes: i32): usize {
  if (bytes + SLACK > inputRoom) {
    if (input !== 0) heap.free(input);
    inputRoom = bytes + SLACK;
    input = heap.alloc(inputRoom);
  }
  return input;
}

export function newLeaf(physical: i32, maxDefinition: i32, maxRepetition: i32): Leaf {
  const leaf = new Leaf();
  leaf.physical = physical;
  leaf.width = widthOf(physical);
  leaf.maxDefinition = maxDefinition;
  leaf.maxRepetition = maxRepetition;
  return leaf;
}
export function beginLeaf(leaf: Leaf, entries: i32): void {
  leaf.begin(entries);
}
export function releaseLeaf(leaf: Leaf): void {
  leaf.release();
}
/** Its address means nothing any more. */
export function freeLeaf(leaf: Leaf): void {
  leaf.release();
  heap.free(changetype<usize>(leaf));
}
export function addNull(leaf: Leaf, repetition: i32, definition: i32): void {
  leaf.addNull(repetition, definition);
}
export function addBoolean(leaf: Leaf, repetition: i32, value: bool): void {
  store<u8>(leaf.add(repetition), value ? 1 : 0);
}
export function addInt32(leaf: Leaf, repetition: i32, value: i32): void {
  leaf.addInt32(repetition, value);
}
export function addInt64(leaf: Leaf, repetition: i32, value: i64): void {
  leaf.addInt64(repetition, value);
}
export function addFloat(leaf: Leaf, repetition: i32, value: f32): void {
  store<f32>(leaf.add(repetition), value);
}
export function addDouble(leaf: Leaf, repetition: i32, value: f64): void {
  store<f64>(leaf.add(repetition), value);
}
export function addFixed(leaf: Leaf, repetition: i32, high: i64, low: i64): void {
  leaf.addFixed(repetition, high, low);
}
export function addBytes(leaf: Leaf, repetition: i32, from: usize, length: i32): void {
  leaf.addBytes(repetition, from, length);
}
/** Memory for `length` bytes that JavaScript writes, and then adds with `addText`. */
export function textFor(leaf: Leaf, length: i32): usize {
  leaf.reserveText(length);
  return leaf.text + leaf.textUsed;
}
export function addText(leaf: Leaf, repetition: i32, length: i32): void {
  leaf.addText(repetition, length);
}
/** Adds the `count` values at `from` as rows; not of bytes. */
export function addRows(leaf: Leaf, from: usize, count: i32): void {
  leaf.addRows(from, count);
}
/** Adds the `count` times at `from`, doubles of whole milliseconds, as rows of microseconds. */
export function addMillis(leaf: Leaf, from: usize, count: i32): void {
  for (let i: usize = 0; i < <usize>count; i++) leaf.addInt64(0, <i64>load<f64>(from + (i << 3)) * 1000);
}
/**
 * Adds `count` rows of bytes that stand one behind the other; `ends` lists where each ends, 4 bytes each, and `flags` has a byte for each: null where
 * that has the bit `nullFlag`.
 */
export function addSpans(
  leaf: Leaf,
  bytes: usize,
  ends: usize,
  flags: usize,
  nullFlag: i32,
  count: i32,
): void {
  let start: u32 = 0;
  for (let i: usize = 0; i < <usize>count; i++) {
    const end = load<u32>(ends + (i << 2));
    if ((<i32>load<u8>(flags + i) & nullFlag) !== 0) leaf.addNull(0, leaf.maxDefinition - 1);
    else leaf.addBytes(0, bytes + start, end - start);
    start = end;
  }
}
/** Adds `count` rows without a value. */
export function addNulls(leaf: Leaf, definition: i32, count: i32): void {
  for (let i = 0; i < count; i++) leaf.addNull(0, definition);
}
/** Adds the same bytes `count` times. */
export function repeatBytes(leaf: Leaf, from: usize, length: i32, count: i32): void {
  for (let i = 0; i < count; i++) leaf.addBytes(0, from, length);
}

export function entriesOf(leaf: Leaf): i32 {
  return leaf.entries;
}
export function countOf(leaf: Leaf): i32 {
  return leaf.count;
}
/** Where the leaf's definition levels, which are there where a value lacks, its values, and the bytes of its strings stand. */
export function definitionsOf(leaf: Leaf): usize {
  return leaf.definitions;
}
export function valuesOf(leaf: Leaf): usize {
  return leaf.values;
}
export function textOf(leaf: Leaf): usize {
  return leaf.text;
}

/** A node without fields; `leaf` is 0 for a struct, an array, and what takes null only. */
export function newNode(
  kind: i32,
  isNullable: bool,
  nullLevel: i32,
  repetition: i32,
  digits: i32,
  scale: i32,
  flag: bool,
  leaf: Leaf,
): Node {
  const node = new Node();
  node.kind = kind;
  node.isNullable = isNullable;
  node.nullLevel = nullLevel;
  node.repetition = repetition;
  node.digits = digits;
  node.scale = scale;
  node.flag = flag;
  node.leaf = leaf;
  if (changetype<usize>(leaf) !== 0) node.addLeaf(leaf);
  return node;
}
/** With all nodes below it: their addresses mean nothing any more. */
export function freeNode(node: Node): void {
  node.free();
}
/** `"name":` are the bytes of a field's name, with quotes and colon. */
export function addField(struct: Node, name: usize, length: i32, node: Node): void {
  const field = new Field(name, length, node);
  if (struct.fieldCount > 0) struct.fieldAt(struct.fieldCount - 1).follower = field;
  struct.addField(field);
  addLeaves(struct, node);
}
/** Of an array or map. */
export function setElement(node: Node, element: Node): void {
  node.element = element;
  addLeaves(node, element);
}
function addLeaves(node: Node, below: Node): void {
  for (let i = 0; i < below.leafCount; i++) node.addLeaf(below.leafAt(i));
}

export function beginWalk(node: Node, ignoreUnknown: bool): void {
  begin(node, ignoreUnknown);
}
/**
 * Appends `count` messages as rows, up to the first that is not plainly right, and answers how many. They lie at `bytes`, one behind the other, with one
 * byte behind each. `ends` lists where they end, 4 bytes each, as places in something of which `bytes` is the part from place `base` on.
 */
export function appendMessages(bytes: usize, base: u32, ends: usize, count: i32): i32 {
  let from = bytes;
  for (let i = 0; i < count; i++) {
    const end = bytes + (load<u32>(ends + ((<usize>i) << 2)) - base);
    store<u8>(end, 0);
    if (!append(from, end)) return i;
    from = end + 1;
  }
  return count;
}

export function indexRows(leaf: Leaf, rows: i32): void {
  index(leaf, rows);
}
export function pickRows(leaf: Leaf, into: Leaf, rows: usize, count: i32): void {
  pick(leaf, into, rows, count);
}

/** The next row group is the first again. */
export function restart(leaf: Leaf): void {
  leaf.restart();
}
export function buildChunk(leaf: Leaf, rows: i32, pageRows: i32): Chunk {
  return chunkOf(leaf, rows, pageRows);
}
/** The places of the least and the largest of listed values. */
export function leastOf(leaf: Leaf, places: usize, count: i32): i32 {
  findExtremesAt(leaf, places, count);
  return least;
}
export function largestOf(leaf: Leaf, places: usize, count: i32): i32 {
  findExtremesAt(leaf, places, count);
  return largest;
}
