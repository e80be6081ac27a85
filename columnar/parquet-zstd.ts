/** Zstandard: Node's own where it has one (from 22.15 on), else a package with binaries. */

import { createRequire } from "node:module";
import zlib from "node:zlib";

/** A whole frame of the bytes. */
export type Compress = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

type NodeZstd = {
  zstdCompressSync(bytes: Uint8Array, options: { params: Record<number, number> }): Buffer;
  constants: { ZSTD_c_compressionLevel: number };
};
type Package = { Encoder: new (level: number) => { encodeSync(bytes: Buffer): Buffer } };

/** Undefined where neither is to be had, as on a platform without a binary. */
export function loadZstd(level: number): Compress | undefined {
  if ("zstdCompressSync" in zlib) {
    const { zstdCompressSync, constants } = zlib as unknown as NodeZstd;
    const options = { params: { [constants.ZSTD_c_compressionLevel]: level } };
    return (bytes) => zstdCompressSync(bytes, options);
  }
  try {
    const { Encoder } = createRequire(import.meta.url)("@toondepauw/node-zstd") as Package;
    const encoder = new Encoder(level);
    return (bytes) => encoder.encodeSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  } catch {
    return undefined;
  }
}
