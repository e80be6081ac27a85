/** One column of one row group: its values as pages, in the encoding that pays. They are compressed elsewhere. */

import { bitWidth, putHybrid, putRun } from "./bits";
import { size as dictionarySize, indices, makeDictionary, placeOf, places } from "./dictionary";
import { findExtremes, findExtremesAt, hasNaN, largest, least } from "./extremes";
import { BYTES, INT32, INT64, Leaf } from "./leaf";
import { Sink } from "./sink";
import { DICTIONARY, encodingOf, putPlain, putValues } from "./values";

/** As much as a reader holds at once; a page of one row may be larger. */
const PAGE_BYTES = 1 << 20;

@unmanaged
export class Chunk {
  /** Bytes of all pages, one behind the other. */
  bytes: usize = 0;
  /** Of each page, 4 bytes each: its entries, and where its bytes end. */
  pages: usize = 0;
  pageCount: i32 = 0;
  encoding: i32 = 0;
  /** Entries: values, nulls and empty lists. */
  entries: i32 = 0;
  values: i32 = 0;
  /** Places of the least and the largest value; -1 where there is none. */
  least: i32 = 0;
  largest: i32 = 0;
  hasNaN: i32 = 0;
}

const chunk = new Chunk();
const raw = new Sink();
const pages = new Sink();

/** Pages of the next `rows` rows of a leaf, of `pageRows` rows at most each; the first one is the dictionary where the encoding has one. */
export function buildChunk(leaf: Leaf, rows: i32, pageRows: i32): Chunk {
  nextGroup(leaf, rows);
  const first = leaf.first;
  const end = leaf.end;
  const firstValue = leaf.firstValue;
  const endValue = leaf.endValue;
  raw.clear();
  pages.clear();
  const isMade = makeDictionary(leaf, firstValue, endValue);
  if (isMade) findExtremesAt(leaf, places, dictionarySize);
  else findExtremes(leaf, firstValue, endValue);
  const spread = spreadOf(leaf);
  const hasDictionary = isMade && paysOff(leaf, spread, firstValue, endValue);
  const encoding = hasDictionary ? DICTIONARY : encodingOf(leaf, spread);
  if (hasDictionary) {
    for (let i = 0; i < dictionarySize; i++) putPlain(raw, leaf, placeOf(i), placeOf(i) + 1);
    endPage(dictionarySize);
  }
  const width = max(1, bitWidth(dictionarySize - 1));
  let value = firstValue;
  for (let entry = first; entry < end; ) {
    let behind = end;
    let valueBehind = endValue;
    for (let most = pageRows; ; most = (most + 1) >> 1) {
      behind = behindRows(leaf, entry, end, most);
      valueBehind = value + valuesBetween(leaf, entry, behind);
      if (most === 1 || sizeOf(leaf, value, valueBehind) <= PAGE_BYTES) break;
    }
    putLevels(leaf, entry, behind, valueBehind - value);
    if (hasDictionary) {
      raw.putByte(width);
      putHybrid<u32>(raw, indices + ((<usize>(value - firstValue)) << 2), valueBehind - value, width);
    } else putValues(raw, leaf, value, valueBehind, encoding);
    endPage(behind - entry);
    entry = behind;
    value = valueBehind;
  }
  chunk.bytes = raw.start;
  chunk.pages = pages.start;
  chunk.pageCount = pages.length >> 3;
  chunk.encoding = encoding;
  chunk.entries = end - first;
  chunk.values = endValue - firstValue;
  chunk.least = least;
  chunk.largest = largest;
  chunk.hasNaN = hasNaN ? 1 : 0;
  return chunk;
}

function endPage(entries: i32): void {
  pages.putWord(entries);
  pages.putWord(raw.length);
}

/** The next `rows` rows behind the row group before. */
function nextGroup(leaf: Leaf, rows: i32): void {
  leaf.first = leaf.end;
  leaf.firstValue = leaf.endValue;
  leaf.end = behindRows(leaf, leaf.first, leaf.entries, rows);
  leaf.endValue = leaf.firstValue + valuesBetween(leaf, leaf.first, leaf.end);
}

/** The entry behind the next `rows` rows from `first` on, at most `limit`. */
function behindRows(leaf: Leaf, first: i32, limit: i32, rows: i32): i32 {
  if (leaf.maxRepetition === 0) return min(limit, first + rows);
  let left = rows + 1;
  let end = first;
  while (end < limit && (load<u8>(leaf.repetitions + end) !== 0 || --left > 0)) end++;
  return end;
}

function valuesBetween(leaf: Leaf, first: i32, end: i32): i32 {
  if (leaf.isFull) return end - first;
  let count = 0;
  for (let i = first; i < end; i++) if (load<u8>(leaf.definitions + i) === leaf.maxDefinition) count++;
  return count;
}

/** About how many bytes values take. */
function sizeOf(leaf: Leaf, from: i32, to: i32): i64 {
  if (leaf.physical !== BYTES || from === to) return 16 * <i64>(to - from);
  return 4 * <i64>(to - from) + leaf.endOf(to - 1) - leaf.startOf(from);
}

/** Largest less least of whole numbers; 0 for all else. */
function spreadOf(leaf: Leaf): u64 {
  if (least < 0) return 0;
  const low = leaf.values + <usize>least * leaf.width;
  const high = leaf.values + <usize>largest * leaf.width;
  if (leaf.physical === INT32) return <i64>load<i32>(high) - <i64>load<i32>(low);
  return leaf.physical === INT64 ? load<i64>(high) - load<i64>(low) : 0;
}

/** Whether the dictionary and the places in it take fewer bytes than the values. */
function paysOff(leaf: Leaf, spread: u64, from: i32, to: i32): bool {
  const count = <i64>(to - from);
  let own = <i64>dictionarySize * leaf.width;
  let plain: i64 = 0;
  if (leaf.physical === BYTES) {
    for (let i = 0; i < dictionarySize; i++) own += leaf.endOf(placeOf(i)) - leaf.startOf(placeOf(i));
    plain = count + (from < to ? leaf.endOf(to - 1) - leaf.startOf(from) : 0);
  } else if (leaf.physical === INT32 || leaf.physical === INT64) {
    // Differences go both ways: a bit more than the spread takes.
    plain = (count * (1 + bitWidth(spread))) / 8;
  } else plain = count * leaf.width;
  return own + (count * bitWidth(dictionarySize - 1)) / 8 < plain;
}

/** Each kind of levels with its length before it, as the first version of data pages has them. */
function putLevels(leaf: Leaf, first: i32, end: i32, values: i32): void {
  const count = end - first;
  if (leaf.maxRepetition > 0) {
    const start = beginLevels();
    putHybrid<u8>(raw, leaf.repetitions + first, count, bitWidth(leaf.maxRepetition));
    endLevels(start);
  }
  if (leaf.maxDefinition === 0) return;
  const start = beginLevels();
  const width = bitWidth(leaf.maxDefinition);
  if (values === count) putRun(raw, leaf.maxDefinition, count, width);
  else putHybrid<u8>(raw, leaf.definitions + first, count, width);
  endLevels(start);
}

function beginLevels(): i32 {
  raw.putWord(0);
  return raw.length;
}

function endLevels(start: i32): void {
  store<i32>(raw.start + start - 4, raw.length - start);
}
