/**
 * One walk over the bytes of a JSON message that checks it and appends its values to the vectors of a table's leaves. What is plainly right is
 * taken; whatever is doubtful leaves no trace, and is for the exact and slow way. The grammar is that of the engine's `json-check.ts`.
 *
 * A place is an address in the message, valid UTF-8 with a zero behind it. Functions answer with the place behind what they stepped over, 0
 * where what they look for does not stand there.
 */

import { Leaf } from "./leaf";
import {
  ARRAY,
  DATE,
  DECIMAL,
  Field,
  INTEGER,
  MAP,
  Node,
  REAL,
  STRING,
  STRUCT,
  TIMESTAMP,
  TRUTH,
} from "./nodes";
import { addDecimal, addDouble, addInteger, passDouble, passInteger } from "./numbers";
import { addText, escapeCount, passText, QUOTE } from "./text";
import { addDate, addTimestamp } from "./times";

const TAB: u8 = 9;
const NEWLINE: u8 = 10;
const RETURN: u8 = 13;
const SPACE: u8 = 32;
const COMMA: u8 = 44;
const COLON: u8 = 58;
const OPEN_BRACKET: u8 = 91;
const CLOSE_BRACKET: u8 = 93;
const LETTER_F: u8 = 102;
const LETTER_N: u8 = 110;
const LETTER_T: u8 = 116;
const OPEN_BRACE: u8 = 123;
const CLOSE_BRACE: u8 = 125;
/** The letters of a word as a number, the first one lowest. */
const NULL: u32 = 0x6c6c756e;
const TRUE: u32 = 0x65757274;
const FALSE: u64 = 0x65736c6166;
const FIVE_BYTES: u64 = 0xffffffffff;
/** `"_kafka"` */
const RESERVED: u64 = 0x22616b66616b5f22;
const MAX_DEPTH = 200;
/** Above, comparing each with each takes too long. */
const FEW_KEYS = 64;

let root: Node = changetype<Node>(0);
let ignoresUnknown = false;
let messageEnd: usize = 0;
/** So many that 32 bits come round within hours: a field met then would pass for one of this object. */
let objects: i64 = 0;

/** Begins with messages for a node. With `ignoreUnknown`, fields that it lacks are passed over; else they are doubtful. */
export function beginWalk(node: Node, ignoreUnknown: bool): void {
  root = node;
  ignoresUnknown = ignoreUnknown;
}

/** Appends a row with the values of the message from `start` to `end`, where a zero stands; false, with nothing appended, where that is not plainly right. */
export function append(start: usize, end: usize): bool {
  messageEnd = end;
  const leafCount = root.leafCount;
  for (let i = 0; i < leafCount; i++) root.leafAt(i).mark();
  let at = passSpace(start);
  if (load<u8>(at) === OPEN_BRACE) {
    at = object(root, at, 0);
    if (at !== 0 && passSpace(at) === end) return true;
  }
  for (let i = 0; i < leafCount; i++) root.leafAt(i).rollBack();
  return false;
}

function value(node: Node, at: usize, repetition: i32): usize {
  const first = load<u8>(at);
  if (first === LETTER_N) {
    if (!node.isNullable || load<u32>(at) !== NULL) return 0;
    node.addNulls(repetition, node.nullLevel);
    return at + 4;
  }
  switch (node.kind) {
    case STRING:
      if (first === QUOTE) return addText(at, messageEnd, node.leaf, repetition);
      return node.flag ? 0 : otherText(at, node.leaf, repetition);
    case INTEGER:
      return addInteger(at, node.leaf, repetition, node.digits);
    case REAL:
      return addDouble(at, node.leaf, repetition, node.flag, node.digits);
    case DECIMAL:
      return addDecimal(at, node.leaf, repetition, node.digits, node.scale);
    case TRUTH:
      return truth(at, node.leaf, repetition);
    case TIMESTAMP:
      return addTimestamp(at, node.leaf, repetition, node.flag);
    case DATE:
      return addDate(at, node.leaf, repetition);
    case STRUCT:
      return first === OPEN_BRACE ? object(node, at, repetition) : 0;
    case ARRAY:
      return first === OPEN_BRACKET ? array(node, at, repetition) : 0;
    case MAP:
      return first === OPEN_BRACE ? map(node, at, repetition) : 0;
    default:
      return 0;
  }
}

/** A number or a boolean for a text: as it is written. */
function otherText(at: usize, leaf: Leaf, repetition: i32): usize {
  const first = load<u8>(at);
  const behind = first === LETTER_T || first === LETTER_F ? passTruth(at) : passInteger(at);
  if (behind !== 0) leaf.addBytes(repetition, at, <i32>(behind - at));
  return behind;
}

function truth(at: usize, leaf: Leaf, repetition: i32): usize {
  const behind = passTruth(at);
  if (behind !== 0) store<u8>(leaf.add(repetition), load<u8>(at) === LETTER_T ? 1 : 0);
  return behind;
}

function passTruth(at: usize): usize {
  if (load<u32>(at) === TRUE) return at + 4;
  return (load<u64>(at) & FIVE_BYTES) === FALSE ? at + 5 : 0;
}

function object(node: Node, at: usize, repetition: i32): usize {
  const id = ++objects;
  const fieldCount = node.fieldCount;
  let met = 0;
  at = passSpace(at + 1);
  if (load<u8>(at) === CLOSE_BRACE) return absent(node, id, repetition) ? at + 1 : 0;
  let last = changetype<Field>(0);
  let expected = fieldCount === 0 ? last : node.fieldAt(0);
  for (;;) {
    if (load<u8>(at) !== QUOTE) return 0;
    let field = expected;
    if (changetype<usize>(field) !== 0 && field.isAt(at, field.length)) {
      at += field.length;
      if (load<u8>(at) <= SPACE) at = passSpace(at);
    } else {
      field = fieldHere(node, at);
      if (changetype<usize>(field) !== 0) {
        at = eat(at + field.length - 1, COLON);
        if (changetype<usize>(last) !== 0) last.follower = field;
      }
    }
    if (changetype<usize>(field) === 0) {
      at = ignoresUnknown ? unknown(at, node === root) : 0;
      if (at === 0) return 0;
    } else {
      if (at === 0 || field.metIn === id) return 0;
      at = value(field.node, at, repetition);
      if (at === 0) return 0;
      field.metIn = id;
      met++;
      last = field;
      expected = field.follower;
    }
    const next = eat(at, COMMA);
    if (next === 0) break;
    at = next;
  }
  at = closed(at, CLOSE_BRACE);
  return at !== 0 && (met === fieldCount || absent(node, id, repetition)) ? at : 0;
}

/** Nulls for the fields that the object did not have; false where one must not be null. */
function absent(node: Node, id: i64, repetition: i32): bool {
  for (let i = 0; i < node.fieldCount; i++) {
    const field = node.fieldAt(i);
    if (field.metIn === id) continue;
    if (!field.node.isNullable) return false;
    field.node.addNulls(repetition, field.node.nullLevel);
  }
  return true;
}

/** The field whose name stands at the quote here; null for a name that the schema lacks. */
function fieldHere(node: Node, at: usize): Field {
  for (let i = 0; i < node.fieldCount; i++) {
    const field = node.fieldAt(i);
    if (field.isAt(at, field.length - 1)) return field;
  }
  return changetype<Field>(0);
}

/** Over a field that the schema lacks; not over one that may be known or is reserved after all. */
function unknown(at: usize, isTop: bool): usize {
  if (isTop && load<u64>(at) === RESERVED) return 0;
  const escapes = escapeCount();
  at = passText(at);
  if (at === 0 || escapeCount() !== escapes) return 0;
  at = eat(at, COLON);
  return at === 0 ? 0 : anything(at, 0);
}

function array(node: Node, at: usize, repetition: i32): usize {
  at = passSpace(at + 1);
  if (load<u8>(at) === CLOSE_BRACKET) {
    node.addEmpty(repetition);
    return at + 1;
  }
  for (let level = repetition; ; level = node.repetition) {
    at = value(node.element, at, level);
    if (at === 0) return 0;
    const next = eat(at, COMMA);
    if (next === 0) break;
    at = next;
  }
  return closed(at, CLOSE_BRACKET);
}

function map(node: Node, at: usize, repetition: i32): usize {
  const keys = node.leaf;
  const first = keys.count;
  at = passSpace(at + 1);
  if (load<u8>(at) === CLOSE_BRACE) {
    node.addEmpty(repetition);
    return at + 1;
  }
  for (let level = repetition; ; level = node.repetition) {
    if (load<u8>(at) !== QUOTE) return 0;
    const escapes = escapeCount();
    at = addText(at, messageEnd, keys, level);
    if (at === 0 || escapeCount() !== escapes) return 0;
    if (keys.count - first > FEW_KEYS || isDoubled(keys, first)) return 0;
    at = eat(at, COLON);
    if (at === 0) return 0;
    at = value(node.element, at, level);
    if (at === 0) return 0;
    const next = eat(at, COMMA);
    if (next === 0) break;
    at = next;
  }
  return closed(at, CLOSE_BRACE);
}

/** Whether the key added last is one of those since `first`. */
function isDoubled(keys: Leaf, first: i32): bool {
  const last = keys.count - 1;
  const start = keys.startOf(last);
  const length = keys.endOf(last) - start;
  for (let i = first; i < last; i++) {
    const other = keys.startOf(i);
    if (
      keys.endOf(i) - other === length &&
      memory.compare(keys.text + start, keys.text + other, length) === 0
    )
      return true;
  }
  return false;
}

/** Any JSON value of a field that is passed over. */
function anything(at: usize, depth: i32): usize {
  const first = load<u8>(at);
  if (first === QUOTE) return passText(at);
  if (first === LETTER_N) return load<u32>(at) === NULL ? at + 4 : 0;
  if (first === LETTER_T || first === LETTER_F) return passTruth(at);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return passDouble(at);
  if (depth === MAX_DEPTH) return 0;
  const close = first + 2;
  at = passSpace(at + 1);
  if (load<u8>(at) === close) return at + 1;
  for (;;) {
    if (first === OPEN_BRACE) {
      if (load<u8>(at) !== QUOTE) return 0;
      at = passText(at);
      if (at === 0) return 0;
      at = eat(at, COLON);
      if (at === 0) return 0;
    }
    at = anything(at, depth + 1);
    if (at === 0) return 0;
    const next = eat(at, COMMA);
    if (next === 0) break;
    at = next;
  }
  return closed(at, close);
}

function passSpace(at: usize): usize {
  let byte = load<u8>(at);
  while (byte === SPACE || byte === NEWLINE || byte === RETURN || byte === TAB) byte = load<u8>(++at);
  return at;
}

/** Over the space in front of `byte` and the byte; the space behind it belongs to what is around. */
function closed(at: usize, byte: u8): usize {
  at = passSpace(at);
  return load<u8>(at) === byte ? at + 1 : 0;
}

/** Over `byte` and the space around it. */
function eat(at: usize, byte: u8): usize {
  if (load<u8>(at) !== byte) {
    at = passSpace(at);
    if (load<u8>(at) !== byte) return 0;
  }
  at++;
  return load<u8>(at) <= SPACE ? passSpace(at) : at;
}
