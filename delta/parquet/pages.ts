/** The pages of a column chunk (parquet-format, `PageHeader`), found without decoding them. */

import type { ColumnChunk, Node } from "./footer.ts";
import { unsnappy } from "./snappy.ts";
import { readStruct, type ThriftStruct, type ThriftValue } from "./thrift.ts";

export const PLAIN = 0;
export const RLE = 3;

/** Physical types. */
export const BOOLEAN = 0;
export const INT32 = 1;
export const INT64 = 2;
export const BYTE_ARRAY = 6;

export type Page = {
  isDictionary: boolean;
  /** Nulls included. */
  values: number;
  encoding: number;
  /** Bytes of levels that stand uncompressed before the rest, as pages of the second kind have them; else undefined. */
  levels: { repeated: number; definition: number } | undefined;
  isCompressed: boolean;
  /** Bytes of `body` once it is unpacked, without `levels`. */
  size: number;
  levelBytes: Uint8Array;
  body: Uint8Array;
};

const UNCOMPRESSED = 0;
const SNAPPY = 1;
const TYPES = [BOOLEAN, INT32, INT64, BYTE_ARRAY];
const PLAIN_DICTIONARY = 2;
const RLE_DICTIONARY = 8;
/** More than any writer puts into a page; a claim of more is not believed. */
const MOST_VALUES = 2 ** 24;
const LARGEST = 2 ** 28;

/** All pages, or undefined where there is something that is not decoded here. RangeError where the chunk is damaged. */
export function listPages(bytes: Uint8Array, chunk: ColumnChunk, node: Node): Page[] | undefined {
  if (chunk.codec !== UNCOMPRESSED && chunk.codec !== SNAPPY) return undefined;
  if (!TYPES.includes(node.type!) || node.repeated > 1) return undefined;
  const pages: Page[] = [];
  let values = 0;
  for (let at = chunk.start; values < chunk.values; ) {
    const { struct, end } = readStruct(bytes.subarray(0, chunk.end), at);
    const size = whole(struct.get(3));
    if (end + size > chunk.end) throw new RangeError("a page goes on beyond its column");
    const page = readPage(struct, bytes.subarray(end, end + size), chunk, node);
    if (page === undefined) return undefined;
    if (page !== "other") {
      if (page.values > MOST_VALUES || page.size > LARGEST) return undefined;
      pages.push(page);
      if (!page.isDictionary) values += page.values;
    }
    at = end + size;
  }
  return pages;
}

/** The unpacked body, with anything behind it; in `scratch` where that is given and large enough; only its first `enough` bytes where that is given. */
export function unpacked({ body, isCompressed, size }: Page, scratch?: Buffer, enough = size): Buffer {
  if (isCompressed) return unsnappy(body, size, scratch, Math.min(enough, size));
  if (body.length !== size) throw new RangeError("a page is of another size than it says");
  return Buffer.from(body.buffer, body.byteOffset, size);
}

function readPage(
  header: ThriftStruct,
  body: Uint8Array,
  { codec }: ColumnChunk,
  node: Node,
): Page | "other" | undefined {
  const isCompressed = codec === SNAPPY;
  const size = whole(header.get(2));
  const [first, dictionary, second] = [5, 7, 8].map((id) => header.get(id) as ThriftStruct | undefined);
  const page = {
    isDictionary: false,
    levels: undefined,
    isCompressed,
    size,
    levelBytes: body.subarray(0, 0),
    body,
  };
  if (dictionary) {
    const encoding = whole(dictionary.get(2));
    if (encoding !== PLAIN && encoding !== PLAIN_DICTIONARY) return undefined;
    return { ...page, isDictionary: true, values: whole(dictionary.get(1)), encoding: PLAIN };
  }
  if (first) {
    const encoding = dataEncoding(first.get(2), node);
    const hasOldLevels =
      (node.definition > 0 && first.get(3) !== RLE) || (node.repeated > 0 && first.get(4) !== RLE);
    return encoding === undefined || hasOldLevels
      ? undefined
      : { ...page, values: whole(first.get(1)), encoding };
  }
  if (second) {
    const encoding = dataEncoding(second.get(4), node);
    if (encoding === undefined) return undefined;
    const levels = { definition: whole(second.get(5)), repeated: whole(second.get(6)) };
    const length = levels.definition + levels.repeated;
    if (length > body.length || length > size) throw new RangeError("a page is shorter than its levels");
    return {
      ...page,
      values: whole(second.get(1)),
      encoding,
      levels,
      isCompressed: isCompressed && second.get(7) !== false,
      size: size - length,
      levelBytes: body.subarray(0, length),
      body: body.subarray(length),
    };
  }
  return "other";
}

/** `PLAIN`, `RLE` (of booleans), or `RLE_DICTIONARY` under either of its names; undefined for others. */
function dataEncoding(value: ThriftValue | undefined, { type }: Node): number | undefined {
  if (value === PLAIN_DICTIONARY || value === RLE_DICTIONARY) return RLE_DICTIONARY;
  return value === PLAIN || (value === RLE && type === BOOLEAN) ? value : undefined;
}

function whole(value: ThriftValue | undefined): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError("a page header lacks a number");
}
