/** Messages as they came, in one growing buffer: no object per message on the way from fetch to file. */

/**
 * Append-only columns of raw messages. `value(i)` and friends are views into shared memory: copy to keep.
 * `bytes` counts value bytes only, the unit of `flush.bytes`.
 */
export type RawBatch = {
  readonly length: number;
  readonly bytes: number;
  append(record: RawMessage): void;
  topic(index: number): string;
  partition(index: number): number;
  offset(index: number): bigint;
  timestampMs(index: number): number;
  timestampType(index: number): "create" | "append";
  generation(index: number): number;
  key(index: number): Uint8Array | null;
  value(index: number): Uint8Array | null;
  headers(index: number): readonly (readonly [name: string, value: Uint8Array | null])[];
};

export type RawMessage = {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  timestampType: "create" | "append";
  generation: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: readonly (readonly [name: string, value: Uint8Array | null])[];
};
