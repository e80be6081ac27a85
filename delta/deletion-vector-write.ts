/** Deletion vectors of one commit as one file (PROTOCOL.md, "Deletion Vector File Storage Format"). */

import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import type { DeletionVector } from "./actions.ts";
import { writeRoaring } from "./roaring-write.ts";
import type { Store } from "./store/store.ts";
import { encodeZ85 } from "./z85.ts";

const VERSION = 1;
const MAGIC = 1_681_511_377;

/**
 * Stores one vector for each of `deleted`: positions of rows in their file, ascending, at least one. They are given back in the order of
 * `deleted`, and the file's path in the store. It is in no version before a commit names it.
 */
export async function writeDeletionVectors(
  store: Store,
  deleted: readonly Float64Array[],
  signal: AbortSignal,
): Promise<{ path: string; vectors: DeletionVector[] }> {
  const id = randomBytes(16);
  const parts: Buffer[] = [Buffer.from([VERSION])];
  let offset = 1;
  const vectors = deleted.map((positions): DeletionVector => {
    const magic = Buffer.alloc(4);
    magic.writeInt32LE(MAGIC);
    const data = Buffer.concat([magic, writeRoaring(positions)]);
    const [size, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeInt32BE(data.length);
    checksum.writeUInt32BE(crc32(data));
    parts.push(size, data, checksum);
    const vector: DeletionVector = {
      storageType: "u",
      pathOrInlineDv: encodeZ85(id),
      offset,
      sizeInBytes: data.length,
      cardinality: BigInt(positions.length),
    };
    offset += data.length + 8;
    return vector;
  });
  const uuid = id.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const path = `deletion_vector_${uuid}.bin`;
  await store.put(path, Buffer.concat(parts), signal);
  return { path, vectors };
}
