/** The values of one column, row after row, with one page of them unpacked at a time. */

import { isUtf8 } from "node:buffer";
import type { PackedText, Slice } from "../slice.ts";
import type { Node } from "./footer.ts";
import { readHybrid } from "./hybrid.ts";
import { BOOLEAN, INT32, INT64, type Page, PLAIN, RLE, unpacked } from "./pages.ts";
import { SLACK } from "./snappy.ts";

/** Text as bytes that stay where they are; whole numbers as bigint where a double would not hold them. */
export type Value = Slice | PackedText | number | bigint | boolean;

export type Leaf = {
  /** What pages are unpacked to, for the next reader to use; a list needs fresh bytes, as it may go on in the next page. */
  readonly scratch: Buffer | undefined;
  /** How many rows to come, `most` at most, have nothing of what this column is part of. Only ever too few. */
  absent(most: number): number;
  /** Passes over rows that are absent. */
  skip(rows: number): void;
  /** The value of the next row, or undefined for null. A slice holds until the next call. */
  next(): Value | undefined;
  /** Of a repeated column: what the next row has, with undefined for each null; undefined where the row has no list, not even an empty one. */
  nextList(): readonly (Value | undefined)[] | undefined;
};

const NONE: readonly Value[] = [];

/** What comes of a page that turns out to be damaged when its texts are asked for. */
export type Packed = { damaged(cause: unknown): Error };

/** With `packed` texts are left packed, and come as such. RangeError from `next` where a page is damaged. */
export function leafReader(
  node: Node,
  pages: readonly Page[],
  { packed, scratch: before }: { packed?: Packed | undefined; scratch?: Buffer | undefined } = {},
): Leaf {
  const rest = pages.values();
  let dictionary: Dictionary = () => undefined;
  let definitions: Uint8Array = new Uint8Array(0);
  let repetitions: Uint8Array = definitions;
  let take: () => Value = () => 0;
  let at = 0;
  const scratch = node.repeated > 0 ? undefined : scratchFor(pages, before);

  /** Goes on to the next page that has values; whether there is one. */
  const open = (): boolean => {
    for (let page = rest.next().value; page; page = rest.next().value) {
      if (page.isDictionary) {
        dictionary = dictionaryOf(page);
        continue;
      }
      const staysPacked = packed !== undefined && page.encoding === PLAIN;
      const body = staysPacked ? levelsOf(page) : unpacked(page, scratch).subarray(0, page.size);
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
    const valueAt = plainValues(node.type!, unpacked(page).subarray(0, page.size), 0);
    if (node.type === INT32 || node.type === INT64)
      return (place) => (place < values ? valueAt(place) : undefined);
    const all = Array.from({ length: values }, (_, n) => valueAt(n));
    return (place) => all[place];
  };

  /** As much of the body as has its levels. */
  const levelsOf = (page: Page): Buffer => {
    if (page.levels || node.definition === 0) return scratch!;
    if (page.size < 4) throw new RangeError("a page is shorter than its levels");
    const size = unpacked(page, scratch, 4).readUInt32LE(0);
    const enough = Math.min(4 + size, page.size);
    return unpacked(page, scratch, enough).subarray(0, enough);
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
    const read = (width: number, raw: Uint8Array | undefined): Uint8Array => {
      if (width === 0) return new Uint8Array(values);
      if (raw) return readHybrid(raw, width, new Uint8Array(values));
      const size = new DataView(body.buffer, body.byteOffset).getUint32(start, true);
      if (size > body.length - start - 4) throw new RangeError("levels go on beyond their page");
      start += 4 + size;
      return readHybrid(body.subarray(start - size, start), width, new Uint8Array(values));
    };
    repetitions = read(widths.repeated, levels && levelBytes.subarray(0, levels.repeated));
    definitions = read(widths.definition, levels && levelBytes.subarray(levels.repeated));
    return start;
  };

  const sourceOf = (page: Page, body: Buffer, start: number): (() => Value) => {
    if (page.encoding === PLAIN) return counted(plainValues(node.type!, body, start));
    let taken = 0;
    const present = countPresent();
    if (page.encoding === RLE) {
      const bits = readHybrid(body.subarray(start + 4), 1, new Uint8Array(present));
      return () => bits[taken++] === 1;
    }
    const width = present === 0 ? 0 : body[start]!;
    const places = readHybrid(body.subarray(start + 1), width, new Int32Array(present));
    return () => {
      const value = dictionary(places[taken++]!);
      if (value === undefined) throw new RangeError("a value is not in the dictionary");
      return value;
    };
  };

  const step = (): Value | undefined => (definitions[at++] === node.definition ? take() : undefined);

  return {
    scratch,
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
      const list: (Value | undefined)[] = [step()];
      for (;;) {
        // A list may go on in the next page.
        if (at === definitions.length && !open()) return list;
        if (repetitions[at] === 0) return list;
        list.push(step());
      }
    },
  };
}

/** Bytes for the largest of the pages: `before` where it is large enough. */
function scratchFor(pages: readonly Page[], before: Buffer | undefined): Buffer {
  const sizes = pages.filter(({ isDictionary }) => !isDictionary).map(({ size }) => size);
  const needed = Math.max(0, ...sizes) + SLACK;
  return before && before.length >= needed ? before : Buffer.allocUnsafeSlow(needed);
}

type Dictionary = (place: number) => Value | undefined;

function counted(valueAt: (place: number) => Value): () => Value {
  let place = 0;
  return () => valueAt(place++);
}

/** Values from `start` on, by their place; texts only one after the other. */
function plainValues(type: number, body: Buffer, start: number): (place: number) => Value {
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
    default:
      return () => {
        const length = view.getUint32(at, true);
        const from = at + 4;
        at = from + length;
        checkText(body, from, at, body.length);
        return { bytes: body, start: from, length };
      };
  }
}

function checkText(body: Buffer, from: number, to: number, end: number): void {
  if (to > end) throw new RangeError("a text goes on beyond its page");
  // Other bytes would become replacement characters.
  if (!isUtf8(body.subarray(from, to))) throw new TypeError("a text is not UTF-8");
}

/** `count` texts from `start` of the page's body on, none of which is looked at. A function of its own, to hold on to nothing else. */
function packedTexts(page: Page, start: number, count: number, packed: Packed): (place: number) => Value {
  const block = {
    unpack(into?: Buffer) {
      const [starts, lengths] = [new Int32Array(count), new Int32Array(count)];
      try {
        const bytes = unpacked(page, into);
        let at = start;
        for (let n = 0; n < count; n++) {
          lengths[n] = bytes.readUInt32LE(at);
          starts[n] = at + 4;
          at = starts[n]! + lengths[n]!;
          checkText(bytes, starts[n]!, at, page.size);
        }
        return { bytes, starts, lengths };
      } catch (cause) {
        throw packed.damaged(cause);
      }
    },
  };
  return (number) => ({ block, number });
}
