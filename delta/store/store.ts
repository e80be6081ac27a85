/** What a Delta table needs of storage: seven functions, given in. Local, S3 and memory fulfil it. */

/** One stored object. `path` is relative to the store's root, `/`-separated, not percent-encoded. */
export type StoredObject = { path: string; size: number; modifiedMs: number };

/** Bytes to store, or a local file whose content is stored (the file may be moved away). */
export type Body = Uint8Array | { file: string };

/**
 * A folder of objects. Paths are relative to `root`, `/`-separated and not percent-encoded; `..` and absolute paths are
 * refused. Whoever opened a store closes it. Every call takes an AbortSignal and rejects with its reason.
 *
 * Errors: OBJECT_MISSING (get, getRange), STORE_UNREACHABLE (an outage, worth a retry), STORE_FULL,
 * STORE_DENIED, BUCKET_MISSING, PATH_REFUSED. Nothing but these reaches the caller.
 */
export type Store = {
  /** Canonical URI without a trailing slash: `file:///a/b`, `s3://bucket/key`, `memory://name`. */
  readonly root: string;
  get(path: string, signal: AbortSignal): Promise<Uint8Array>;
  /** `length` bytes from `start`; a negative `start` counts from the end; shorter only at the end of the object. */
  getRange(path: string, start: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Objects below `prefix` (a path prefix, not necessarily a folder), recursively, in ascending order of the UTF-8 bytes of their
   * paths, those after `startAfter` (exclusive) only. A prefix that holds nothing yields nothing.
   */
  list(prefix: string, options: { startAfter?: string; signal: AbortSignal }): AsyncIterable<StoredObject>;
  /**
   * Names of the folders right below the store's root, in ascending order of their UTF-8 bytes: what paths that go on after a `/` begin with.
   * On a disk one may be empty.
   */
  folders(signal: AbortSignal): AsyncIterable<string>;
  /** Stores durably (local: file and each new folder fsynced) and replaces what was there. */
  put(path: string, body: Body, signal: AbortSignal): Promise<void>;
  /**
   * Stores `body` if the path is free, atomically among all writers, never half-written. `exists`: another object is there.
   * `unclear`: the reply was lost; the caller reads the path to learn which. Never retried inside.
   */
  putIfAbsent(path: string, body: Uint8Array, signal: AbortSignal): Promise<"created" | "exists" | "unclear">;
  /** Removes the object; a path that holds nothing is fine. */
  delete(path: string, signal: AbortSignal): Promise<void>;
  /** The object's path in the local file system, where the store is one; absent otherwise. */
  localPath?(path: string): string;
  close(): Promise<void>;
};
