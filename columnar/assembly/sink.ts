/** Bytes that grow at their end: what pages are written into. */

/** Whole vectors are written where only some of their bytes count. */
const SLACK = 32;
/** More than this is not kept for the next use: it was for a column far larger than most. */
const MOST_KEPT = 16 << 20;

@unmanaged
export class Sink {
  start: usize = 0;
  length: i32 = 0;
  room: i32 = 0;

  clear(): void {
    this.length = 0;
    if (this.room <= MOST_KEPT) return;
    heap.free(this.start);
    this.start = 0;
    this.room = 0;
  }

  /** Room for `more` bytes, and a vector beyond. */
  reserve(more: i32): void {
    const needed = this.length + more + SLACK;
    if (needed <= this.room) return;
    this.room = max(max(needed, this.room + (this.room >> 1)), 1 << 16);
    this.start = this.start === 0 ? heap.alloc(this.room) : heap.realloc(this.start, this.room);
  }

  /** Where the next byte goes. */
  end(): usize {
    return this.start + this.length;
  }

  putByte(value: i32): void {
    this.reserve(1);
    store<u8>(this.end(), value);
    this.length++;
  }

  /** 4 bytes, little-endian. */
  putWord(value: i32): void {
    this.reserve(4);
    store<i32>(this.end(), value);
    this.length += 4;
  }

  putBytes(from: usize, length: i32): void {
    this.reserve(length);
    memory.copy(this.end(), from, length);
    this.length += length;
  }

  /** Base 128, the lowest digits first (ULEB128). */
  putVarint(value: u64): void {
    this.reserve(10);
    let at = this.end();
    while (value >= 128) {
      store<u8>(at++, <u8>(value & 127) | 128);
      value >>= 7;
    }
    store<u8>(at++, <u8>value);
    this.length = <i32>(at - this.start);
  }

  /** A signed number as 2n or -2n - 1, base 128. */
  putZigzag(value: i64): void {
    this.putVarint((value << 1) ^ (value >> 63));
  }
}
