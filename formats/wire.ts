/** How the values of a topic are written: its format, and where that format's schemas come from. Plain data. */

import type { Tombstones } from "./tombstones.ts";

/** `json`: one object a value; `ndjson`: several; `text` and `bytes`: as they are. */
export const FORMATS = ["json", "ndjson", "csv", "avro", "protobuf", "text", "bytes"] as const;
export type Format = (typeof FORMATS)[number];

/**
 * `none`: messages tell, or the table. `registry`: each value names its schema by id. `file`: a file of the format's own language, or, of
 * Avro, a folder of them, one of which each value names by fingerprint.
 */
export type SchemaSource = { kind: "none" } | { kind: "registry" } | { kind: "file"; path: string };

export type Wire = {
  format: Format;
  schemas: SchemaSource;
  /** Name of the Protobuf message in the file; needed where it has several. */
  message?: string;
  csv: { header: boolean; delimiter: string };
  /** Absent: what the format does by itself. Of `text` and `bytes` null values are rows, of others dead letters. */
  tombstones?: Tombstones;
};
