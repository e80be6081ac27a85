/** Thrift's compact protocol, as far as Parquet's footers and page headers use it. */

/** Fields of a struct by their number; absent ones are missing. Structs, lists, numbers, booleans and bytes, as they come. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;
export type ThriftValue = number | boolean | Uint8Array | ThriftStruct | readonly ThriftValue[];

/** Reads the struct that starts at `start`, and tells where it ends. RangeError where the bytes are none. */
export function readStruct(bytes: Uint8Array, start: number): { struct: ThriftStruct; end: number } {
  let at = start;

  const byte = (): number => {
    const value = bytes[at++];
    if (value === undefined) throw new RangeError("a structure goes on beyond the end");
    return value;
  };
  /** Exact up to 2^53, which no length and no count here may pass. */
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = byte();
      value += (next & 127) * scale;
      if (next < 128) return value;
      if (scale > 2 ** 63) throw new RangeError("a number is too long");
    }
  };
  const zigzag = (): number => {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  const binary = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new RangeError("a text goes on beyond the end");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const list = (): ThriftValue[] => {
    const head = byte();
    const size = head >> 4 === 15 ? varint() : head >> 4;
    // Each element takes a byte at least.
    if (size > bytes.length - at) throw new RangeError("a list goes on beyond the end");
    const kind = head & 15;
    return Array.from({ length: size }, () => (kind <= 2 ? byte() === 1 : value(kind)));
  };
  const struct = (): ThriftStruct => {
    const fields = new Map<number, ThriftValue>();
    for (let id = 0; ; ) {
      const head = byte();
      if (head === 0) return fields;
      id = head >> 4 === 0 ? zigzag() : id + (head >> 4);
      const kind = head & 15;
      fields.set(id, kind <= 2 ? kind === 1 : value(kind));
    }
  };
  const value = (kind: number): ThriftValue => {
    if (kind === 3) return byte();
    if (kind === 4 || kind === 5 || kind === 6) return zigzag();
    if (kind === 7) return binary(8);
    if (kind === 8) return binary(varint());
    if (kind === 9 || kind === 10) return list();
    if (kind === 12) return struct();
    throw new RangeError(`there is no type ${kind}`);
  };

  return { struct: struct(), end: at };
}
