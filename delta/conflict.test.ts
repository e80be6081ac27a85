import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action, DeletionVector, Metadata, PartitionValues } from "./actions.ts";
import { conflictsOf, isBlindAppend, isolationOf, type Mine } from "./conflict.ts";
import { file, removal } from "./table.fixture.ts";

const metadata: Metadata = {
  id: "i",
  format: { provider: "parquet", options: {} },
  schemaString:
    '{"type":"struct","fields":[{"name":"i","type":"long","nullable":true,"metadata":{"delta.identity.start":1}}]}',
  partitionColumns: ["p"],
  configuration: {},
};
const protocol = { minReaderVersion: 1, minWriterVersion: 3 };
const partition = (p: string): { partitionValues: PartitionValues } => ({ partitionValues: { p } });
const readsOf = (p: string): Mine => ({ reads: { partitions: (values) => values.p === p } });
const blind: Action = { commitInfo: { isBlindAppend: true } };
const notBlind: Action = { commitInfo: { isBlindAppend: false } };
const add = (name: string, p = "1"): Action => ({ add: file(name, partition(p)) });
const remove = (name: string, p = "1"): Action => ({ remove: removal(name, partition(p)) });

const looked = (p: string, ...files: string[]): Mine => ({
  reads: { partitions: (values) => values.p === p, files: new Set(files) },
  removes: [removal("mine", partition(p))],
});
const moved = (name: string): Action => ({ remove: removal(name, { ...partition("1"), dataChange: false }) });
const vector = (inline: string): DeletionVector => ({
  storageType: "i",
  pathOrInlineDv: inline,
  sizeInBytes: 1,
  cardinality: 1n,
});
/** The metadata after identity values were given out. */
const identity = (highWaterMark: number): Metadata => ({
  ...metadata,
  schemaString: JSON.stringify({
    type: "struct",
    fields: [
      {
        name: "i",
        type: "long",
        nullable: true,
        metadata: { "delta.identity.start": 1, "delta.identity.highWaterMark": highWaterMark },
      },
    ],
  }),
});
const metadata2: Metadata = { ...metadata, name: "other" };

type Case = [
  what: string,
  mine: Mine,
  winner: Action[],
  expected: string | undefined,
  isolation?: "Serializable" | "WriteSerializable",
];

const append: Mine = { adds: [file("mine", partition("1"))] };
const compaction: Mine = {
  removes: [removal("old", { dataChange: false })],
  adds: [file("new", { dataChange: false })],
};

const cases: Case[] = [
  ["append and append", append, [blind, add("a")], undefined],
  ["append and append, strictest isolation", append, [blind, add("a")], undefined, "Serializable"],
  ["append and delete", append, [notBlind, remove("a")], undefined],
  ["append and overwrite", append, [notBlind, remove("a"), add("b")], undefined],
  ["append and change of schema", append, [{ metaData: metadata2 }], "metadata"],
  [
    "append and an upgrade of the protocol",
    append,
    [{ protocol: { minReaderVersion: 1, minWriterVersion: 4 } }],
    undefined,
  ],
  [
    "append and a feature that was dropped",
    append,
    [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }],
    "protocol",
  ],
  ["two changes of the protocol", { protocol }, [{ protocol }], "protocol"],
  ["two changes of the schema", { metadata }, [{ metaData: metadata }], "metadata"],
  ["a change of schema that read nothing and an append", { metadata }, [blind, add("a")], undefined],
  [
    "a change of schema that read the table and an append",
    { metadata, reads: "table" },
    [blind, add("a")],
    "append",
  ],
  [
    "one transaction id twice",
    { txns: [{ appId: "x", version: 1n }] },
    [{ txn: { appId: "x", version: 9n } }],
    "txn",
  ],
  [
    "two transaction ids",
    { txns: [{ appId: "x", version: 1n }] },
    [{ txn: { appId: "y", version: 9n } }],
    undefined,
  ],
  [
    "one domain twice",
    { domains: [{ domain: "d", configuration: "", removed: false }] },
    [{ domainMetadata: { domain: "d", configuration: "", removed: true } }],
    "domain",
  ],
  [
    "two domains",
    { domains: [{ domain: "d", configuration: "", removed: false }] },
    [{ domainMetadata: { domain: "e", configuration: "", removed: true } }],
    undefined,
  ],
  [
    "a reader of the table and a blind append",
    { reads: "table", removes: [removal("x")] },
    [blind, add("a")],
    undefined,
  ],
  [
    "a reader of the table and a blind append, serializable",
    { reads: "table", removes: [removal("x")] },
    [blind, add("a")],
    "append",
    "Serializable",
  ],
  ["a reader of the table and rewritten rows", { reads: "table" }, [notBlind, add("a")], "append"],
  ["a reader of the table and a commit that does not say", { reads: "table" }, [add("a")], "append"],
  ["a reader of the table and a removal", { reads: "table" }, [notBlind, remove("a")], "removed"],
  [
    "a reader of one partition and rows for another",
    readsOf("1"),
    [notBlind, add("a", "2"), remove("b", "2")],
    undefined,
  ],
  ["a reader of one partition and rows for it", readsOf("1"), [notBlind, add("a", "1")], "append"],
  ["a reader of one partition and a removal from it", readsOf("1"), [notBlind, remove("a", "1")], "removed"],
  [
    "a reader of one partition and a removal from who knows where",
    readsOf("1"),
    [{ remove: { path: "a", dataChange: true } }],
    "removed",
  ],
  ["two removals of one file", { removes: [removal("a")] }, [notBlind, remove("a")], "removed"],
  [
    "two removals of one file, spelled differently",
    { removes: [removal("file:/t/a%20b")] },
    [{ remove: removal("a b") }],
    "removed",
  ],
  ["a compaction and an append", compaction, [blind, add("a")], undefined],
  [
    "a compaction that read the table and rewritten rows",
    { ...compaction, reads: "table" },
    [notBlind, add("a")],
    undefined,
  ],
  ["a compaction and the removal of what it compacts", compaction, [notBlind, remove("old")], "removed"],
  [
    "a compaction and a new deletion vector of what it compacts",
    compaction,
    [
      {
        remove: removal("old", {
          deletionVector: { storageType: "i", pathOrInlineDv: "x", sizeInBytes: 1, cardinality: 1n },
        }),
      },
      { add: file("old") },
    ],
    "removed",
  ],
  // Files that were looked into, beside the partitions that rows were looked for in.
  ["a delete and a removal of a file it looked into", looked("1", "a"), [notBlind, remove("a")], "removed"],
  [
    "a delete and a removal of a file it looked into, spelled differently",
    looked("1", "a b"),
    [notBlind, remove("file:/t/a%20b")],
    "removed",
  ],
  [
    "a delete and a removal of a file of its partition that statistics ruled out",
    looked("1", "a"),
    [notBlind, remove("b")],
    undefined,
  ],
  ["a delete and a blind append to its partition", looked("1", "a"), [blind, add("n")], undefined],
  [
    "a delete and a blind append to its partition, serializable",
    looked("1", "a"),
    [blind, add("n")],
    "append",
    "Serializable",
  ],
  ["a delete and an update of its partition", looked("1", "a"), [notBlind, remove("b"), add("n")], "append"],
  [
    "a delete and an update of another partition",
    looked("1", "a"),
    [notBlind, remove("b", "2"), add("n", "2")],
    undefined,
  ],
  ["two deletes of other files", looked("1", "a"), [notBlind, remove("b")], undefined],
  [
    "a merge by files alone and rows it did not look for",
    { reads: { files: new Set(["a"]) } },
    [notBlind, add("n")],
    undefined,
  ],
  [
    "a delete and a compaction of other files",
    looked("1", "a"),
    [notBlind, moved("b"), { add: file("n", { ...partition("1"), dataChange: false }) }],
    undefined,
    "Serializable",
  ],
  [
    "a delete and a compaction of a file it looked into",
    looked("1", "a"),
    [notBlind, moved("a"), { add: file("n", { ...partition("1"), dataChange: false }) }],
    "removed",
  ],
  [
    "a reader of the table and a compaction",
    { reads: "table", removes: [removal("x")] },
    [notBlind, moved("a"), { add: file("n", { dataChange: false }) }],
    "removed",
  ],
  [
    "a reader of the table and adds that claim to change no data, with nothing removed",
    { reads: "table", removes: [removal("x")] },
    [notBlind, { add: file("n", { dataChange: false }) }],
    "append",
  ],
  [
    "an overwrite and an append that was no blind one",
    { reads: "table", removes: [removal("x")] },
    [notBlind, add("n")],
    "append",
  ],
  [
    "an overwrite of one partition and an update of another",
    { ...readsOf("1"), removes: [removal("x", partition("1"))] },
    [notBlind, remove("b", "2"), add("n", "2")],
    undefined,
  ],
  // Compactions.
  [
    "a compaction and a delete elsewhere in what it read",
    { ...compaction, ...readsOf("1") },
    [notBlind, remove("a")],
    undefined,
    "Serializable",
  ],
  ["two compactions of other files", compaction, [notBlind, moved("b"), add("n")], undefined],
  ["two compactions of one file", compaction, [notBlind, moved("old")], "removed"],
  ["a compaction and a change of schema", compaction, [{ metaData: metadata2 }], "metadata"],
  // Files that are live already and added again.
  [
    "new statistics of a file and its removal",
    { adds: [file("a", { dataChange: false })] },
    [notBlind, remove("a")],
    "removed",
  ],
  ["new statistics of a file by two", { adds: [file("a", { dataChange: false })] }, [add("a")], "append"],
  [
    "two deletion vectors of one file",
    { removes: [removal("a")], adds: [file("a", { deletionVector: vector("y") })] },
    [notBlind, remove("a"), { add: file("a", { deletionVector: vector("x") }) }],
    "removed",
  ],
  [
    "a deletion vector and the removal of its file",
    { removes: [removal("a")], adds: [file("a", { deletionVector: vector("y") })] },
    [notBlind, remove("a")],
    "removed",
  ],
  [
    "the removal of a file and a deletion vector of it",
    { removes: [removal("a")] },
    [notBlind, remove("a"), { add: file("a", { deletionVector: vector("x") }) }],
    "removed",
  ],
  [
    "the removal of a file and new statistics of it",
    { removes: [removal("a")] },
    [{ commitInfo: {} }, { add: file("a", { dataChange: false }) }],
    undefined,
  ],
  // Metadata and protocol.
  ["a change of schema and a delete", { metadata }, [notBlind, remove("a")], undefined],
  [
    "a change of schema that read a partition and an append to another",
    { metadata, ...readsOf("1") },
    [blind, add("a", "2")],
    undefined,
  ],
  [
    "a change of schema that read a partition and an append to it",
    { metadata, ...readsOf("1") },
    [blind, add("a")],
    "append",
  ],
  [
    "append and another property",
    append,
    [{ metaData: { ...metadata, configuration: { x: "y" } } }],
    "metadata",
  ],
  [
    "append and identity values that were given out",
    append,
    [{ metaData: identity(7) }, add("a")],
    undefined,
  ],
  [
    "append and identity values with another schema",
    append,
    [{ metaData: { ...identity(7), name: "n" } }],
    "metadata",
  ],
  [
    "a change of schema and identity values that were given out",
    { metadata: identity(1) },
    [{ metaData: identity(7) }],
    "metadata",
  ],
  [
    "a change of the protocol and an append",
    { protocol: { minReaderVersion: 1, minWriterVersion: 4 } },
    [blind, add("a")],
    undefined,
  ],
  [
    "append and features in a list that says the same as the version",
    append,
    [
      {
        protocol: {
          minReaderVersion: 1,
          minWriterVersion: 7,
          writerFeatures: ["appendOnly", "invariants", "checkConstraints", "x"],
        },
      },
    ],
    undefined,
  ],
  [
    "append and a list that lacks a feature of the version",
    append,
    [
      {
        protocol: { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["appendOnly", "invariants"] },
      },
    ],
    "protocol",
  ],
  // Transactions.
  ["a transaction that was looked at", { readTxns: ["x"] }, [{ txn: { appId: "x", version: 9n } }], "txn"],
  [
    "a transaction that was not looked at",
    { readTxns: ["x"] },
    [{ txn: { appId: "y", version: 9n } }],
    undefined,
  ],
  [
    "row ids that were given out",
    append,
    [blind, { domainMetadata: { domain: "delta.rowTracking", configuration: "", removed: false } }],
    undefined,
  ],
  ["append and an empty commit", append, [{ commitInfo: {} }], undefined],
];

for (const [what, mine, winner, expected, isolation = "WriteSerializable"] of cases) {
  test(`${what}: ${expected ?? "both may stand"}`, () => {
    // WriteSerializable is what a table has without the property.
    const configuration: Record<string, string> =
      isolation === "Serializable" ? { "delta.isolationLevel": isolation } : {};
    const context = { root: "file:///t", protocol, metadata: { ...metadata, configuration } };
    const conflict = conflictsOf(mine, context)(winner);
    assert.equal(conflict?.reason, expected);
  });
}

test("a commit that changes no data needs the snapshot only; others what the table says", () => {
  const strict = { ...metadata, configuration: { "delta.isolationLevel": "Serializable" } };
  assert.equal(isolationOf(compaction, strict), "SnapshotIsolation");
  assert.equal(isolationOf(append, strict), "Serializable");
  assert.equal(isolationOf(append, metadata), "WriteSerializable");
  assert.equal(isolationOf({ txns: [] }, metadata), "WriteSerializable");
});

test("a blind append has only adds and read nothing", () => {
  assert.equal(isBlindAppend(append), true);
  assert.equal(isBlindAppend({ ...append, reads: "table" }), false);
  assert.equal(isBlindAppend(compaction), false);
  assert.equal(isBlindAppend({ ...append, reads: {} }), false);
  assert.equal(isBlindAppend({ ...append, txns: [{ appId: "x", version: 1n }], readTxns: ["y"] }), true);
});
