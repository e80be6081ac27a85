/** Deletion vectors: which rows of a data file are gone (PROTOCOL.md, "Deletion Vector Format"). */

import { basename, dirname } from "node:path";
import { crc32 } from "node:zlib";
import { isLabError, LabError } from "../core/errors.ts";
import type { DeletionVector } from "./actions.ts";
import { localPathOutside, storePath } from "./path.ts";
import { readRoaring } from "./roaring.ts";
import { localStore } from "./store/local.ts";
import type { Store } from "./store/store.ts";
import { decodeZ85 } from "./z85.ts";

/** Characters that encode a UUID; what stands before them is a folder. */
const UUID_CHARS = 20;
const MAGIC = 1_681_511_377;
/** Row numbers are held in memory, eight bytes each. */
const MOST_ROWS = 2 ** 28;

/**
 * Positions of deleted rows in their file, ascending. DATA_FILE_MISSING where the vector's file is gone, CORRUPT_LOG where its
 * size, checksum or count is wrong, UNSUPPORTED_FEATURE where it lies outside of a table that is not local, or is too large.
 */
export async function readDeletionVector(
  store: Store,
  vector: DeletionVector,
  signal: AbortSignal,
): Promise<Float64Array> {
  const { storageType, pathOrInlineDv, sizeInBytes, cardinality } = vector;
  if (!["u", "p", "i"].includes(storageType))
    throw unsupported(`deletion vectors of storage type ${storageType}`, "deletionVectors");
  if (cardinality > MOST_ROWS)
    throw unsupported(`a deletion vector of ${cardinality} rows`, "deletionVectors");
  const place = storageType === "i" ? undefined : vectorPlace(store, vector);
  const name = place?.path ?? "an inline deletion vector";
  const stored = place && (await readStored(place.store, place.path, vector, signal));
  let positions: Float64Array;
  try {
    const data = stored ?? decodeZ85(pathOrInlineDv).subarray(0, sizeInBytes);
    if (data.readInt32LE(0) !== MAGIC) throw new Error("it begins with no known format");
    positions = readRoaring(data.subarray(4), Number(cardinality));
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
  throw unsupported(`the deletion vector ${pathOrInlineDv} outside of the table`, "absolutePaths");
}

/** Beside a local table a vector is read too: shallow clones name those of the table they were made from. */
function vectorPlace(store: Store, vector: DeletionVector): { store: Store; path: string } {
  const outside =
    vector.storageType === "p" ? localPathOutside(store.root, vector.pathOrInlineDv) : undefined;
  return outside === undefined
    ? { store, path: vectorPath(store, vector) }
    : { store: localStore(dirname(outside)), path: basename(outside) };
}

function unsupported(what: string, feature: string): LabError {
  return new LabError("UNSUPPORTED_FEATURE", `${what} cannot be read here`, {
    hint: "read the table with an engine that does, such as Spark; a shallow clone can be copied whole",
    details: { feature },
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
