/**
 * Compressed batches. Gzip is written by the client itself, whose own unpacking is a stream in pieces of 16 KiB; snappy and lz4 are read and written
 * in plain JavaScript; zstd is read.
 */

import { unzipSync } from "node:zlib";
import kafkajs from "kafkajs";
import lz4 from "lz4js";
import snappy from "snappyjs";
import { LabError } from "../core/errors.ts";
import { unzstd } from "./zstd.ts";

type Codec = {
  compress(input: { buffer: Buffer }): Promise<Buffer>;
  decompress(input: Buffer): Promise<Buffer>;
};

/** Of what is unpacked: a batch is mostly one piece then, and not many that are put together. */
const GZIP_CHUNK_BYTES = 512 << 10;

const GZIP = codec("gzip", null, (packed) => unzipSync(packed, { chunkSize: GZIP_CHUNK_BYTES }));
const SNAPPY = codec("snappy", (raw) => snappy.compress(raw), unsnap);
const LZ4 = codec(
  "lz4",
  (raw) => asBuffer(lz4.compress(raw)),
  (packed) => asBuffer(lz4.decompress(packed)),
);
const ZSTD = codec("zstd", null, (packed) => asBuffer(unzstd(packed)));

let areRegistered = false;

/** Tells the client which codecs there are, once: its table is one for the whole process. */
export function registerCodecs(): void {
  if (areRegistered) return;
  areRegistered = true;
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.Snappy] = () => SNAPPY;
  CompressionCodecs[CompressionTypes.LZ4] = () => LZ4;
  CompressionCodecs[CompressionTypes.ZSTD] = () => ZSTD;
}

/**
 * The records of a batch that was packed with codec `type` of the protocol. CODEC_UNSUPPORTED where that is none, or what was packed is
 * not whole.
 */
export async function unpack(type: number, packed: Buffer): Promise<Buffer> {
  registerCodecs();
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const name = NAMES[type];
  if (name === undefined) throw unsupported(`a batch is packed with codec ${type}, which is unknown`);
  const found = name === "GZIP" ? GZIP : (CompressionCodecs[CompressionTypes[name]]() as Codec);
  return found.decompress(packed);
}

const NAMES: Readonly<Record<number, "GZIP" | "Snappy" | "LZ4" | "ZSTD">> = {
  1: "GZIP",
  2: "Snappy",
  3: "LZ4",
  4: "ZSTD",
};

function codec(
  name: string,
  pack: ((raw: Buffer) => Buffer) | null,
  unpack: (packed: Buffer) => Buffer,
): Codec {
  return {
    async compress({ buffer }) {
      if (pack === null) throw unsupported(`batches cannot be written with ${name} here`);
      return pack(buffer);
    },
    async decompress(packed) {
      try {
        return unpack(packed);
      } catch (error) {
        throw unreadable(name, packed, error);
      }
    },
  };
}

function unreadable(name: string, packed: Buffer, error: unknown): LabError {
  const reason = error instanceof Error ? error.message : String(error);
  return unsupported(`a ${name} batch of ${packed.length} bytes cannot be read: ${reason}`);
}

/** Without a cause, for the client hands the cause of an error on in its place; and it tries again unless told `retriable: false`. */
function unsupported(message: string): LabError {
  const hint = "produce the topic with compression gzip, snappy, lz4, zstd or none";
  return Object.assign(new LabError("CODEC_UNSUPPORTED", message, { hint }), { retriable: false });
}

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEADER_BYTES = 16;

/** Java frames snappy as xerial does, header and length-prefixed chunks; librdkafka sends one raw chunk. */
export function unsnap(packed: Buffer): Buffer {
  if (!packed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappy.uncompress(packed);
  const chunks: Buffer[] = [];
  let at = XERIAL_HEADER_BYTES;
  while (at < packed.length) {
    const length = packed.readInt32BE(at);
    if (length < 0 || at + 4 + length > packed.length) throw new Error(`chunk of ${length} bytes at ${at}`);
    chunks.push(snappy.uncompress(packed.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return Buffer.concat(chunks);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
