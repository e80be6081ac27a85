/** The decoder of a topic's format. */

import { statSync } from "node:fs";
import { LabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";
import type { Decoder } from "./decoder.ts";
import { createJsonLinesDecoder } from "./json-lines.ts";
import type { Registry } from "./registry.ts";
import { withTombstones } from "./tombstones.ts";
import type { Wire } from "./wire.ts";

export type DecoderSources = {
  /** Null where none is configured. */
  registry: Registry | null;
  /** Columns that a schema file of the table gives, or the table itself; null where nothing does. */
  columns: StructType | null;
};

/**
 * What reads a topic's values; null where they are what the encoder reads. Schemas in files are read here. CONFIG_INVALID where there is no
 * registry and the format needs one; SCHEMA_NOT_FOUND, SCHEMA_INVALID for a schema file that is none.
 */
export async function openDecoder(
  wire: Wire,
  sources: DecoderSources,
  signal: AbortSignal,
): Promise<Decoder | null> {
  const decoder = await formatDecoder(wire, sources, signal);
  const isText = wire.format === "text" || wire.format === "bytes";
  const { tombstones = isText ? "row" : "deadletter" } = wire;
  return tombstones === (isText ? "row" : "deadletter") ? decoder : withTombstones(decoder, tombstones);
}

async function formatDecoder(
  wire: Wire,
  sources: DecoderSources,
  signal: AbortSignal,
): Promise<Decoder | null> {
  const { format, schemas } = wire;
  const registry = () => {
    if (sources.registry) return sources.registry;
    throw new LabError(
      "CONFIG_INVALID",
      `messages of format ${format} name schemas of a registry, and none is given`,
      {
        hint: "say where it is: --registry-url URL, or kafka: { registry: { url: ... } } in lab.yaml",
      },
    );
  };
  // Libraries are loaded where they are needed: a stream of JSON starts without any of them.
  switch (format) {
    case "json": {
      if (schemas.kind !== "registry") return null;
      const { createRegistryJsonSchemaDecoder } = await import("./json-schema.ts");
      return createRegistryJsonSchemaDecoder(registry());
    }
    case "ndjson":
      return createJsonLinesDecoder();
    case "csv": {
      const { createCsvDecoder } = await import("./csv.ts");
      return createCsvDecoder({ ...wire.csv, columns: sources.columns });
    }
    case "avro": {
      const { createAvroDecoder } = await import("./avro.ts");
      if (schemas.kind !== "file")
        return createAvroDecoder({ framing: "confluent", registry: registry() }, signal);
      const isFolder = statSync(schemas.path, { throwIfNoEntry: false })?.isDirectory() ?? false;
      return isFolder
        ? createAvroDecoder({ framing: "single-object", schemas: schemas.path }, signal)
        : createAvroDecoder({ framing: "plain", schema: schemas.path }, signal);
    }
    case "protobuf": {
      const { createProtobufDecoder, createRegistryProtobufDecoder } = await import("./protobuf.ts");
      if (schemas.kind !== "file") return createRegistryProtobufDecoder(registry());
      const { readProtobufSource } = await import("./protobuf-file.ts");
      return createProtobufDecoder(readProtobufSource(schemas.path, wire.message));
    }
    case "text":
    case "bytes":
      return null;
  }
}
