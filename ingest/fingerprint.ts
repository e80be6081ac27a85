/**
 * A mark of the last settled record of a partition. A topic that is deleted and made anew has the same
 * offsets with other records; the mark tells (contracts.md, `commitInfo.lab`).
 */

import { createHash } from "node:crypto";

type Marked = { offset: bigint; timestampMs: number; key: Uint8Array | null; value: Uint8Array | null };

/** `<offset>:<timestamp in ms>:<first 16 hex digits of a sha256 over key and value>`. */
export function fingerprint(record: Marked): string {
  const hash = createHash("sha256");
  for (const part of [record.key, record.value]) {
    hash.update(part === null ? "-" : `${part.byteLength}:`);
    if (part) hash.update(part);
  }
  return `${record.offset}:${record.timestampMs}:${hash.digest("hex").slice(0, 16)}`;
}

/** The offset that a fingerprint speaks of; null for text that is none. */
export function markedOffset(mark: string): bigint | null {
  const match = /^(\d+):-?\d+:[0-9a-f]{16}$/.exec(mark);
  return match?.[1] === undefined ? null : BigInt(match[1]);
}
