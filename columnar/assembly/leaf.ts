/**
 * One leaf of a table's schema over many rows, in the form that Parquet stores. It grows entry by entry, and back to where a message began when
 * that turns out to be doubtful. An entry is a value, a null, or an empty or absent list or group around it; levels are Dremel's. Only values
 * that are there have a place among the values.
 */

/** How values lie in memory and in a page: the numbers of Parquet's own types (`parquet.thrift`). */
export const BOOLEAN = 0;
export const INT32 = 1;
export const INT64 = 2;
export const FLOAT = 4;
export const DOUBLE = 5;
/** Strings and binaries: bytes one behind the other, and where each ends. */
export const BYTES = 6;
/** 16 bytes, big-endian two's complement. */
export const FIXED = 7;

/** Vectors are written where only some of their bytes count. */
const SLACK = 16;
const FIRST_ROOM = 64;
/** So many bytes are cheaper copied by a call. */
const LONG = 512;

@unmanaged
export class Leaf {
  physical: i32 = 0;
  /** Bytes of a value, or of the place where its bytes end. */
  width: i32 = 0;
  maxDefinition: i32 = 0;
  /** Arrays and maps around it. */
  maxRepetition: i32 = 0;
  entries: i32 = 0;
  count: i32 = 0;
  /** Each entry so far has a value. */
  isFull: bool = true;
  /** One byte an entry; not written while each has a value. */
  definitions: usize = 0;
  /** One byte an entry; nothing where nothing is repeated. */
  repetitions: usize = 0;
  values: usize = 0;
  text: usize = 0;
  textUsed: i32 = 0;
  /** Entries that there is memory for. */
  room: i32 = 0;
  /** Values that there is memory for: none of a column that no row has, of which wide tables have thousands. */
  valueRoom: i32 = 0;
  textRoom: i32 = 0;
  markedEntries: i32 = 0;
  markedCount: i32 = 0;
  markedText: i32 = 0;
  /** The rows of the row group written last: entries and values, the end exclusive. */
  first: i32 = 0;
  end: i32 = 0;
  firstValue: i32 = 0;
  endValue: i32 = 0;
  /** Of each row its first entry, and of each entry how many values stand before it; made by `indexRows`. */
  rowStarts: usize = 0;
  valuesBefore: usize = 0;

  /** Empties it, with room for so many entries at least. */
  begin(entries: i32): void {
    this.entries = 0;
    this.count = 0;
    this.textUsed = 0;
    this.isFull = true;
    this.restart();
    this.forgetRows();
    if (entries > this.room) this.resize(entries);
  }

  /** Row groups begin with the first row again. */
  restart(): void {
    this.first = 0;
    this.end = 0;
    this.firstValue = 0;
    this.endValue = 0;
  }

  /** Lets its memory go. */
  release(): void {
    this.begin(0);
    this.room = 0;
    this.valueRoom = 0;
    this.textRoom = 0;
    this.definitions = freed(this.definitions);
    this.repetitions = freed(this.repetitions);
    this.values = freed(this.values);
    this.text = freed(this.text);
  }

  forgetRows(): void {
    this.rowStarts = freed(this.rowStarts);
    this.valuesBefore = freed(this.valuesBefore);
  }

  /** Adds the entry of a value, and says where the value goes. */
  add(repetition: i32): usize {
    const entries = this.entries;
    if (entries === this.room) this.resize(max(FIRST_ROOM, this.room * 2));
    if (!this.isFull) store<u8>(this.definitions + entries, this.maxDefinition);
    if (this.maxRepetition > 0) store<u8>(this.repetitions + entries, repetition);
    this.entries = entries + 1;
    const i = this.count++;
    if (i === this.valueRoom) this.resizeValues(min(this.room, max(FIRST_ROOM, 4 * i)));
    return this.values + <usize>i * this.width;
  }

  /** An entry without a value: `definition` tells at which level it is null, empty or absent. */
  addNull(repetition: i32, definition: i32): void {
    const entries = this.entries;
    if (entries === this.room) this.resize(max(FIRST_ROOM, this.room * 2));
    if (this.isFull) {
      memory.fill(this.definitions, <u8>this.maxDefinition, entries);
      this.isFull = false;
    }
    store<u8>(this.definitions + entries, definition);
    if (this.maxRepetition > 0) store<u8>(this.repetitions + entries, repetition);
    this.entries = entries + 1;
  }

  /** Rows with the `count` values at `from`; not of bytes. */
  addRows(from: usize, count: i32): void {
    const entries = this.entries + count;
    if (entries > this.room) this.resize(entries);
    if (!this.isFull) memory.fill(this.definitions + this.entries, <u8>this.maxDefinition, count);
    if (this.count + count > this.valueRoom) this.resizeValues(this.room);
    memory.copy(this.values + <usize>this.count * this.width, from, <usize>count * this.width);
    this.entries = entries;
    this.count += count;
  }

  addInt32(repetition: i32, value: i32): void {
    store<i32>(this.add(repetition), value);
  }

  addInt64(repetition: i32, value: i64): void {
    store<i64>(this.add(repetition), value);
  }

  /** 128 bits in two's complement. */
  addFixed(repetition: i32, high: i64, low: i64): void {
    const to = this.add(repetition);
    store<i64>(to, bswap(high));
    store<i64>(to + 8, bswap(low));
  }

  /** Copies bytes, and may read some behind them. */
  addBytes(repetition: i32, from: usize, length: i32): void {
    this.reserveText(length);
    copyBytes(this.text + this.textUsed, from, length);
    this.addText(repetition, length);
  }

  /** Room for `length` bytes behind those there are, and a vector beyond. */
  reserveText(length: i32): void {
    const needed = this.textUsed + length + SLACK;
    if (needed <= this.textRoom) return;
    this.textRoom = max(needed, max(1024, this.textRoom * 2));
    this.text = resized(this.text, this.textRoom);
  }

  /** The value whose bytes the caller wrote behind those there are. */
  addText(repetition: i32, length: i32): void {
    this.textUsed += length;
    store<i32>(this.add(repetition), this.textUsed);
  }

  mark(): void {
    this.markedEntries = this.entries;
    this.markedCount = this.count;
    this.markedText = this.textUsed;
  }

  /** Forgets what came since `mark`. */
  rollBack(): void {
    this.entries = this.markedEntries;
    this.count = this.markedCount;
    this.textUsed = this.markedText;
  }

  /** Where the bytes of value `i` begin among the leaf's. */
  startOf(i: i32): i32 {
    return i === 0 ? 0 : load<i32>(this.values + ((<usize>(i - 1)) << 2));
  }

  endOf(i: i32): i32 {
    return load<i32>(this.values + ((<usize>i) << 2));
  }

  /** The first 8 bytes of a value that is bytes, zeros behind a shorter one: of two values, the one whose head is less comes before. */
  headOf(i: i32): u64 {
    if (this.physical === FIXED) return bswap(load<u64>(this.values + ((<usize>i) << 4))) ^ (1 << 63);
    const start = this.startOf(i);
    const length = this.endOf(i) - start;
    const head = length === 0 ? 0 : bswap(load<u64>(this.text + start));
    return length >= 8 ? head : head & ~(u64.MAX_VALUE >> ((<u64>length) << 3));
  }

  private resize(room: i32): void {
    this.room = room;
    this.definitions = resized(this.definitions, room);
    if (this.maxRepetition > 0) this.repetitions = resized(this.repetitions, room);
  }

  private resizeValues(room: i32): void {
    this.valueRoom = room;
    this.values = resized(this.values, <usize>room * this.width);
  }
}

/** Copies bytes by vectors: up to 15 more are read and written. */
export function copyBytes(to: usize, from: usize, length: i32): void {
  if (length > LONG) memory.copy(to, from, length);
  else for (let i = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i));
}

function resized(block: usize, size: usize): usize {
  return block === 0 ? heap.alloc(size) : heap.realloc(block, size);
}

function freed(block: usize): usize {
  if (block !== 0) heap.free(block);
  return 0;
}

export function widthOf(physical: i32): i32 {
  switch (physical) {
    case BOOLEAN:
      return 1;
    case INT64:
    case DOUBLE:
      return 8;
    case FIXED:
      return 16;
    default:
      return 4;
  }
}
