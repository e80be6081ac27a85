/** What one version of a table is: schema, files, properties, txns. */

import type { Add } from "../delta/actions.ts";
import { rowsOf } from "../delta/file-totals.ts";
import type { Snapshot } from "../delta/table.ts";
import type { DataType } from "../delta/types.ts";
import { momentText } from "./dates.ts";

/** `type` in Delta's words, such as `long` or `struct<topic: string>`. */
export type SchemaField = { name: string; type: string; nullable: boolean };

export type FileEntry = {
  /** As the log writes it: percent-encoded. */
  path: string;
  sizeBytes: string;
  rows: string | null;
  partition: Record<string, string | null>;
};

export type VersionDetail = {
  table: string;
  version: number;
  timestamp: string;
  /** Rows of this version by statistics; null where they do not say. */
  rows: string | null;
  numFiles: number;
  sizeBytes: string;
  partitionColumns: string[];
  schema: SchemaField[];
  /** The first `maxFiles`; `numFiles` counts all. */
  files: FileEntry[];
  properties: Record<string, string>;
  protocol: { minReaderVersion: number; minWriterVersion: number; features: string[] };
  txns: { appId: string; version: string }[];
};

export function describeVersion(name: string, snapshot: Snapshot, maxFiles: number): VersionDetail {
  const { protocol, metadata } = snapshot;
  const files: FileEntry[] = [];
  for (const add of snapshot.files()) {
    if (files.length === maxFiles) break;
    files.push(fileEntry(add, rowsOf(add)));
  }
  return {
    table: name,
    version: snapshot.version,
    timestamp: momentText(snapshot.timestampMs),
    rows: snapshot.liveRows()?.toString() ?? null,
    numFiles: snapshot.numFiles,
    sizeBytes: String(snapshot.sizeBytes),
    partitionColumns: [...snapshot.partitionColumns],
    schema: snapshot.schema.fields.map(({ name: field, type, nullable }) => ({
      name: field,
      type: typeText(type),
      nullable,
    })),
    files,
    properties: { ...metadata.configuration },
    protocol: {
      minReaderVersion: protocol.minReaderVersion,
      minWriterVersion: protocol.minWriterVersion,
      features: [...new Set([...(protocol.readerFeatures ?? []), ...(protocol.writerFeatures ?? [])])].sort(),
    },
    txns: [...snapshot.txns().values()]
      .map(({ appId, version }) => ({ appId, version: version.toString() }))
      .sort((a, b) => (a.appId < b.appId ? -1 : 1)),
  };
}

/** A type in Delta's words, in one line. */
export function typeText(type: DataType): string {
  if (typeof type === "string") return type;
  if (type.type === "array") return `array<${typeText(type.elementType)}>`;
  if (type.type === "map") return `map<${typeText(type.keyType)}, ${typeText(type.valueType)}>`;
  return `struct<${type.fields.map((field) => `${field.name}: ${typeText(field.type)}`).join(", ")}>`;
}

function fileEntry(add: Add, rows: bigint | undefined): FileEntry {
  return {
    path: add.path,
    sizeBytes: String(add.size),
    rows: rows?.toString() ?? null,
    partition: { ...add.partitionValues },
  };
}
