/** A schema as the walk over JSON bytes wants it: names as bytes, types as kinds, and at each leaf the vector that its values go to. */

import { Leaf } from "./leaf";

/** With `flag` of texts alone: a number, true or false is doubtful, and not taken as it is written. */
export const STRING = 0;
export const INTEGER = 1;
/** With `flag` a float. */
export const REAL = 2;
export const DECIMAL = 3;
export const TRUTH = 4;
/** With `flag` one in a zone. */
export const TIMESTAMP = 5;
export const DATE = 6;
export const STRUCT = 7;
export const ARRAY = 8;
export const MAP = 9;
/** Nothing but null is taken. */
export const NEVER = 10;

/** Names are compared by vectors: so many bytes at a time. */
const VECTOR = 16;

/** Levels are Dremel's. */
@unmanaged
export class Node {
  kind: i32 = 0;
  isNullable: bool = false;
  flag: bool = false;
  /** Level of entries below it where it is null or absent. */
  nullLevel: i32 = 0;
  /** Of an array's elements and a map's entries behind the first. */
  repetition: i32 = 0;
  /** Of a whole number, or in front of a point: what has more is doubtful. */
  digits: i32 = 0;
  scale: i32 = 0;
  /** Where a scalar's values go; in a map those of the keys. */
  leaf: Leaf = changetype<Leaf>(0);
  /** An array's elements or a map's values. */
  element: Node = changetype<Node>(0);
  /** All leaves below it and its own. */
  leaves: usize = 0;
  leafCount: i32 = 0;
  /** Of a struct, in the order of the schema. */
  fields: usize = 0;
  fieldCount: i32 = 0;

  leafAt(i: i32): Leaf {
    return changetype<Leaf>(load<usize>(this.leaves + ((<usize>i) << 2)));
  }

  fieldAt(i: i32): Field {
    return changetype<Field>(load<usize>(this.fields + ((<usize>i) << 2)));
  }

  addLeaf(leaf: Leaf): void {
    this.leaves = withOneMore(this.leaves, this.leafCount++, changetype<usize>(leaf));
  }

  addField(field: Field): void {
    this.fields = withOneMore(this.fields, this.fieldCount++, changetype<usize>(field));
  }

  /** Lets its memory go, and that of all nodes below it; leaves stay. */
  free(): void {
    for (let i = 0; i < this.fieldCount; i++) this.fieldAt(i).free();
    if (changetype<usize>(this.element) !== 0) this.element.free();
    if (this.fields !== 0) heap.free(this.fields);
    if (this.leaves !== 0) heap.free(this.leaves);
    heap.free(changetype<usize>(this));
  }

  /** The entry of what is null or absent, or lies in something that is, down to level `definition`: one in each leaf. */
  addNulls(repetition: i32, definition: i32): void {
    for (let i = 0; i < this.leafCount; i++) this.leafAt(i).addNull(repetition, definition);
  }

  /** An array or map without anything in it. */
  addEmpty(repetition: i32): void {
    this.addNulls(repetition, this.isNullable ? this.nullLevel + 1 : this.nullLevel);
  }
}

@unmanaged
export class Field {
  /** `"name":` */
  text: usize = 0;
  /** Bytes of it. */
  length: i32 = 0;
  node: Node = changetype<Node>(0);
  /** The object in which the field was met last: a second time in the same one is a doubled key. */
  metIn: i64 = 0;
  /** The field that followed last time: producers keep an order. */
  follower: Field = changetype<Field>(0);

  /** Keeps a copy of `"name":`. */
  constructor(text: usize, length: i32, node: Node) {
    this.text = heap.alloc(length + VECTOR);
    memory.copy(this.text, text, length);
    this.length = length;
    this.node = node;
  }

  free(): void {
    this.node.free();
    heap.free(this.text);
    heap.free(changetype<usize>(this));
  }

  /** Whether the first `length` bytes of `"name":` stand at `at`. */
  isAt(at: usize, length: i32): bool {
    let i = 0;
    for (; i + VECTOR < length; i += VECTOR) if (sameBytes(this.text + i, at + i) !== 0xffff) return false;
    const last = (1 << (length - i)) - 1;
    return (sameBytes(this.text + i, at + i) & last) === last;
  }
}

/** A bit for each of 16 bytes that are the same. */
function sameBytes(one: usize, other: usize): i32 {
  return i8x16.bitmask(i8x16.eq(v128.load(one), v128.load(other)));
}

function withOneMore(list: usize, count: i32, pointer: usize): usize {
  const size = (<usize>(count + 1)) << 2;
  const longer = list === 0 ? heap.alloc(size) : heap.realloc(list, size);
  store<usize>(longer + ((<usize>count) << 2), pointer);
  return longer;
}
