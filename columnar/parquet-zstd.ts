/** Zstandard by a package with binaries, else by Node itself, which has it from 22.15 on. */

import { createRequire } from "node:module";
import zlib from "node:zlib";

/** A whole frame of the bytes. */
export type Compress = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

type NodeZstd = {
  zstdCompressSync(bytes: Uint8Array, options: { params: Record<number, number> }): Buffer;
  constants: { ZSTD_c_compressionLevel: number };
};
type Package = { Encoder: new (level: number) => { encodeSync(bytes: Buffer): Buffer } };

/** Undefined where neither is to be had: before Node 22.15, on a platform that the package has no binary for. */
export function loadZstd(level: number): Compress | undefined {
  try {
    const { Encoder } = createRequire(import.meta.url)("@toondepauw/node-zstd") as Package;
    const encoder = new Encoder(level);
    return (bytes) => encoder.encodeSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  } catch {
    return nodeZstd(level);
  }
}

/** Node's own costs a tenth to half as much again: it is a stream below. */
export function nodeZstd(level: number): Compress | undefined {
  if (!("zstdCompressSync" in zlib)) return undefined;
  const { zstdCompressSync, constants } = zlib as unknown as NodeZstd;
  const options = { params: { [constants.ZSTD_c_compressionLevel]: level } };
  return (bytes) => zstdCompressSync(bytes, options);
}
