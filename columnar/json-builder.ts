/**
 * One walk over the bytes of a JSON message that checks it and appends its values to the vectors of a table's leaves, making no object. What
 * is plainly right is taken; whatever is doubtful leaves no trace, and is for the exact and slow way (`json-object.ts`). The grammar is that
 * of the engine's `json-check.ts`, which has no vectors to fill: there DuckDB converts the bytes.
 */

import type { StructType } from "../delta/types.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  FALSE,
  JsonCursor,
  LETTER_F,
  LETTER_N,
  LETTER_T,
  NULL,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TRUE,
} from "./json-cursor.ts";
import { type Field, messageNode, type Node } from "./json-nodes.ts";
import { addDecimal, addDouble, addInteger, passDouble, passInteger } from "./json-numbers.ts";
import { addText } from "./json-text.ts";
import { addDate, addTimestamp } from "./json-times.ts";
import type { LeafBuilder } from "./leaf-builder.ts";

export type JsonBuilder = {
  /** The message as a tree, with the leaves in it. */
  readonly root: Node;
  /**
   * Empties the leaves for the messages of `bytes`, so many of them: a newline stands behind each, and those that `append` is asked for are
   * valid UTF-8.
   */
  begin(bytes: Uint8Array, messages: number): void;
  /** Appends a row with the values of the message from `start` to `end`; false, with nothing appended, where that is not plainly right. */
  append(start: number, end: number): boolean;
};

const MAX_DEPTH = 200;
const RESERVED = Buffer.from('"_kafka"');

/**
 * For messages of `schema`, whose leaves are `leaves` in schema order, voids left out. With `ignoreUnknown`, fields that the schema lacks are
 * passed over; else they are doubtful.
 */
export function createJsonBuilder(
  schema: StructType,
  leaves: readonly LeafBuilder[],
  { ignoreUnknown }: { ignoreUnknown: boolean },
): JsonBuilder {
  const next = leaves.values();
  const root = messageNode(schema, () => next.next().value!);
  const cursor = new JsonCursor();
  let bytes: Uint8Array = cursor.bytes;
  let objects = 0;

  function value(node: Node, repetition: number): boolean {
    const first = bytes[cursor.at]!;
    if (first === LETTER_N) {
      if (!node.isNullable || !cursor.word(NULL)) return false;
      addNulls(node, repetition, node.nullLevel);
      return true;
    }
    switch (node.kind) {
      case "string":
        return first === QUOTE
          ? addText(cursor, node.leaf!, repetition)
          : otherText(first, node.leaf!, repetition);
      case "integer":
        return addInteger(cursor, node.leaf!, repetition, node.digits);
      case "double":
        return addDouble(cursor, node.leaf!, repetition, node.isFloat);
      case "decimal":
        return addDecimal(cursor, node.leaf!, repetition, node.digits, node.scale);
      case "boolean":
        return boolean(first, node.leaf!, repetition);
      case "timestamp":
        return addTimestamp(cursor, node.leaf!, repetition, node.hasZone);
      case "date":
        return addDate(cursor, node.leaf!, repetition);
      case "struct":
        return first === OPEN_BRACE && object(node, repetition);
      case "array":
        return first === OPEN_BRACKET && array(node, repetition);
      case "map":
        return first === OPEN_BRACE && map(node, repetition);
      default:
        return false;
    }
  }

  /** A number or a boolean for a text: as it is written. */
  function otherText(first: number, leaf: LeafBuilder, repetition: number): boolean {
    const start = cursor.at;
    const isRight =
      first === LETTER_T ? cursor.word(TRUE) : first === LETTER_F ? cursor.word(FALSE) : passInteger(cursor);
    if (isRight) leaf.addBytes(repetition, start, cursor.at - start);
    return isRight;
  }

  function boolean(first: number, leaf: LeafBuilder, repetition: number): boolean {
    const isTrue = first === LETTER_T;
    if (!isTrue && first !== LETTER_F) return false;
    if (!cursor.word(isTrue ? TRUE : FALSE)) return false;
    leaf.addBoolean(repetition, isTrue);
    return true;
  }

  function object(node: Node, repetition: number): boolean {
    const id = ++objects;
    const { fields } = node;
    let met = 0;
    cursor.at++;
    cursor.skipSpace();
    if (bytes[cursor.at] === CLOSE_BRACE) {
      cursor.at++;
      return absent(fields, id, repetition);
    }
    let last: Field | null = null;
    do {
      if (bytes[cursor.at] !== QUOTE) return false;
      let field: Field | null = last === null ? (fields[0] ?? null) : last.follower;
      if (field === null || !isNext(field)) {
        field = key(fields, last);
        if (field === null) {
          if (!ignoreUnknown || !unknown(node === root)) return false;
          continue;
        }
        if (!cursor.eat(COLON)) return false;
      }
      if (field.metIn === id || !value(field.node, repetition)) return false;
      field.metIn = id;
      met++;
      last = field;
    } while (cursor.eat(COMMA));
    if (!cursor.eatLast(CLOSE_BRACE)) return false;
    return met === fields.length || absent(fields, id, repetition);
  }

  /** Nulls for the fields that the object did not have; false where one must not be null. */
  function absent(fields: readonly Field[], id: number, repetition: number): boolean {
    for (const { node, metIn } of fields) {
      if (metIn === id) continue;
      if (!node.isNullable) return false;
      addNulls(node, repetition, node.nullLevel);
    }
    return true;
  }

  /** Steps over `"name":` and the space behind it, where that stands here without any in front of the colon. */
  function isNext({ words, lastMask, length }: Field): boolean {
    const start = cursor.at;
    const last = words.length - 1;
    if (start + words.length * 4 > bytes.length) return false;
    let at = start;
    for (let i = 0; i < last; i++, at += 4) if (cursor.words.getInt32(at, true) !== words[i]) return false;
    if ((cursor.words.getInt32(at, true) & lastMask) !== words[last]) return false;
    cursor.at = start + length;
    if (bytes[cursor.at]! <= SPACE) cursor.skipSpace();
    return true;
  }

  /** The field whose name stands at the quote here, stepped over; null, without a step, for a name the schema lacks. */
  function key(fields: readonly Field[], last: Field | null): Field | null {
    for (const field of fields) {
      if (!isKey(field.name)) continue;
      if (last !== null) last.follower = field;
      return field;
    }
    return null;
  }

  function isKey(name: Uint8Array): boolean {
    const { length } = name;
    const start = cursor.at + 1;
    for (let i = 0; i < length; i++) if (bytes[start + i] !== name[i]) return false;
    cursor.at = start + length;
    return true;
  }

  /** Over a field that the schema lacks; not over one that may be known or is reserved after all. */
  function unknown(isTop: boolean): boolean {
    if (isTop && isReserved()) return false;
    const { escapes } = cursor;
    return cursor.text() && cursor.escapes === escapes && cursor.eat(COLON) && anything(0);
  }

  function isReserved(): boolean {
    for (let i = 0; i < RESERVED.length; i++) if (bytes[cursor.at + i] !== RESERVED[i]) return false;
    return true;
  }

  function array(node: Node, repetition: number): boolean {
    const element = node.element!;
    cursor.at++;
    cursor.skipSpace();
    if (bytes[cursor.at] === CLOSE_BRACKET) {
      cursor.at++;
      addEmpty(node, repetition);
      return true;
    }
    let level = repetition;
    do {
      if (!value(element, level)) return false;
      level = node.repetition;
    } while (cursor.eat(COMMA));
    return cursor.eatLast(CLOSE_BRACKET);
  }

  function map(node: Node, repetition: number): boolean {
    const keys = node.leaf!;
    const first = keys.count;
    cursor.at++;
    cursor.skipSpace();
    if (bytes[cursor.at] === CLOSE_BRACE) {
      cursor.at++;
      addEmpty(node, repetition);
      return true;
    }
    let level = repetition;
    let many: Set<string> | null = null;
    do {
      if (bytes[cursor.at] !== QUOTE) return false;
      const { escapes } = cursor;
      if (!addText(cursor, keys, level) || cursor.escapes !== escapes) return false;
      if (keys.count - first <= FEW_KEYS) {
        if (isDoubled(keys, first)) return false;
      } else {
        many ??= new Set(Array.from({ length: FEW_KEYS }, (_, i) => keyText(keys, first + i)));
        const known = many.size;
        if (many.add(keyText(keys, keys.count - 1)).size === known) return false;
      }
      if (!cursor.eat(COLON) || !value(node.element!, level)) return false;
      level = node.repetition;
    } while (cursor.eat(COMMA));
    return cursor.eatLast(CLOSE_BRACE);
  }

  /** Any JSON value of a field that is passed over. */
  function anything(depth: number): boolean {
    const first = bytes[cursor.at]!;
    if (first === QUOTE) return cursor.text();
    if (first === LETTER_N) return cursor.word(NULL);
    if (first === LETTER_T) return cursor.word(TRUE);
    if (first === LETTER_F) return cursor.word(FALSE);
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return passDouble(cursor);
    if (depth === MAX_DEPTH) return false;
    const close = first + 2;
    cursor.at++;
    cursor.skipSpace();
    if (bytes[cursor.at] === close) {
      cursor.at++;
      return true;
    }
    do {
      if (first === OPEN_BRACE && !(bytes[cursor.at] === QUOTE && cursor.text() && cursor.eat(COLON)))
        return false;
      if (!anything(depth + 1)) return false;
    } while (cursor.eat(COMMA));
    return cursor.eatLast(close);
  }

  function isMessage(): boolean {
    cursor.skipSpace();
    if (bytes[cursor.at] !== OPEN_BRACE || !object(root, 0)) return false;
    cursor.skipSpace();
    return cursor.at === cursor.end;
  }

  return {
    root,
    begin(from, messages) {
      bytes = from;
      for (const leaf of leaves) leaf.begin(from, leaf.leaf.maxRepetition === 0 ? messages : 0);
      cursor.open(from);
      objects = 0;
      forgetMet(root);
    },
    append(start, end) {
      cursor.begin(start, end);
      for (const leaf of root.leaves) leaf.mark();
      if (isMessage()) return true;
      for (const leaf of root.leaves) leaf.rollBack();
      return false;
    },
  };
}

/** The entry of a node that is null or absent, or lies in something that is, down to level `definition`: one in each leaf. */
export function addNulls(node: Node, repetition: number, definition: number): void {
  const { leaves } = node;
  for (let i = 0; i < leaves.length; i++) leaves[i]!.addNull(repetition, definition);
}

/** An array or map without anything in it. */
export function addEmpty(node: Node, repetition: number): void {
  addNulls(node, repetition, node.isNullable ? node.nullLevel + 1 : node.nullLevel);
}

/** Above, comparing each with each would take too long for a message of one large map. */
const FEW_KEYS = 16;

/** Whether the key added last is one of those since `first`. */
function isDoubled(keys: LeafBuilder, first: number): boolean {
  const last = keys.count - 1;
  for (let i = first; i < last; i++) if (isSame(keys, i, last)) return true;
  return false;
}

function isSame({ text, low, lengths }: LeafBuilder, one: number, other: number): boolean {
  const length = lengths[one]!;
  if (length !== lengths[other]) return false;
  const from = low[one]!;
  const to = low[other]!;
  for (let i = 0; i < length; i++) if (text[from + i] !== text[to + i]) return false;
  return true;
}

/** A name for the key's bytes. */
function keyText({ text, low, lengths }: LeafBuilder, i: number): string {
  return Buffer.from(text.buffer, text.byteOffset + low[i]!, lengths[i]!).toString("latin1");
}

function forgetMet(node: Node): void {
  for (const field of node.fields) {
    field.metIn = 0;
    forgetMet(field.node);
  }
  if (node.element) forgetMet(node.element);
}
