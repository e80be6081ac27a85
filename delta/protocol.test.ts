import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { checkDemands, checkReadable, checkWritable, protocolFor, writerFeaturesOf } from "./protocol.ts";
import { serializeSchema } from "./schema.ts";
import { schema } from "./table.fixture.ts";
import type { StructField } from "./types.ts";

const metadata = (
  configuration: Record<string, string> = {},
  fields: readonly StructField[] = schema.fields,
): Metadata => ({
  id: "i",
  format: { provider: "parquet", options: {} },
  schemaString: serializeSchema({ type: "struct", fields }),
  partitionColumns: [],
  configuration,
});
const features = (...names: string[]): Protocol => ({
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: names,
  writerFeatures: names,
});
const refuses = (feature: string) => (error: unknown) =>
  isLabError(error, "UNSUPPORTED_FEATURE") && error.message.includes(feature);

test("reading is refused for what is not known, by name", () => {
  checkReadable({ minReaderVersion: 2, minWriterVersion: 5 }, metadata());
  checkReadable(
    features(
      "deletionVectors",
      "columnMapping",
      "timestampNtz",
      "v2Checkpoint",
      "vacuumProtocolCheck",
      "typeWidening",
    ),
    metadata(),
  );
  for (const name of ["catalogManaged", "catalogOwned-preview", "newThing"])
    assert.throws(() => checkReadable(features("deletionVectors", name), metadata()), refuses(name));
  assert.throws(
    () => checkReadable({ minReaderVersion: 4, minWriterVersion: 7 }, metadata()),
    refuses("reader version 4"),
  );
});

test("a feature of variant columns is refused where the table has such a column, at any depth, and asks nothing of one without", () => {
  const inside = { type: "map", keyType: "string", valueType: "variant", valueContainsNull: true } as const;
  for (const name of ["variantType", "variantType-preview", "variantShredding", "variantShredding-preview"]) {
    checkReadable(features(name), metadata());
    checkWritable(features(name), metadata());
    for (const type of ["variant", inside] as const) {
      const table = metadata({}, [...schema.fields, { name: "v", type, nullable: true, metadata: {} }]);
      assert.throws(() => checkReadable(features(name), table), refuses(name));
      assert.throws(() => checkWritable(features(name), table), refuses(name));
    }
  }
});

test("writing is refused for what is not known, by name", () => {
  const writer = (...writerFeatures: string[]): Protocol => ({
    minReaderVersion: 1,
    minWriterVersion: 7,
    writerFeatures,
  });
  checkWritable(
    writer("appendOnly", "checkConstraints", "generatedColumns", "domainMetadata", "inCommitTimestamp"),
    metadata(),
  );
  checkWritable({ minReaderVersion: 2, minWriterVersion: 6 }, metadata());
  for (const name of ["icebergCompatV2", "identityColumnsNew", "materializePartitionColumns"])
    assert.throws(() => checkWritable(writer(name), metadata()), refuses(name));
  assert.throws(
    () => checkWritable({ minReaderVersion: 1, minWriterVersion: 8 }, metadata()),
    refuses("writer version 8"),
  );
});

test("each writer version includes those below", () => {
  assert.deepEqual(
    [...writerFeaturesOf({ minReaderVersion: 1, minWriterVersion: 3 })],
    ["appendOnly", "invariants", "checkConstraints"],
  );
  assert.equal(
    writerFeaturesOf({ minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["x"] }).has("appendOnly"),
    false,
  );
});

test("a new table asks for no more than it uses", () => {
  assert.deepEqual(protocolFor(metadata({ "delta.appendOnly": "true" })), {
    minReaderVersion: 1,
    minWriterVersion: 2,
  });
  assert.deepEqual(protocolFor(metadata({ "delta.enableInCommitTimestamps": "true" })), {
    minReaderVersion: 1,
    minWriterVersion: 7,
    writerFeatures: ["appendOnly", "invariants", "inCommitTimestamp"],
  });
  const ntz = metadata({}, [
    { ...schema.fields[0]!, type: { type: "array", elementType: "timestamp_ntz", containsNull: true } },
  ]);
  assert.deepEqual(protocolFor(ntz), {
    minReaderVersion: 3,
    minWriterVersion: 7,
    readerFeatures: ["timestampNtz"],
    writerFeatures: ["appendOnly", "invariants", "timestampNtz"],
  });
});

test("a new table lists each feature that a property asks for", () => {
  const asked: [string, string, string][] = [
    ["delta.enableChangeDataFeed", "true", "changeDataFeed"],
    ["delta.constraints.positive", "id > 0", "checkConstraints"],
    ["delta.checkpointPolicy", "v2", "v2Checkpoint"],
    ["delta.enableDeletionVectors", "true", "deletionVectors"],
    ["delta.enableTypeWidening", "true", "typeWidening"],
  ];
  for (const [property, value, feature] of asked) {
    const protocol = protocolFor(metadata({ [property]: value }));
    checkDemands(protocol, metadata({ [property]: value }));
    checkWritable(protocol, metadata({ [property]: value }));
    assert.deepEqual(protocol.writerFeatures, ["appendOnly", "invariants", feature]);
    const isForReaders = !["changeDataFeed", "checkConstraints"].includes(feature);
    assert.deepEqual(protocol.readerFeatures, isForReaders ? [feature] : undefined);
    assert.equal(protocol.minReaderVersion, isForReaders ? 3 : 1);
  }
});

test("metadata that uses what the protocol lacks is refused", () => {
  const plain = { minReaderVersion: 1, minWriterVersion: 2 };
  checkDemands(plain, metadata({ "delta.appendOnly": "true" }));
  assert.throws(
    () => checkDemands(plain, metadata({ "delta.enableChangeDataFeed": "true" })),
    refuses("changeDataFeed"),
  );
  checkDemands(
    { minReaderVersion: 1, minWriterVersion: 4 },
    metadata({ "delta.enableChangeDataFeed": "true" }),
  );
});
