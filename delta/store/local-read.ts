/** Reads small files of a disk at once: the ways to another thread and back cost ten times what reading one does. */

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";

/** Bytes from which on others must not wait for the disk. */
const LARGE = 2 ** 18;

/** What is asked for of a file that is `size` bytes long; a negative `start` counts from its end. */
export function spanOf(size: number, start: number, length: number): { first: number; length: number } {
  const first = Math.min(size, start < 0 ? Math.max(0, size + start) : start);
  return { first, length: Math.min(length, size - first) };
}

/** The bytes, as far as the file has them; undefined where they are too many. ENOENT for what is no file. */
export function readAtOnce(path: string, start: number, length: number): Uint8Array | undefined {
  // Files are asked for that mostly are not there yet: what the system throws for them costs more than to look.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) throw missing(path, "is not there");
  // Else what is no file might let wait for its other end.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw missing(path, "is no file");
    const span = spanOf(stats.size, start, length);
    if (span.length > LARGE) return undefined;
    const bytes = new Uint8Array(span.length);
    let filled = 0;
    for (let read = 1; read > 0 && filled < bytes.length; filled += read)
      read = readSync(file, bytes, filled, bytes.length - filled, span.first + filled);
    return bytes.subarray(0, filled);
  } finally {
    closeSync(file);
  }
}

function missing(path: string, why: string): Error {
  return Object.assign(new Error(`${path} ${why}`), { code: "ENOENT" });
}
