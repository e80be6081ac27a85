import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { collect, commit, committed, file, quick, removal, schema, signal } from "../delta/table.fixture.ts";
import type { Snapshot } from "../delta/table.ts";
import { restoreTable } from "./restore.ts";

const DAY = { name: "day", type: "integer", nullable: true, metadata: {} } as const;

async function table(t: TestContext, over: Partial<Parameters<typeof createTable>[1]> = {}) {
  const store = memoryStore({ name: t.name });
  const made = await createTable(store, { schema, ...over }, signal, quick);
  return {
    store,
    made,
    async write(add?: string, remove?: string, more: object = {}) {
      if (add !== undefined) await store.put(add, Buffer.from("1234567890"), signal);
      return committed(
        await commit(made, {
          ...(add === undefined ? {} : { adds: [file(add, { stats: '{"numRecords":2}' })] }),
          ...(remove === undefined ? {} : { removes: [removal(remove)] }),
          ...more,
        }),
      ).snapshot;
    },
  };
}

const live = (snapshot: Snapshot) => [...snapshot.files()].map(({ path }) => path).sort();

test("a restore brings back what went and takes out what came, in one commit that history explains", async (t) => {
  const { made, write } = await table(t);
  await write("a");
  await write("b");
  await write("c", "a");
  const result = await restoreTable(made, { to: { version: 2 } }, signal);
  assert.deepEqual(
    [result.restored, result.version, result.files, result.rows],
    [2, 4, { restored: 1, removed: 1 }, { restored: 2n, removed: 2n }],
  );
  assert.deepEqual(live(await made.latest(signal)), ["a", "b"]);
  const [entry] = await collect(made.history({ limit: 1, signal }));
  assert.deepEqual(
    [entry?.operation, entry?.rowsAdded, entry?.rowsRemoved, entry?.commitInfo?.operationParameters],
    ["RESTORE", 2n, 2n, { version: "2" }],
  );
  assert.equal(entry?.commitInfo?.operationMetrics?.numOfFilesAfterRestore, "2");
  // And back again.
  await restoreTable(made, { to: { version: 3 } }, signal);
  assert.deepEqual(live(await made.latest(signal)), ["b", "c"]);
});

test("a restore by time takes the version of that time", async (t) => {
  let nowMs = 1_000_000;
  const now = () => nowMs;
  const store = memoryStore({ name: t.name, now });
  const made = await createTable(store, { schema }, signal, { ...quick, now });
  for (const path of ["a", "b"]) {
    nowMs += 1000;
    await store.put(path, Buffer.from("x"), signal);
    committed(await commit(made, { adds: [file(path)] }));
  }
  assert.equal((await restoreTable(made, { to: { timestampMs: 1_001_500 }, now }, signal)).restored, 1);
  assert.deepEqual(live(await made.latest(signal)), ["a"]);
});

test("a table that is in that state already gets no new version", async (t) => {
  const { made, write } = await table(t);
  await write("a");
  assert.equal((await restoreTable(made, { to: { version: 1 } }, signal)).version, null);
  assert.equal((await made.latest(signal)).version, 1);
});

test("files that are gone are counted before anything is written", async (t) => {
  const { made, store, write } = await table(t);
  for (const path of ["a", "b", "c"]) await write(path);
  for (const path of ["a", "b", "c"]) await write(undefined, path);
  await store.delete("a", signal);
  await store.delete("b", signal);
  await assert.rejects(
    restoreTable(made, { to: { version: 3 } }, signal),
    (error) => isLabError(error, "DATA_FILE_MISSING") && /2 of the 3 files/.test(error.message),
  );
  assert.equal((await made.latest(signal)).version, 6);
});

test("schema and properties come back; the protocol and the highest column id never fall", async (t) => {
  const { made, write } = await table(t);
  const before = await write("a");
  const protocol = {
    minReaderVersion: 1,
    minWriterVersion: 7,
    writerFeatures: ["appendOnly", "invariants", "domainMetadata"],
  };
  const metadata = {
    ...before.metadata,
    schemaString: JSON.stringify({
      type: "struct",
      fields: [...schema.fields, { name: "n", type: "long", nullable: true, metadata: {} }],
    }),
    configuration: { "delta.checkpointInterval": "7", "delta.columnMapping.maxColumnId": "9" },
  };
  await write(undefined, undefined, { protocol, metadata });
  const { hasMetadata } = await restoreTable(made, { to: { version: 1 } }, signal);
  const latest = await made.latest(signal);
  assert.equal(hasMetadata, true);
  assert.deepEqual(latest.schema, schema);
  assert.deepEqual(latest.metadata.configuration, { "delta.columnMapping.maxColumnId": "9" });
  assert.deepEqual(latest.protocol, protocol);
});

test("features that were dropped since come back with the files that may need them", async (t) => {
  const { made, write } = await table(t);
  const rich = {
    minReaderVersion: 3,
    minWriterVersion: 7,
    readerFeatures: ["deletionVectors"],
    writerFeatures: ["deletionVectors", "appendOnly"],
  };
  await write("a", undefined, { protocol: rich });
  await write("b", "a", {
    protocol: { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["domainMetadata"] },
  });
  await restoreTable(made, { to: { version: 1 } }, signal);
  const { protocol } = await made.latest(signal);
  assert.deepEqual(
    [protocol.minReaderVersion, protocol.readerFeatures, [...(protocol.writerFeatures ?? [])].sort()],
    [3, ["deletionVectors"], ["appendOnly", "deletionVectors", "domainMetadata"]],
  );
});

test("an append-only table refuses a restore that removes rows, whatever the older version allowed", async (t) => {
  const { made, write } = await table(t);
  await write("a");
  const latest = await write("b");
  const metadata = { ...latest.metadata, configuration: { "delta.appendOnly": "true" } };
  await write(undefined, undefined, { metadata });
  await assert.rejects(restoreTable(made, { to: { version: 1 } }, signal), (error) =>
    isLabError(error, "APPEND_ONLY"),
  );
});

test("deletion vectors come back with their file, in one remove and one add", async (t) => {
  const vector = {
    storageType: "i" as const,
    pathOrInlineDv: "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    sizeInBytes: 40,
    cardinality: 6n,
  };
  const { made, write } = await table(t);
  const protocol = {
    minReaderVersion: 3,
    minWriterVersion: 7,
    readerFeatures: ["deletionVectors"],
    writerFeatures: ["deletionVectors"],
  };
  await write("a", undefined, { protocol });
  committed(await commit(made, { removes: [removal("a")], adds: [file("a", { deletionVector: vector })] }));
  await restoreTable(made, { to: { version: 1 } }, signal);
  assert.deepEqual(
    [...(await made.latest(signal)).files()].map(({ deletionVector }) => deletionVector),
    [undefined],
  );
  await restoreTable(made, { to: { version: 2 } }, signal);
  assert.deepEqual(
    [...(await made.latest(signal)).files()].map(({ deletionVector }) => deletionVector),
    [vector],
  );
});

/** A table over the same store, before whose commits `before` runs: a writer that is always a little faster. */
function slower(store: Store, before: (attempt: number) => Promise<void>) {
  let attempts = 0;
  const racing: Store = {
    ...store,
    async putIfAbsent(path, body, abort) {
      await before(++attempts);
      return store.putIfAbsent(path, body, abort);
    },
  };
  return openTable(racing, signal, quick);
}

test("rows that others append meanwhile stay, as if appended afterwards", async (t) => {
  const { made, store, write } = await table(t);
  await write("a");
  await write("b");
  const racing = await slower(store, async (attempt) => {
    if (attempt === 1) committed(await commit(made, { adds: [file("meanwhile")] }));
  });
  assert.equal((await restoreTable(racing, { to: { version: 1 } }, signal)).version, 4);
  assert.deepEqual(live(await made.latest(signal)), ["a", "meanwhile"]);
});

test("a restore that lost to a removal is decided anew", async (t) => {
  const { made, store, write } = await table(t);
  await write("a");
  await write("b");
  const racing = await slower(store, async (attempt) => {
    if (attempt === 1) committed(await commit(made, { removes: [removal("b")], reads: "table" }));
  });
  assert.deepEqual((await restoreTable(racing, { to: { version: 1 } }, signal)).version, null);
  assert.deepEqual(live(await made.latest(signal)), ["a"]);
});

test("a restore that always loses ends with a conflict", async (t) => {
  const { made, store, write } = await table(t);
  await write("a");
  await write("b");
  const racing = await slower(store, async (attempt) => {
    await write(`x${attempt}`);
    committed(await commit(made, { removes: [removal(`x${attempt}`)], reads: "table" }));
  });
  await assert.rejects(restoreTable(racing, { to: { version: 1 } }, signal), (error) =>
    isLabError(error, "COMMIT_CONFLICT"),
  );
});

const lab = (generation: number, ...ranges: [partition: number, first: string, last: string][]) => ({
  lab: {
    v: 1,
    app: "lab",
    generation,
    partitions: ranges.map(([partition, first, last]) => ({ topic: "t", partition, first, last })),
  },
});
const txn = (partition: number, version: bigint) => ({ appId: `lab/t-${partition}`, version });

/** A stream of Spark whose id happens to end in digits. */
const SPARK = "0a1b2c3d-0000-4000-8000-123456789012";

test("transactions stay after a restore, and rewound ones are those of then", async (t) => {
  const { made, write } = await table(t);
  await write("a", undefined, {
    txns: [txn(0, 4n), { appId: "lab/upkeep", version: 1n }, { appId: SPARK, version: 1n }],
    info: lab(0, [0, "0", "4"]),
  });
  await write("b", undefined, {
    txns: [txn(0, 9n), txn(1, 19n), txn(2, 5n)],
    info: lab(0, [0, "5", "9"], [1, "15", "19"]),
  });
  await write("c", undefined, {
    txns: [txn(1, 29n), { appId: "lab/upkeep", version: 2n }, { appId: SPARK, version: 9n }],
    info: lab(0, [1, "20", "29"]),
  });
  await restoreTable(made, { to: { version: 1 } }, signal);
  assert.equal((await made.latest(signal)).txn("lab/t-0"), 9n);
  const { rewound } = await restoreTable(made, { to: { version: 1 }, rewindOffsets: true }, signal);
  assert.deepEqual(rewound, [
    { appId: "lab/t-0", from: 9n, to: 4n },
    // Not there then: back to before the first offset that was read of it, or to the topic's start.
    { appId: "lab/t-1", from: 29n, to: 14n },
    { appId: "lab/t-2", from: 5n, to: -1n },
  ]);
  const latest = await made.latest(signal);
  assert.deepEqual(
    [0, 1, 2].map((p) => latest.txn(`lab/t-${p}`)),
    [4n, 14n, -1n],
  );
  assert.deepEqual([latest.txn("lab/upkeep"), latest.txn(SPARK)], [2n, 9n], "those of others stay");
});

test("offsets of a topic that was made anew since are not brought back", async (t) => {
  const { made, write } = await table(t);
  await write("a", undefined, { txns: [txn(0, 300n)], info: lab(0, [0, "0", "300"]) });
  await write("b", undefined, { txns: [txn(0, 900n)], info: lab(1, [0, "0", "900"]) });
  await assert.rejects(restoreTable(made, { to: { version: 1 }, rewindOffsets: true }, signal), (error) =>
    isLabError(error, "TOPIC_RESET"),
  );
  assert.equal((await made.latest(signal)).version, 2);
});

test("a restore brings back a file of whose partition values another writer left out the nulls", async (t) => {
  const one = await table(t, {
    schema: { ...schema, fields: [...schema.fields, DAY] },
    partitionColumns: ["day"],
  });
  await one.write("a", undefined, { adds: [file("a", { partitionValues: { day: "1" } })] });
  await one.store.put("b", Buffer.from("1234567890"), signal);
  await one.store.put(
    "_delta_log/00000000000000000002.json",
    Buffer.from(JSON.stringify({ add: file("b") })),
    signal,
  );
  await one.write(undefined, "b");
  await restoreTable(one.made, { to: { version: 2 } }, signal);
  const files = [...(await one.made.latest(signal)).files()];
  assert.deepEqual(files.map(({ path, partitionValues }) => [path, partitionValues]).sort(), [
    ["a", { day: "1" }],
    ["b", { day: null }],
  ]);
});
