/** Deletion vectors: which rows of a data file are gone (PROTOCOL.md, "Deletion Vector Format"). */

import { crc32 } from "node:zlib";
import { isLabError, LabError } from "../core/errors.ts";
import type { DeletionVector } from "./actions.ts";
import { storePath } from "./path.ts";
import { readRoaring } from "./roaring.ts";
import type { Store } from "./store/store.ts";
import { decodeZ85 } from "./z85.ts";

/** Characters that encode a UUID; what stands before them is a folder. */
const UUID_CHARS = 20;
const MAGIC = 1_681_511_377;

/**
 * Positions of deleted rows in their file, ascending. DATA_FILE_MISSING where the vector's file is gone, CORRUPT_LOG where its
 * size, checksum or count is wrong, UNSUPPORTED_FEATURE where it lies outside of the table.
 */
export async function readDeletionVector(
  store: Store,
  vector: DeletionVector,
  signal: AbortSignal,
): Promise<Float64Array> {
  const { storageType, pathOrInlineDv, sizeInBytes, cardinality } = vector;
  const isInline = storageType === "i";
  const name = isInline ? "an inline deletion vector" : vectorPath(store, vector);
  const stored = isInline ? undefined : await readStored(store, name, vector, signal);
  let positions: Float64Array;
  try {
    const data = stored ?? decodeZ85(pathOrInlineDv).subarray(0, sizeInBytes);
    if (data.readInt32LE(0) !== MAGIC) throw new Error("it begins with no known format");
    positions = readRoaring(data.subarray(4));
  } catch (cause) {
    throw damaged(name, (cause as Error).message, cause);
  }
  if (BigInt(positions.length) !== cardinality) {
    throw damaged(name, `it has ${positions.length} rows, not ${cardinality}`);
  }
  return positions;
}

/** Where a vector that is not inline is kept, inside the store. UNSUPPORTED_FEATURE where it lies outside of the table. */
export function vectorPath(store: Store, { storageType, pathOrInlineDv }: DeletionVector): string {
  if (storageType === "u") {
    const prefix = pathOrInlineDv.slice(0, -UUID_CHARS);
    const uuid = uuidOf(pathOrInlineDv.slice(-UUID_CHARS));
    return `${prefix === "" ? "" : `${prefix}/`}deletion_vector_${uuid}.bin`;
  }
  const inside = storePath(store.root, pathOrInlineDv);
  if (inside !== undefined) return inside;
  throw new LabError("UNSUPPORTED_FEATURE", `the deletion vector ${pathOrInlineDv} is outside of the table`, {
    hint: "such a table is a shallow clone: copy it whole, or read it with Spark",
    details: { feature: "absolutePaths" },
  });
}

function uuidOf(text: string): string {
  try {
    const hex = decodeZ85(text).toString("hex");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  } catch (cause) {
    throw damaged(`the deletion vector ${text}`, (cause as Error).message, cause);
  }
}

/** In a file: its size, itself, its CRC-32. */
async function readStored(
  store: Store,
  path: string,
  { offset = 1, sizeInBytes }: DeletionVector,
  signal: AbortSignal,
): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = Buffer.from(await store.getRange(path, offset, sizeInBytes + 8, signal));
  } catch (cause) {
    if (!isLabError(cause, "OBJECT_MISSING")) throw cause;
    throw new LabError("DATA_FILE_MISSING", `the deletion vector ${path} of ${store.root} does not exist`, {
      hint: "a vacuum may have removed it: read a newer version",
      details: { path, table: store.root },
      cause,
    });
  }
  if (bytes.length !== sizeInBytes + 8 || bytes.readInt32BE(0) !== sizeInBytes) {
    throw damaged(path, `its size is not ${sizeInBytes}`);
  }
  const data = bytes.subarray(4, -4);
  if (crc32(data) !== bytes.readUInt32BE(bytes.length - 4)) throw damaged(path, "its checksum is wrong");
  return data;
}

function damaged(name: string, why: string, cause?: unknown): LabError {
  return new LabError("CORRUPT_LOG", `${name} is damaged: ${why}`, { details: { path: name }, cause });
}
