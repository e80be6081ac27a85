import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Action, Add, DeletionVector, Remove } from "../delta/actions.ts";
import { serializeCommit } from "../delta/commit-file.ts";
import { commitPath } from "../delta/log-names.ts";
import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import { openEngine } from "../engine/instance.ts";
import { canonicalRow } from "./canonical.ts";
import { readChanges } from "./changes.ts";
import { openQuery } from "./query.ts";

const signal = new AbortController().signal;

/** Inline vectors: rows 0, 1, 4, 5 of a file, and rows 0, 1, 4, 5, 7. */
const FOUR: DeletionVector = {
  storageType: "i",
  pathOrInlineDv: "^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9",
  sizeInBytes: 40,
  cardinality: 4n,
};

/** A table that is written by hand: `commit` writes the next version, `changes` reads the feed without its times. */
async function setUp(t: TestContext, fields = '{"name":"id","type":"long","nullable":true,"metadata":{}}') {
  const folder = await mkdtemp(join(tmpdir(), "changes-"));
  const store = localStore(join(folder, "t"));
  const engine = await openEngine({
    memoryLimitBytes: 500_000_000,
    threads: 1,
    tempDir: null,
    preserveOrder: true,
  });
  const query = openQuery({ store: folder });
  t.after(async () => {
    engine.close();
    await query.close();
    await rm(folder, { recursive: true });
  });
  let version = 0;
  const commit = async (...actions: Action[]) => {
    const time = { commitInfo: { timestamp: 1_700_000_000_000 + version, inCommitTimestamp: version } };
    await store.put(commitPath(version++), serializeCommit([time, ...actions]), signal);
  };
  const features = ["deletionVectors", "changeDataFeed"];
  await commit(
    {
      protocol: {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ["deletionVectors"],
        writerFeatures: features,
      },
    },
    {
      metaData: {
        id: "t",
        format: { provider: "parquet", options: {} },
        schemaString: `{"type":"struct","fields":[${fields}]}`,
        partitionColumns: fields.includes('"p"') ? ["p"] : [],
        configuration: {},
      },
    },
  );
  return {
    commit,
    async write(path: string, select: string, over: Partial<Add> = {}): Promise<Add> {
      const file = store.localPath!(path);
      await engine.run(`COPY (${select}) TO '${file}' (FORMAT parquet)`);
      return { path, partitionValues: {}, size: 1, modificationTime: 1, dataChange: true, ...over };
    },
    async changes(from: number, to: number): Promise<string[]> {
      const found: string[] = [];
      const table = await openTable(store, signal);
      for await (const { columns, rows } of readChanges(query.context, table, { from, to, signal })) {
        const canonical = canonicalRow(columns.map((column) => column.type));
        for (const row of rows) found.push(canonical(row));
      }
      return found;
    },
  };
}

function removed({ path, partitionValues, size, deletionVector }: Add): Remove {
  return { path, partitionValues, size, dataChange: true, ...(deletionVector ? { deletionVector } : {}) };
}

test("versions without change files are told by their files, with the time of the commit", async (t) => {
  const { commit, write, changes } = await setUp(t);
  const a = await write("a.parquet", "SELECT unnest([1, 2])::BIGINT AS id");
  const b = await write("b.parquet", "SELECT 3::BIGINT AS id");
  await commit({ add: a });
  await commit({ add: b }, { remove: removed(a) });
  await commit(
    { remove: { ...removed(b), dataChange: false } },
    { add: { ...b, path: "b.parquet", dataChange: false } },
  );
  assert.deepEqual(await changes(1, 3), [
    '["1","insert","1","1970-01-01T00:00:00.001000Z"]',
    '["2","insert","1","1970-01-01T00:00:00.001000Z"]',
    '["1","delete","2","1970-01-01T00:00:00.002000Z"]',
    '["2","delete","2","1970-01-01T00:00:00.002000Z"]',
    '["3","insert","2","1970-01-01T00:00:00.002000Z"]',
  ]);
  assert.deepEqual(await changes(0, 0), []);
  await assert.rejects(changes(2, 9), (error) => isLabError(error, "VERSION_NOT_FOUND"));
});

/** Without versions and times, sorted: the order of rows within a version is not promised. */
const types = (rows: string[]) => rows.map((row) => row.replace(/,"\d+","[^"]*"\]$/, "]")).sort();

test("a version with change files is told by these alone", async (t) => {
  const { commit, write, changes } = await setUp(t);
  const a = await write("a.parquet", "SELECT unnest([1, 2])::BIGINT AS id");
  const cdc = await write(
    "c.parquet",
    "SELECT unnest([2, 9])::BIGINT AS id, unnest(['update_preimage', 'update_postimage']) AS _change_type",
  );
  await commit({ add: a });
  const { path, partitionValues, size } = cdc;
  await commit({ remove: removed(a) }, { cdc: { path, partitionValues, size, dataChange: false } });
  assert.deepEqual(types(await changes(2, 2)), ['["2","update_preimage"]', '["9","update_postimage"]']);
});

test("a new deletion vector deletes what it takes out beyond the old one, and the other way round", async (t) => {
  const { commit, write, changes } = await setUp(t);
  const a = await write("a.parquet", "SELECT range::BIGINT AS id FROM range(8)");
  const struck = { ...a, deletionVector: FOUR };
  await commit({ add: a });
  await commit({ remove: removed(a) }, { add: struck });
  await commit({ remove: removed(struck) }, { add: a });
  await commit({ remove: removed(a) }, { add: struck });
  await commit({ remove: removed(struck) });
  const four = (type: string) => [0, 1, 4, 5].map((id) => `["${id}","${type}"]`);
  assert.deepEqual(types(await changes(2, 2)), four("delete"));
  assert.deepEqual(types(await changes(3, 3)), four("insert"));
  assert.deepEqual(
    types(await changes(5, 5)),
    [2, 3, 6, 7].map((id) => `["${id}","delete"]`),
  );
});

test("a removal that does not say its partition has that of the file it removes", async (t) => {
  const field = (name: string, type: string) =>
    `{"name":"${name}","type":"${type}","nullable":true,"metadata":{}}`;
  const { commit, write, changes } = await setUp(t, `${field("id", "long")},${field("p", "string")}`);
  const a = await write("a.parquet", "SELECT 1::BIGINT AS id", { partitionValues: { p: "x" } });
  await commit({ add: a });
  await commit({ remove: { path: a.path, dataChange: true } });
  assert.deepEqual(types(await changes(2, 2)), ['["1","x","delete"]']);
});
