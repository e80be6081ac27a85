/** Which tables may be read and written here, and which protocol a new table needs (PROTOCOL.md, "Table Features"). */

import { LabError } from "../core/errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { parseSchema } from "./schema.ts";
import { placesOf } from "./schema-places.ts";

/** Reader features that a snapshot may carry; what a scan needs of them is the scan's to do or refuse. */
const READABLE = new Set([
  "columnMapping",
  "deletionVectors",
  "timestampNtz",
  "typeWidening",
  "typeWidening-preview",
  "v2Checkpoint",
  "vacuumProtocolCheck",
]);

/** Features that are about columns of one type alone: a table that lists them and has no such column is read as if it did not. */
const OF_TYPE: ReadonlyMap<string, string> = new Map([
  ["variantType", "variant"],
  ["variantType-preview", "variant"],
  ["variantShredding", "variant"],
  ["variantShredding-preview", "variant"],
]);

/** Writer features that are honoured, or of which what is asked of a commit is checked there (`writer-duties`). */
const WRITABLE = new Set([
  "appendOnly",
  "changeDataFeed",
  "checkConstraints",
  "checkpointProtection",
  "clustering",
  "columnMapping",
  "deletionVectors",
  "domainMetadata",
  "generatedColumns",
  "identityColumns",
  "inCommitTimestamp",
  "invariants",
  "rowTracking",
  "allowColumnDefaults",
  "timestampNtz",
  "typeWidening",
  "typeWidening-preview",
  "v2Checkpoint",
  "vacuumProtocolCheck",
]);

/** What each writer version below 7 stands for, beyond the version before. */
const LEGACY_WRITER: readonly (readonly string[])[] = [
  [],
  [],
  ["appendOnly", "invariants"],
  ["checkConstraints"],
  ["changeDataFeed", "generatedColumns"],
  ["columnMapping"],
  ["identityColumns"],
];

/** UNSUPPORTED_FEATURE, naming it, where the table may not be read here. CORRUPT_LOG where versions and lists disagree. */
export function checkReadable(protocol: Protocol, metadata: Metadata): void {
  const { minReaderVersion, readerFeatures } = protocol;
  if (minReaderVersion > 3) throw unsupported(`reader version ${minReaderVersion}`, "read");
  if (minReaderVersion === 3 && !readerFeatures)
    throw new LabError("CORRUPT_LOG", "the protocol has reader version 3 and no readerFeatures");
  for (const feature of readerFeatures ?? [])
    if (!READABLE.has(feature) && !isIdle(feature, metadata)) throw unsupported(feature, "read");
}

/** Whether a feature asks nothing of a table with these columns. */
function isIdle(feature: string, { schemaString }: Metadata): boolean {
  const about = OF_TYPE.get(feature);
  if (about === undefined) return false;
  for (const { type } of placesOf(parseSchema(schemaString))) if (type === about) return false;
  return true;
}

/** UNSUPPORTED_FEATURE, naming it, where a commit from here could break the table, whatever it is. Includes the read gate. */
export function checkWritable(protocol: Protocol, metadata: Metadata): void {
  checkReadable(protocol, metadata);
  if (protocol.minWriterVersion > 7)
    throw unsupported(`writer version ${protocol.minWriterVersion}`, "written");
  for (const feature of writerFeaturesOf(protocol))
    if (!WRITABLE.has(feature) && !isIdle(feature, metadata)) throw unsupported(feature, "written");
}

/** UNSUPPORTED_FEATURE where new metadata uses what the protocol does not list. */
export function checkDemands(protocol: Protocol, metadata: Metadata): void {
  const features = writerFeaturesOf(protocol);
  for (const [feature, cause] of demanded(metadata)) {
    if (!features.has(feature))
      throw new LabError(
        "UNSUPPORTED_FEATURE",
        `${cause} needs table feature ${feature}, which the protocol lacks`,
        {
          hint: "add the feature to the protocol in the same commit",
          details: { feature, cause },
        },
      );
  }
}

/** All writer features, those that a version below 7 stands for included. */
export function writerFeaturesOf(protocol: Protocol): Set<string> {
  if (protocol.minWriterVersion >= 7) return new Set(protocol.writerFeatures ?? []);
  return new Set(LEGACY_WRITER.slice(0, protocol.minWriterVersion + 1).flat());
}

/** Whether a table property and its feature are both on. */
export function isActive(protocol: Protocol, metadata: Metadata, property: string, feature: string): boolean {
  return metadata.configuration[property] === "true" && writerFeaturesOf(protocol).has(feature);
}

/** The lowest protocol for a new table: reader 1 and writer 2, which every engine knows, unless it asks for more. */
export function protocolFor(metadata: Metadata): Protocol {
  const features = new Set([...demanded(metadata)].map(([feature]) => feature));
  features.delete("appendOnly");
  if (features.size === 0) return { minReaderVersion: 1, minWriterVersion: 2 };
  const readerFeatures = [...features].filter((feature) => READABLE.has(feature));
  return {
    minReaderVersion: readerFeatures.length > 0 ? 3 : 1,
    minWriterVersion: 7,
    ...(readerFeatures.length > 0 ? { readerFeatures } : {}),
    writerFeatures: ["appendOnly", "invariants", ...features],
  };
}

const PROPERTY_FEATURES: readonly (readonly [property: string, value: string, feature: string])[] = [
  ["delta.appendOnly", "true", "appendOnly"],
  ["delta.enableChangeDataFeed", "true", "changeDataFeed"],
  ["delta.enableDeletionVectors", "true", "deletionVectors"],
  ["delta.enableInCommitTimestamps", "true", "inCommitTimestamp"],
  ["delta.enableRowTracking", "true", "rowTracking"],
  ["delta.enableTypeWidening", "true", "typeWidening"],
  ["delta.checkpointPolicy", "v2", "v2Checkpoint"],
  ["delta.columnMapping.mode", "name", "columnMapping"],
  ["delta.columnMapping.mode", "id", "columnMapping"],
];

/** Features that properties and column types ask for, with what asks. */
function demanded(metadata: Metadata): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const [property, value, feature] of PROPERTY_FEATURES) {
    if (metadata.configuration[property] === value) wanted.set(feature, property);
  }
  for (const key of Object.keys(metadata.configuration)) {
    if (key.startsWith("delta.constraints.")) wanted.set("checkConstraints", key);
  }
  for (const { path, type } of placesOf(parseSchema(metadata.schemaString))) {
    if (type === "timestamp_ntz") wanted.set("timestampNtz", `column ${path.join(".")}`);
    if (type === "variant") wanted.set("variantType", `column ${path.join(".")}`);
  }
  return wanted;
}

/** The refusal that names a feature, or a use of it. */
export function unsupported(feature: string, verb: "read" | "written"): LabError {
  return new LabError(
    "UNSUPPORTED_FEATURE",
    `the table needs ${feature} to be ${verb}, which is not supported`,
    {
      hint: "use another engine for this table, or drop the feature there",
      details: { feature },
    },
  );
}
