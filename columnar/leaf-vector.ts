/** One leaf of a table's schema over many rows, in the form that Parquet stores: what messages fill and the Parquet writer reads. */

import { unscaledText } from "../delta/decimal.ts";
import type { TypedValue } from "../delta/partition-value.ts";
import { decimalOf } from "../delta/schema.ts";
import type { PrimitiveType } from "../delta/types.ts";
import type { Address, Columns } from "./columns.ts";

/** How values of a leaf lie in memory and in a page. `decimal` of up to 9 digits is int32, up to 18 int64, else `fixed` in 16 bytes, big-endian. */
export type Physical = keyof typeof PARQUET_TYPE;

/** The numbers of Parquet's own types (`parquet.thrift`). */
export const PARQUET_TYPE = {
  boolean: 0,
  int32: 1,
  int64: 2,
  float: 4,
  double: 5,
  bytes: 6,
  fixed: 7,
} as const;

/** A leaf column of a Parquet file. */
export type Leaf = {
  /** Names from the root, those of Parquet's list and map groups included: `["tags", "list", "element"]`. */
  parquetPath: readonly string[];
  /** Names from the root as the schema has them, physical under column mapping; undefined inside of arrays and maps, which have no statistics. */
  statsPath: readonly string[] | undefined;
  type: Exclude<PrimitiveType, "variant" | "void">;
  physical: Physical;
  /** Level of a value that is there: each nullable field and each array or map around it adds one. */
  maxDefinition: number;
  /** Arrays and maps around it. */
  maxRepetition: number;
};

/**
 * Entries of a leaf, in row order. An entry is a value, a null, or an empty or absent list or group around it; levels are Dremel's. Only
 * values that are there have a place among the values.
 */
export class LeafVector {
  readonly leaf: Leaf;
  readonly address: Address;
  #columns: Columns;

  constructor(columns: Columns, leaf: Leaf) {
    this.leaf = leaf;
    this.#columns = columns;
    this.address = columns.newLeaf(PARQUET_TYPE[leaf.physical], leaf.maxDefinition, leaf.maxRepetition);
  }

  /** Empties it, with room for so many entries at least. */
  begin(entries: number): void {
    this.#columns.beginLeaf(this.address, entries);
  }

  /** Lets its memory go. */
  release(): void {
    this.#columns.releaseLeaf(this.address);
  }

  /** Lets all of it go: it is used no more. */
  close(): void {
    this.#columns.freeLeaf(this.address);
  }

  /** Entries; equal to the rows where `maxRepetition` is 0. */
  get entries(): number {
    return this.#columns.entriesOf(this.address);
  }

  /** Values that are there. */
  get count(): number {
    return this.#columns.countOf(this.address);
  }

  /** An entry without a value: `definition` tells at which level it is null, empty or absent. */
  addNull(repetition: number, definition: number): void {
    this.#columns.addNull(this.address, repetition, definition);
  }

  addBoolean(repetition: number, value: boolean): void {
    this.#columns.addBoolean(this.address, repetition, value ? 1 : 0);
  }

  addNumber(repetition: number, value: number): void {
    if (this.leaf.physical === "int32") this.#columns.addInt32(this.address, repetition, value);
    else if (this.leaf.physical === "float") this.#columns.addFloat(this.address, repetition, value);
    else this.#columns.addDouble(this.address, repetition, value);
  }

  /** A whole number, of as many bits as the leaf takes. */
  addWhole(repetition: number, value: bigint): void {
    const { physical } = this.leaf;
    if (physical === "int32") this.#columns.addInt32(this.address, repetition, Number(value));
    else if (physical === "int64") this.#columns.addInt64(this.address, repetition, value);
    else this.#columns.addFixed(this.address, repetition, value >> 64n, value);
  }

  addBytes(repetition: number, bytes: Uint8Array): void {
    const at = this.#columns.textFor(this.address, bytes.length);
    new Uint8Array(this.#columns.memory.buffer, at, bytes.length).set(bytes);
    this.#columns.addText(this.address, repetition, bytes.length);
  }

  /** Makes `pickRows` possible, until something is added. */
  indexRows(rows: number): void {
    this.#columns.indexRows(this.address, rows);
  }

  /** Fills `into`, of the same kind, with the listed rows, which ascend. */
  pickRows(rows: Uint32Array, into: LeafVector): void {
    const at = this.#columns.inputFor(rows.byteLength);
    new Uint32Array(this.#columns.memory.buffer, at, rows.length).set(rows);
    this.#columns.pickRows(this.address, into.address, at, rows.length);
  }

  /** Whether an entry has a value: of those there are, until something is added. */
  get isThere(): (entry: number) => boolean {
    const { entries, count } = this;
    if (entries === count) return () => true;
    const { maxDefinition } = this.leaf;
    const at = this.#columns.definitionsOf(this.address);
    const levels = new Uint8Array(this.#columns.memory.buffer, at, entries);
    return (entry) => levels[entry] === maxDefinition;
  }

  /** Value `i` as statistics and partition values take it. */
  typedValue(i: number): TypedValue {
    const { type, physical } = this.leaf;
    const decimal = decimalOf(type);
    const bytes = this.bytesOf(i);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    switch (physical) {
      case "boolean":
        return bytes[0] === 1;
      case "int32": {
        const value = view.getInt32(0, true);
        return decimal ? unscaledText(String(value), decimal.scale) : value;
      }
      case "int64": {
        const value = view.getBigInt64(0, true);
        return decimal ? unscaledText(value, decimal.scale) : value;
      }
      case "float":
        return shortest(view.getFloat32(0, true));
      case "double":
        return view.getFloat64(0, true);
      case "bytes":
        return type === "string" ? Buffer.from(bytes).toString("utf8") : bytes;
      case "fixed": {
        const hex = Buffer.from(bytes).toString("hex");
        return unscaledText(BigInt.asIntN(128, BigInt(`0x${hex}`)), decimal?.scale ?? 0);
      }
    }
  }

  /** A copy of the bytes of value `i`, as they lie in a page without the length of a string; a boolean takes one. */
  bytesOf(i: number): Uint8Array<ArrayBuffer> {
    const columns = this.#columns;
    const { buffer } = columns.memory;
    const values = columns.valuesOf(this.address);
    const width = WIDTH[this.leaf.physical];
    if (width !== undefined)
      return new Uint8Array(buffer.slice(values + i * width, values + (i + 1) * width));
    const view = new DataView(buffer);
    const start = i === 0 ? 0 : view.getInt32(values + 4 * (i - 1), true);
    const end = view.getInt32(values + 4 * i, true);
    const text = columns.textOf(this.address);
    return new Uint8Array(buffer.slice(text + start, text + end));
  }
}

const WIDTH: Readonly<Partial<Record<Physical, number>>> = {
  boolean: 1,
  int32: 4,
  int64: 8,
  float: 4,
  double: 8,
  fixed: 16,
};

/**
 * The number of fewest digits that stands for a float: 0.1, not 0.10000000149011612. Where that is half way to another float, or one of two that are
 * as near, all its digits are taken, as DuckDB does.
 */
function shortest(value: number): number {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (short === value) return short;
    const [nearest, beyond, opposite] = [Math.fround(short), 2 * short - value, 2 * value - short];
    if (Math.fround(beyond) === beyond && (nearest === value || nearest === beyond)) break;
    if (nearest !== value) continue;
    if (Number(opposite.toPrecision(digits)) === opposite) break;
    return short;
  }
  return value;
}
