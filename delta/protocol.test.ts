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
  checkReadable({ minReaderVersion: 2, minWriterVersion: 5 });
  checkReadable(
    features(
      "deletionVectors",
      "columnMapping",
      "timestampNtz",
      "v2Checkpoint",
      "vacuumProtocolCheck",
      "typeWidening",
    ),
  );
  for (const name of [
    "variantType",
    "variantShredding-preview",
    "catalogManaged",
    "catalogOwned-preview",
    "newThing",
  ])
    assert.throws(() => checkReadable(features("deletionVectors", name)), refuses(name));
  assert.throws(
    () => checkReadable({ minReaderVersion: 4, minWriterVersion: 7 }),
    refuses("reader version 4"),
  );
});

test("writing is refused for what is not known or not done, by name", () => {
  const writer = (...writerFeatures: string[]): Protocol => ({
    minReaderVersion: 1,
    minWriterVersion: 7,
    writerFeatures,
  });
  checkWritable(
    writer("appendOnly", "checkConstraints", "generatedColumns", "domainMetadata", "inCommitTimestamp"),
    metadata(),
  );
  for (const name of ["rowTracking", "icebergCompatV2", "identityColumnsNew", "clustering"])
    assert.throws(() => checkWritable(writer(name), metadata()), refuses(name));
  assert.throws(
    () => checkWritable({ minReaderVersion: 1, minWriterVersion: 8 }, metadata()),
    refuses("writer version 8"),
  );
});

test("a feature that is only listed does not hinder; one that is in use does", () => {
  const legacy = { minReaderVersion: 2, minWriterVersion: 6 };
  checkWritable(legacy, metadata());
  const withField = (key: string) => metadata({}, [{ ...schema.fields[0]!, metadata: { [key]: "x" } }]);
  const uses: [Metadata, string][] = [
    [metadata({ "delta.constraints.positive": "id > 0" }), "checkConstraints"],
    [metadata({ "delta.columnMapping.mode": "name" }), "columnMapping"],
    [withField("delta.invariants"), "invariants"],
    [withField("delta.generationExpression"), "generatedColumns"],
    [withField("delta.identity.start"), "identityColumns"],
  ];
  for (const [used, feature] of uses)
    assert.throws(() => checkWritable(legacy, used), refuses(feature), feature);
  checkWritable(
    { minReaderVersion: 1, minWriterVersion: 2 },
    metadata({ "delta.constraints.positive": "id > 0" }),
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
