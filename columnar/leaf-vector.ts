/** One leaf of a table's schema over many rows, in the form that Parquet stores: what the JSON builder fills and the Parquet writer reads. */

import type { PrimitiveType } from "../delta/types.ts";

/** How values of a leaf lie in memory and in a page. `decimal` of up to 9 digits is int32, up to 18 int64, else `fixed` in 16 bytes, big-endian. */
export type Physical = "boolean" | "int32" | "int64" | "float" | "double" | "bytes" | "fixed";

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
 * values that are there are in `values`.
 */
export type LeafVector = {
  readonly leaf: Leaf;
  /** Entries; equal to the rows where `maxRepetition` is 0. */
  readonly entries: number;
  /** One level an entry; null where `maxDefinition` is 0. May be longer than `entries`. */
  readonly definition: Uint8Array | null;
  /** One level an entry, 0 where a row begins; null where `maxRepetition` is 0. May be longer than `entries`. */
  readonly repetition: Uint8Array | null;
  readonly values: LeafValues;
};

/** The values that are there. Arrays may be longer than `count`. */
export type LeafValues =
  | { readonly kind: "boolean"; readonly count: number /** 0 or 1 each. */; readonly bits: Uint8Array }
  | { readonly kind: "int32"; readonly count: number; readonly numbers: Int32Array }
  /** Two's complement, as halves: no bigint is made on the way. Value i is `high[i] * 2^32 + low[i]`. */
  | { readonly kind: "int64"; readonly count: number; readonly low: Uint32Array; readonly high: Int32Array }
  | { readonly kind: "float"; readonly count: number; readonly numbers: Float32Array }
  | { readonly kind: "double"; readonly count: number; readonly numbers: Float64Array }
  /**
   * Value i is `length[i]` bytes at `start[i]` of `bytes`: memory of this leaf alone, where the values stand in their order, so that who reads them all
   * runs through it. Where they come from, messages as a whole, each value would cost a wait for memory.
   */
  | {
      readonly kind: "bytes";
      readonly count: number;
      readonly start: Uint32Array;
      readonly length: Uint32Array;
      readonly bytes: Uint8Array;
    }
  /** 16 bytes each, big-endian two's complement. */
  | { readonly kind: "fixed"; readonly count: number; readonly bytes: Uint8Array };
