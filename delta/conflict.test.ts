import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action, Metadata, PartitionValues } from "./actions.ts";
import { checkConflict, type IsolationLevel, isBlindAppend, isolationOf, type Mine } from "./conflict.ts";
import { file, removal } from "./table.fixture.ts";

const metadata: Metadata = {
  id: "i",
  format: { provider: "parquet", options: {} },
  schemaString: '{"type":"struct","fields":[]}',
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

type Case = [
  what: string,
  mine: Mine,
  winner: Action[],
  expected: string | undefined,
  isolation?: IsolationLevel,
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
  ["append and change of schema", append, [{ metaData: metadata }], "metadata"],
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
  ["a compaction and an append", compaction, [blind, add("a")], undefined, "SnapshotIsolation"],
  [
    "a compaction that read the table and rewritten rows",
    { ...compaction, reads: "table" },
    [notBlind, add("a")],
    undefined,
    "SnapshotIsolation",
  ],
  [
    "a compaction and the removal of what it compacts",
    compaction,
    [notBlind, remove("old")],
    "removed",
    "SnapshotIsolation",
  ],
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
    "SnapshotIsolation",
  ],
];

for (const [what, mine, winner, expected, isolation = "WriteSerializable"] of cases) {
  test(`${what}: ${expected ?? "both may stand"}`, () => {
    const conflict = checkConflict(mine, winner, { root: "file:///t", protocol, isolation });
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
});
