/** A leaf vector that grows: entry by entry, and back to where a message began when that turns out to be doubtful. */

import { copyWords, LONG } from "./copy-words.ts";
import type { Leaf, LeafValues, LeafVector } from "./leaf-vector.ts";

const NO_BYTES = new Uint8Array(0);
const NO_VIEW = new DataView(NO_BYTES.buffer);
const TWO_TO_32 = 4_294_967_296;
const FIXED_BYTES = 16;
/** Words are written where only some of their bytes count. */
const SLACK = 4;

/**
 * Has the same fields whatever it holds, so that the walk over messages meets one shape of object only. Arrays that its values do not need
 * stay empty. `low` is also where bytes begin, `high` also an int32.
 */
export class LeafBuilder implements LeafVector {
  readonly leaf: Leaf;
  entries = 0;
  count = 0;
  low = new Uint32Array(0);
  high = new Int32Array(0);
  lengths = new Uint32Array(0);
  floats = new Float32Array(0);
  doubles = new Float64Array(0);
  /** Bits of booleans, or 16 bytes of a decimal each. */
  bytes = NO_BYTES;
  #definitions = NO_BYTES;
  #repetitions = NO_BYTES;
  #maxDefinition: number;
  #isRepeated: boolean;
  #room = 0;
  /** What values that are bytes are found in. */
  #source: Uint8Array = NO_BYTES;
  #sourceView: DataView = NO_VIEW;
  /** Where they are copied to. */
  #extra = NO_BYTES;
  #extraView: DataView = NO_VIEW;
  #extraUsed = 0;
  #markedEntries = 0;
  #markedCount = 0;
  #markedExtra = 0;

  constructor(leaf: Leaf) {
    this.leaf = leaf;
    this.#maxDefinition = leaf.maxDefinition;
    this.#isRepeated = leaf.maxRepetition > 0;
  }

  /** Empties it for values of `source`, with room for so many entries at least. */
  begin(source: Uint8Array, entries: number): void {
    this.#source = source;
    this.#sourceView = new DataView(source.buffer, source.byteOffset, source.length);
    this.entries = 0;
    this.count = 0;
    this.#extraUsed = 0;
    if (entries > this.#room) this.#resize(entries, false);
  }

  /** Lets its memory go. */
  release(): void {
    this.begin(NO_BYTES, 0);
    this.#resize(0, false);
    this.#extra = NO_BYTES;
    this.#extraView = NO_VIEW;
  }

  /** Adds the entry of a value and says at which place of the arrays the value goes: of those there are then, which may be larger ones. */
  add(repetition: number): number {
    if (this.entries === this.#room) this.#resize(Math.max(64, this.#room * 2), true);
    this.#definitions[this.entries] = this.#maxDefinition;
    if (this.#isRepeated) this.#repetitions[this.entries] = repetition;
    this.entries++;
    return this.count++;
  }

  /** Adds an entry without a value: `definition` tells at which level it is null, empty or absent. */
  addNull(repetition: number, definition: number): void {
    if (this.entries === this.#room) this.#resize(Math.max(64, this.#room * 2), true);
    this.#definitions[this.entries] = definition;
    if (this.#isRepeated) this.#repetitions[this.entries] = repetition;
    this.entries++;
  }

  addInt32(repetition: number, value: number): void {
    const i = this.add(repetition);
    this.high[i] = value;
  }

  addBoolean(repetition: number, value: boolean): void {
    const i = this.add(repetition);
    this.bytes[i] = value ? 1 : 0;
  }

  /** `value` is whole and below 2^53 in size. */
  addInt64(repetition: number, value: number): void {
    const i = this.add(repetition);
    this.low[i] = value;
    this.high[i] = Math.floor(value / TWO_TO_32);
  }

  /** Adds bytes of the source: a copy, made while they are at hand. */
  addBytes(repetition: number, start: number, length: number): void {
    const to = this.extraRoom(length);
    const at = this.#extraUsed;
    if (length > LONG) to.set(this.#source.subarray(start, start + length), at);
    else copyWords(this.#extraView, at, this.#sourceView, start, length);
    this.addExtra(repetition, at + length);
  }

  /** Adds other bytes. */
  addCopy(repetition: number, bytes: Uint8Array): void {
    this.extraRoom(bytes.length).set(bytes, this.#extraUsed);
    this.addExtra(repetition, this.#extraUsed + bytes.length);
  }

  /** Adds the value before once more. */
  addAgain(repetition: number): void {
    const i = this.add(repetition);
    this.low[i] = this.low[i - 1]!;
    this.lengths[i] = this.lengths[i - 1]!;
  }

  /** Where copies go, with room for `size` bytes from `extraUsed` on, and a word beyond. */
  extraRoom(size: number): Uint8Array {
    const needed = this.#extraUsed + size + SLACK;
    if (needed > this.#extra.length) {
      const larger = new Uint8Array(Math.max(needed, this.#extra.length * 2, 1024));
      larger.set(this.#extra.subarray(0, this.#extraUsed));
      this.#extra = larger;
      this.#extraView = new DataView(larger.buffer);
    }
    return this.#extra;
  }

  /** Where copies go by words, as `extraRoom`. */
  extraWords(size: number): DataView {
    if (this.#extraUsed + size + SLACK > this.#extra.length) this.extraRoom(size);
    return this.#extraView;
  }

  /** What values that are bytes lie in; it changes when it grows. */
  get text(): Uint8Array {
    return this.#extra;
  }

  get extraUsed(): number {
    return this.#extraUsed;
  }

  /** The value whose bytes the caller wrote behind `extraUsed`, up to `end`. */
  addExtra(repetition: number, end: number): void {
    const i = this.add(repetition);
    this.low[i] = this.#extraUsed;
    this.lengths[i] = end - this.#extraUsed;
    this.#extraUsed = end;
  }

  /** Remembers where it stands. */
  mark(): void {
    this.#markedEntries = this.entries;
    this.#markedCount = this.count;
    this.#markedExtra = this.#extraUsed;
  }

  /** Forgets what came since `mark`. */
  rollBack(): void {
    this.entries = this.#markedEntries;
    this.count = this.#markedCount;
    this.#extraUsed = this.#markedExtra;
  }

  get definition(): Uint8Array | null {
    return this.leaf.maxDefinition === 0 ? null : this.#definitions;
  }

  get repetition(): Uint8Array | null {
    return this.#isRepeated ? this.#repetitions : null;
  }

  get values(): LeafValues {
    const { count, low, high } = this;
    switch (this.leaf.physical) {
      case "boolean":
        return { kind: "boolean", count, bits: this.bytes };
      case "int32":
        return { kind: "int32", count, numbers: high };
      case "int64":
        return { kind: "int64", count, low, high };
      case "float":
        return { kind: "float", count, numbers: this.floats };
      case "double":
        return { kind: "double", count, numbers: this.doubles };
      case "bytes":
        return {
          kind: "bytes",
          count,
          start: low,
          length: this.lengths,
          bytes: this.#extra.subarray(0, this.#extraUsed),
        };
      default:
        return { kind: "fixed", count, bytes: this.bytes };
    }
  }

  #resize(room: number, isKept: boolean): void {
    const keep = <T extends { set(from: T): void }>(from: T, to: T): T => {
      if (isKept) to.set(from);
      return to;
    };
    const { physical } = this.leaf;
    this.#room = room;
    this.#definitions = keep(this.#definitions, new Uint8Array(room));
    if (this.#isRepeated) this.#repetitions = keep(this.#repetitions, new Uint8Array(room));
    if (physical === "int64" || physical === "bytes") this.low = keep(this.low, new Uint32Array(room));
    if (physical === "int64" || physical === "int32") this.high = keep(this.high, new Int32Array(room));
    if (physical === "bytes") this.lengths = keep(this.lengths, new Uint32Array(room));
    if (physical === "float") this.floats = keep(this.floats, new Float32Array(room));
    if (physical === "double") this.doubles = keep(this.doubles, new Float64Array(room));
    if (physical === "boolean") this.bytes = keep(this.bytes, new Uint8Array(room));
    if (physical === "fixed") this.bytes = keep(this.bytes, new Uint8Array(room * FIXED_BYTES));
  }
}
