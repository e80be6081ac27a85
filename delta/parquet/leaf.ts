/** The values of one column, row after row, with one page of them unpacked at a time. */

import { isAscii, isUtf8 } from "node:buffer";
import type { PackedText, Slice } from "../slice.ts";
import type { Node } from "./footer.ts";
import { readHybrid } from "./hybrid.ts";
import { BOOLEAN, BYTE_ARRAY, INT32, INT64, type Page, PLAIN, RLE, unpacked } from "./pages.ts";
import { newScratch, type Scratch } from "./scratch.ts";
import { SLACK } from "./snappy.ts";

/** Text as bytes that stay where they are; whole numbers as bigint where a double would not hold them. */
export type Value = Slice | PackedText | number | bigint | boolean;

export type Leaf = {
  /** From now on the rows are those of these pages, which belong to one row group. */
  begin(pages: readonly Page[]): void;
  /** How many rows to come, `most` at most, have nothing of what this column is part of. Only ever too few. */
  absent(most: number): number;
  /** Passes over rows that are absent. */
  skip(rows: number): void;
  /** The value of the next row, or undefined for null. A text holds until the next call. */
  next(): Value | undefined;
  /**
   * Of a repeated column: what the next row has, with undefined for each null; undefined where the row has no list, not even an empty one.
   * The list holds until the next call.
   */
  nextList(): readonly (Value | undefined)[] | undefined;
};

const NONE: readonly Value[] = [];
const NO_PAGES: readonly Page[] = [];

/** What comes of a page that turns out to be damaged when its texts are asked for. */
export type Packed = { damaged(cause: unknown): Error };

/**
 * With `packed` texts are left packed, and come as such. RangeError from `next` where a page is damaged. One for all row groups of a file: what
 * is compiled for one reader would have to be compiled anew for the next.
 */
export function leafReader(
  node: Node,
  { packed, scratch = newScratch() }: { packed?: Packed | undefined; scratch?: Scratch } = {},
): Leaf {
  const none: Dictionary = () => undefined;
  let rest = NO_PAGES.values();
  let dictionary = none;
  let definitions: Uint8Array = new Uint8Array(0);
  let repetitions: Uint8Array = definitions;
  let take: () => Value = () => 0;
  let at = 0;
  const isList = node.repeated > 0;
  const list: (Value | undefined)[] = [];
  let pageBytes: Buffer | undefined;

  /** Goes on to the next page that has values; whether there is one. */
  const open = (): boolean => {
    for (let page = rest.next().value; page; page = rest.next().value) {
      if (page.isDictionary) {
        dictionary = dictionaryOf(page);
        continue;
      }
      const staysPacked = packed !== undefined && page.encoding === PLAIN;
      const body = staysPacked ? levelsOf(page) : unpacked(page, pageBytes).subarray(0, page.size);
      const start = readLevels(page, body);
      take = staysPacked
        ? counted(packedTexts(page, start, countPresent(), packed))
        : sourceOf(page, body, start);
      at = 0;
      if (page.values > 0) return true;
    }
    return false;
  };
  const ensure = () => {
    if (at === definitions.length && !open()) throw new RangeError("a column has fewer rows than others");
  };

  const dictionaryOf = (page: Page): Dictionary => {
    if (page.values > page.size) throw new RangeError("a dictionary is shorter than it says");
    const { values } = page;
    if (packed) {
      const textAt = packedTexts(page, 0, values, packed);
      return (place) => (place < values ? textAt(place) : undefined);
    }
    const body = unpacked(page, isList ? undefined : scratch.dictionary(page.size + SLACK));
    const whole = body.subarray(0, page.size);
    if (!isList && node.type === BYTE_ARRAY) return textDictionary(whole, scratch.starts(values + 1));
    const valueAt = plainValues(node.type!, whole, 0, isList);
    if (node.type !== BYTE_ARRAY) return (place) => (place < values ? valueAt(place) : undefined);
    const all = Array.from({ length: values }, (_, n) => valueAt(n));
    return (place) => all[place];
  };

  /** As much of the body as has its levels. */
  const levelsOf = (page: Page): Buffer => {
    if (page.levels || node.definition === 0) return pageBytes!;
    if (page.size < 4) throw new RangeError("a page is shorter than its levels");
    const size = unpacked(page, pageBytes, 4).readUInt32LE(0);
    const enough = Math.min(4 + size, page.size);
    return unpacked(page, pageBytes, enough).subarray(0, enough);
  };

  const countPresent = (): number => {
    let present = 0;
    for (let n = 0; n < definitions.length; n++) if (definitions[n] === node.definition) present++;
    return present;
  };

  /** Returns where the values start in the body. */
  const readLevels = (page: Page, body: Buffer): number => {
    const { values, levels, levelBytes } = page;
    const widths = { repeated: node.repeated, definition: 32 - Math.clz32(node.definition) };
    let start = 0;
    const read = (width: number, raw: Uint8Array | undefined, out: Uint8Array): Uint8Array => {
      if (width === 0) return out.fill(0);
      if (raw) return readHybrid(raw, width, out);
      const size = new DataView(body.buffer, body.byteOffset).getUint32(start, true);
      if (size > body.length - start - 4) throw new RangeError("levels go on beyond their page");
      start += 4 + size;
      return readHybrid(body.subarray(start - size, start), width, out);
    };
    const first = levels && levelBytes.subarray(0, levels.repeated);
    if (isList) repetitions = read(widths.repeated, first, scratch.repetitions(values));
    const second = levels && levelBytes.subarray(levels.repeated);
    definitions = read(widths.definition, second, scratch.definitions(values));
    return start;
  };

  const sourceOf = (page: Page, body: Buffer, start: number): (() => Value) => {
    if (page.encoding === PLAIN) return counted(plainValues(node.type!, body, start, isList));
    let taken = 0;
    const present = countPresent();
    if (page.encoding === RLE) {
      const bits = readHybrid(body.subarray(start + 4), 1, new Uint8Array(present));
      return () => bits[taken++] === 1;
    }
    const width = present === 0 ? 0 : body[start]!;
    const places = scratch.places(present);
    if (width === 0) places.fill(0);
    readHybrid(body.subarray(start + 1), width, places);
    return () => {
      const value = dictionary(places[taken++]!);
      if (value === undefined) throw new RangeError("a value is not in the dictionary");
      return value;
    };
  };

  const step = (): Value | undefined => (definitions[at++] === node.definition ? take() : undefined);

  return {
    begin(pages) {
      rest = pages.values();
      dictionary = none;
      definitions = repetitions = definitions.subarray(0, 0);
      at = 0;
      // A list needs fresh bytes, as it may go on in the next page.
      pageBytes = isList ? undefined : scratch.page(largest(pages) + SLACK);
    },
    absent(most) {
      ensure();
      const end = node.definition === 0 ? at : Math.min(at + most, definitions.length);
      let to = at;
      while (to < end && definitions[to] === 0) to++;
      return to - at;
    },
    skip(rows) {
      at += rows;
    },
    next() {
      ensure();
      return step();
    },
    nextList() {
      ensure();
      if (repetitions[at] !== 0) throw new RangeError("a row starts within a list");
      // The element itself and its being repeated take a level each.
      const listed = node.definition - (node.repetition === "optional" ? 1 : 0);
      const level = definitions[at]!;
      if (level < listed) {
        at++;
        return level === listed - 1 ? NONE : undefined;
      }
      // Put in by place: to empty it first would make a new one of it, for each row.
      let count = 0;
      list[count++] = step();
      for (;;) {
        // A list may go on in the next page.
        if ((at === definitions.length && !open()) || repetitions[at] === 0) break;
        list[count++] = step();
      }
      list.length = count;
      return list;
    },
  };
}

function largest(pages: readonly Page[]): number {
  return pages.reduce((size, page) => (page.isDictionary ? size : Math.max(size, page.size)), 0);
}

type Dictionary = (place: number) => Value | undefined;

function counted(valueAt: (place: number) => Value): () => Value {
  let place = 0;
  return () => valueAt(place++);
}

/** Values from `start` on, by their place; texts only one after the other, in objects of their own where they are kept. */
function plainValues(type: number, body: Buffer, start: number, areKept: boolean): (place: number) => Value {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  let at = start;
  switch (type) {
    case BOOLEAN:
      return (place) => ((view.getUint8(start + (place >> 3)) >> (place & 7)) & 1) === 1;
    case INT32:
      return (place) => view.getInt32(start + 4 * place, true);
    case INT64:
      return (place) => {
        const low = start + 8 * place;
        const value = view.getInt32(low + 4, true) * 2 ** 32 + view.getUint32(low, true);
        return Number.isSafeInteger(value) ? value : view.getBigInt64(low, true);
      };
    default: {
      const text: Slice = { bytes: body, start: 0, length: 0 };
      // Lengths of short texts look like ASCII too: then all texts of the page are checked at once.
      const isPlain = isAscii(body.subarray(start));
      return () => {
        text.length = view.getUint32(at, true);
        text.start = at + 4;
        at = text.start + text.length;
        if (at > body.length) throw new RangeError("a text goes on beyond its page");
        if (!isPlain) checkText(body, text.start, at);
        return areKept ? { ...text } : text;
      };
    }
  }
}

/** Texts by their place, without an object for each. `starts` has room for one more than there are. */
function textDictionary(body: Buffer, starts: Int32Array): Dictionary {
  const count = starts.length - 1;
  const nextText = plainValues(BYTE_ARRAY, body, 0, false) as (place: number) => Slice;
  starts[0] = 4;
  for (let n = 0; n < count; n++) {
    const { start, length } = nextText(n);
    starts[n + 1] = start + length + 4;
  }
  const text: Slice = { bytes: body, start: 0, length: 0 };
  return (place) => {
    if (place >= count) return undefined;
    text.start = starts[place]!;
    text.length = starts[place + 1]! - 4 - text.start;
    return text;
  };
}

const SHORT_TEXT = 128;

function checkText(body: Buffer, from: number, to: number): void {
  let bits = to - from > SHORT_TEXT ? 0x80 : 0;
  for (let at = from; at < to && bits < 0x80; at++) bits |= body[at]!;
  // Other bytes would become replacement characters.
  if (bits >= 0x80 && !isUtf8(body.subarray(from, to))) throw new TypeError("a text is not UTF-8");
}

/** `count` texts from `start` of the page's body on, none of which is looked at. A function of its own, to hold on to nothing else. */
function packedTexts(page: Page, start: number, count: number, packed: Packed): (place: number) => Value {
  const block = {
    unpack(into?: Buffer) {
      const [starts, lengths] = [new Int32Array(count), new Int32Array(count)];
      try {
        const bytes = unpacked(page, into);
        const isPlain = isAscii(bytes.subarray(start, page.size));
        let at = start;
        for (let n = 0; n < count; n++) {
          lengths[n] = bytes.readUInt32LE(at);
          starts[n] = at + 4;
          at = starts[n]! + lengths[n]!;
          if (at > page.size) throw new RangeError("a text goes on beyond its page");
          if (!isPlain) checkText(bytes, starts[n]!, at);
        }
        return { bytes, starts, lengths };
      } catch (cause) {
        throw packed.damaged(cause);
      }
    },
  };
  const text: PackedText = { block, number: 0 };
  return (number) => {
    text.number = number;
    return text;
  };
}
