/** What a stream does with its messages between fetch and commit: the port that the machine drives, whatever the table is. */

import type { StructType } from "../delta/types.ts";
import type { ChunkContent } from "./chunk.ts";
import { type EncodeInput, encodeChunk } from "./encode-chunk.ts";
import { type Published, publish } from "./publish.ts";
import type { PublishInput } from "./publish-input.ts";

/** A table that is yet to be made. */
export type NewTable = { schema: StructType; configuration: Readonly<Record<string, string>> };

export type Work = {
  /** Judges a chunk's messages in place: afterwards it holds letters and counts, and no messages. Where it fails it is as it was. */
  encode(chunk: ChunkContent, input: EncodeInput): Promise<void>;
  /** Settles chunks, oldest first: letters, then one commit that holds what they come to and their positions. */
  publish(input: PublishInput): Promise<Published>;
  /** The table to make for columns that were declared or that messages suggest; null while messages have yet to say more. */
  tableFor(schema: StructType): NewTable | null;
  /** Once the stream has ended. */
  close(): Promise<void>;
};

/** Each message a row that is added. */
export const appending: Work = {
  encode: encodeChunk,
  publish,
  tableFor: (schema) => ({ schema, configuration: {} }),
  close: async () => {},
};
