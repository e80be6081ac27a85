import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, isLabError, LabError } from "../core/errors.ts";
import { createTable, type NewTable } from "./create.ts";
import { commitPath } from "./log-names.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { collect, commit, file, quick, schema, signal } from "./table.fixture.ts";

test("a new table is readable by every engine, and says what it was made with", async () => {
  const fields = [...schema.fields, { name: "day", type: "date" as const, nullable: true, metadata: {} }];
  const table = await createTable(
    memoryStore(),
    {
      schema: { type: "struct", fields },
      partitionColumns: ["day"],
      configuration: { "delta.appendOnly": "true" },
      name: "orders",
      txns: [{ appId: "x", version: 4n }],
      adds: [file("day=2024-01-01/a", { partitionValues: { day: "2024-01-01" } })],
      info: { lab: { v: 1 } },
    },
    signal,
  );
  const snapshot = await table.latest(signal);
  assert.deepEqual(snapshot.protocol, { minReaderVersion: 1, minWriterVersion: 2 });
  assert.deepEqual(snapshot.schema.fields, fields);
  assert.deepEqual(snapshot.partitionColumns, ["day"]);
  assert.deepEqual(
    [snapshot.version, snapshot.numFiles, snapshot.txn("x"), snapshot.metadata.name],
    [0, 1, 4n, "orders"],
  );
  const [info] = await table.commitActions(0, signal);
  assert.deepEqual("commitInfo" in info! && [info.commitInfo.operation, info.commitInfo.lab], [
    "CREATE TABLE",
    { v: 1 },
  ]);
});

const refused: [string, NewTable, ErrorCode][] = [
  ["without columns", { schema: { type: "struct", fields: [] } }, "SCHEMA_MISMATCH"],
  ["with a partition column that is none", { schema, partitionColumns: ["x"] }, "SCHEMA_MISMATCH"],
  [
    "with a property of nonsense",
    { schema, configuration: { "delta.checkpointInterval": "x" } },
    "CONFIG_INVALID",
  ],
  [
    "with column mapping",
    { schema, configuration: { "delta.columnMapping.mode": "name" } },
    "UNSUPPORTED_FEATURE",
  ],
  [
    "with row tracking",
    { schema, configuration: { "delta.enableRowTracking": "true" } },
    "UNSUPPORTED_FEATURE",
  ],
  [
    "with a constraint and rows that nobody promised to fulfil it",
    { schema, configuration: { "delta.constraints.c": "id > 0" }, adds: [file("a")] },
    "UNSUPPORTED_FEATURE",
  ],
];
for (const [what, table, code] of refused) {
  test(`a table ${what} is refused before anything is written`, async () => {
    const store = memoryStore();
    await assert.rejects(createTable(store, table, signal), (error) => isLabError(error, code));
    assert.deepEqual(await collect(store.list("", { signal })), []);
  });
}

test("a table whose first version was cleaned up is still there", async () => {
  const store = memoryStore();
  const table = await createTable(store, { schema }, signal);
  await commit(table, {});
  await table.checkpoint(await table.latest(signal), signal);
  await store.delete(commitPath(0), signal);
  await assert.rejects(createTable(store, { schema }, signal), (error) => isLabError(error, "TABLE_EXISTS"));
});

test("a creation whose reply is lost is found to be ours", async () => {
  const real = memoryStore();
  const store: Store = {
    ...real,
    async putIfAbsent(path, body, given) {
      await real.putIfAbsent(path, body, given);
      throw new LabError("STORE_UNREACHABLE", "cut");
    },
  };
  const table = await createTable(store, { schema }, signal, quick);
  assert.equal((await table.latest(signal)).version, 0);
});
