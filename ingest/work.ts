/** What a stream does with its messages between fetch and commit: the port that the machine drives, whatever the table is. */

import { LabError } from "../core/errors.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { KEY_PROPERTY } from "../engine/hidden-rows.ts";
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
  /** Rejects a table that this is not to be done to. */
  requireFit(table: Snapshot): void;
  /** The table to make for columns that were declared or that messages suggest; null while messages have yet to say more. */
  tableFor(schema: StructType): NewTable | null;
  /** Once the stream has ended. */
  close(): Promise<void>;
};

/** Each message a row that is added. */
export const appending: Work = {
  encode: encodeChunk,
  publish,
  requireFit({ metadata }) {
    const key = metadata.configuration[KEY_PROPERTY];
    if (key === undefined) return;
    throw new LabError(
      "SCHEMA_MISMATCH",
      `the table has one row for each ${key}: messages are merged into it, and none is added as it stands`,
      {
        hint: "say that the messages are changes: `mode: cdc` (--mode cdc, lab merge), or ingest them into another table",
      },
    );
  },
  tableFor: (schema) => ({ schema, configuration: {} }),
  close: async () => {},
};
