/** What a message of a change stream says: the port that each format fills. */

import type { StructType } from "../delta/types.ts";
import type { Fault } from "../engine/json-exact.ts";
import type { Change, Truncate } from "./change.ts";

export type ChangeMessage = {
  partition: number;
  offset: bigint;
  generation: number;
  timestampMs: number;
  key: Uint8Array | null;
  /** JSON in UTF-8, whatever format it came in; null for a tombstone. */
  value: Uint8Array | null;
  headers: readonly (readonly [name: string, value: Uint8Array | null])[];
};

export type DecodedChange =
  /**
   * In the order in which they happened: an update that changes the key is two. With the end of a snapshot what goes with it, where the decoder was
   * asked to tell: unknown where the message does not say where the snapshot stands, or of which table it is. `table`: of the source, where it is told.
   */
  | { changes: readonly Change[]; sweep?: Truncate | "unknown"; table?: string | null }
  | { truncate: Truncate; table?: string | null }
  /** Not of rows (heartbeats, ends of transactions, ...), by the kind that it is counted under. */
  | { skipped: string }
  | { bad: Fault };

export type ChangeDecoder = {
  /** The messages of a partition one after the other. Never throws for any bytes. */
  decode(message: ChangeMessage): DecodedChange;
  /** The columns that make a key; null while no message has told them. */
  readonly keyColumns: readonly string[] | null;
  /** The columns that the messages' own schemas promise; null where there are none. */
  readonly promised: StructType | null;
};
