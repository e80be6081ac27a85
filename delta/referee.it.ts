/** Tables of ours read by delta-rs, and tables of delta-rs read by us. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Table as ArrowTable, makeData, RecordBatch, Schema, Struct, tableToIPC } from "apache-arrow";
import { Table as ParquetTable, writeParquet } from "parquet-wasm";
import { python } from "../test/support/python.ts";
import type { Add, PartitionValues } from "./actions.ts";
import { fieldsOf, int64, utf8 } from "./arrow-columns.ts";
import { createTable } from "./create.ts";
import { openTable } from "./open.ts";
import { partitionDirectory } from "./partition-path.ts";
import { encodePath } from "./path.ts";
import { serializeSchema } from "./schema.ts";
import { mergeSchemas } from "./schema-merge.ts";
import { statsJson } from "./stats.ts";
import { localStore } from "./store/local.ts";
import type { Store } from "./store/store.ts";
import { collect, commit, committed, schema as idOnly, signal } from "./table.fixture.ts";
import type { StructType } from "./types.ts";

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "delta-referee-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Writes a data file of the given columns and says what the log must say of it. */
async function dataFile(
  store: Store,
  name: string,
  columns: Parameters<typeof fieldsOf>[0],
  partitionColumns: readonly string[] = [],
  partitionValues: PartitionValues = {},
): Promise<Add> {
  const schema = new Schema(fieldsOf(columns));
  const { length } = Object.values(columns)[0]!;
  const data = makeData({
    type: new Struct(schema.fields),
    length,
    nullCount: 0,
    children: Object.values(columns),
  });
  const ipc = tableToIPC(new ArrowTable(schema, [new RecordBatch(schema, data)]), "stream");
  const bytes = writeParquet(ParquetTable.fromIPCStream(ipc));
  const path = [partitionDirectory(partitionColumns, partitionValues), `${name}.parquet`]
    .filter(Boolean)
    .join("/");
  await store.put(path, bytes, signal);
  const stats = statsJson(
    { numRecords: length, columns: [] },
    { schema: idOnly, partitionColumns, configuration: {} },
  );
  return {
    path: encodePath(path),
    partitionValues,
    size: bytes.length,
    modificationTime: Date.now(),
    dataChange: true,
    stats,
  };
}

/** Ends Python at once: its readers' threads sometimes abort the process in an orderly exit, after all is done. */
const END = "\nsys.stdout.flush()\nimport os\nos._exit(0)\n";

const READ_ALL = `
import sys, json
from deltalake import DeltaTable
def read(**where):
    t = DeltaTable(sys.argv[1], **where)
    rows = t.to_pyarrow_table().to_pylist()
    rows.sort(key=lambda r: (r["id"] is None, r["id"]))
    return {"version": t.version(), "rows": rows, "files": len(t.files() if hasattr(t, "files") else t.file_uris()),
            "txn": {a: t.transaction_version(a) for a in sys.argv[2:]},
            "columns": [f.name for f in t.schema().fields]}
`;

type Read = {
  version: number;
  rows: Record<string, unknown>[];
  files: number;
  txn: Record<string, number>;
  columns: string[];
};

async function readByReferee(
  path: string,
  apps: string[] = [],
  script = "print(json.dumps(read(), default=str))",
): Promise<Read> {
  return JSON.parse(await python(`${READ_ALL}\n${script}${END}`, [path, ...apps])) as Read;
}

const ODD = [
  "plain",
  "with space",
  "100%",
  "%41",
  "a/b",
  "a:b",
  "q?x=1&y#z",
  "plus+plus",
  'it\'s "quoted"',
  "back\\slash",
  "äöü 日本 😀",
  "{braces}[brackets]^*",
  "tab\there",
  "__HIVE_DEFAULT_PARTITION__x",
  "..",
  "end.",
];

test("delta-rs reads odd partition values from the log and from a checkpoint", async (t) => {
  const path = await folder(t);
  const store = localStore(path);
  const schema: StructType = {
    type: "struct",
    fields: [...idOnly.fields, { name: "name_of_it", type: "string", nullable: true, metadata: {} }],
  };
  const partitionColumns = ["name_of_it"];
  const table = await createTable(store, { schema, partitionColumns, name: "odd" }, signal);
  const values: (string | null)[] = [...ODD, null];
  const adds: Add[] = [];
  for (const [id, value] of values.entries()) {
    adds.push(
      await dataFile(store, `f${id}`, { id: int64([BigInt(id)]) }, partitionColumns, { name_of_it: value }),
    );
  }
  const { snapshot } = committed(
    await commit(table, { adds, txns: [{ appId: "lab/odd-0", version: 2n ** 53n }] }),
  );
  const expected = values.map((value, id) => ({ id, name_of_it: value }));

  const fromCommits = await readByReferee(path, ["lab/odd-0"]);
  assert.deepEqual(fromCommits.rows, expected);
  assert.equal(fromCommits.txn["lab/odd-0"], 2 ** 53);

  await table.checkpoint(snapshot, signal);
  for (const version of [0, 1])
    await store.delete(`_delta_log/${String(version).padStart(20, "0")}.json`, signal);
  const fromCheckpoint = await readByReferee(path, ["lab/odd-0"]);
  assert.deepEqual(fromCheckpoint, fromCommits);
});

test("delta-rs reads an added column, removed files, and every version before and after a checkpoint", async (t) => {
  const path = await folder(t);
  const store = localStore(path);
  const table = await createTable(store, { schema: idOnly }, signal);
  const first = await dataFile(store, "a", { id: int64([1n, 2n]) });
  await commit(table, { adds: [first] });
  const latest = await table.latest(signal);
  const grown = mergeSchemas(latest.schema, {
    type: "struct",
    fields: [{ name: "note", type: "string", nullable: false, metadata: { comment: "new" } }],
  });
  await commit(table, {
    metadata: { ...latest.metadata, schemaString: serializeSchema(grown) },
    adds: [await dataFile(store, "b", { id: int64([3n]), note: utf8(["x"]) })],
  });
  for (let n = 4; n <= 12; n++) {
    const adds = [await dataFile(store, `f${n}`, { id: int64([BigInt(n)]), note: utf8([`n${n}`]) })];
    const { snapshot } = committed(await commit(table, { adds }));
    await table.maintain(snapshot, signal);
  }
  const { path: removed, partitionValues, size } = first;
  await commit(table, {
    operation: "DELETE",
    removes: [
      {
        path: removed,
        dataChange: true,
        deletionTimestamp: Date.now(),
        extendedFileMetadata: true,
        partitionValues,
        size,
      },
    ],
  });
  assert.ok(
    (await collect(store.list("_delta_log/00000000000000000010.checkpoint", { signal }))).length === 1,
  );

  const newest = await readByReferee(path);
  assert.equal(newest.version, 12);
  assert.deepEqual(newest.columns, ["id", "note"]);
  assert.deepEqual(newest.rows.slice(0, 2), [
    { id: 3, note: "x" },
    { id: 4, note: "n4" },
  ]);
  assert.equal(newest.rows.length, 10);
  for (const [version, rows] of [
    [0, 0],
    [1, 2],
    [2, 3],
    [10, 11],
    [11, 12],
  ] as const) {
    const then = await readByReferee(path, [], `print(json.dumps(read(version=${version}), default=str))`);
    assert.deepEqual([then.version, then.rows.length], [version, rows]);
  }
});

test("delta-rs appends to a table of ours and we go on after it", async (t) => {
  const path = await folder(t);
  const store = localStore(path);
  const table = await createTable(store, { schema: idOnly }, signal);
  await commit(table, {
    adds: [await dataFile(store, "a", { id: int64([1n]) })],
    txns: [{ appId: "x", version: 5n }],
  });
  await python(
    `import sys, pyarrow as pa\nfrom deltalake import write_deltalake\nwrite_deltalake(sys.argv[1], pa.table({'id': pa.array([2, 3], pa.int64())}), mode='append')${END}`,
    [path],
  );
  const { snapshot } = committed(
    await commit(table, { adds: [await dataFile(store, "b", { id: int64([4n]) })] }),
  );
  assert.equal(snapshot.version, 3);
  assert.deepEqual(
    (await readByReferee(path)).rows.map((row) => row.id),
    [1, 2, 3, 4],
  );
});

const WRITE_AND_DESCRIBE = `
import sys, json, datetime, pyarrow as pa
from deltalake import DeltaTable, write_deltalake
path = sys.argv[1]
for n in range(12):
    write_deltalake(path, pa.table({
        "id": pa.array([n, n + 1], pa.int64()),
        "day": pa.array([datetime.date(2024, 1, 1 + n % 3), None], pa.date32()),
        "who": pa.array(["a b/%ä", "" if n % 2 else "x:y"], pa.string()),
    }), partition_by=["day", "who"], mode="append")
t = DeltaTable(path)
t.create_checkpoint()
t.delete("id = 3")
t = DeltaTable(path)
actions = t.get_add_actions(flatten=True)
d = pa.table(actions).to_pylist()
print(json.dumps({"version": t.version(), "files": len(d), "bytes": sum(r["size_bytes"] for r in d),
  "partitions": sorted([[str(r["partition.day"]) if r["partition.day"] else None, r["partition.who"]] for r in d], key=str)}))
`;

test("we read a partitioned table of delta-rs, its checkpoint and the commits after it", async (t) => {
  const path = await folder(t);
  const expected = JSON.parse(await python(WRITE_AND_DESCRIBE + END, [path])) as {
    version: number;
    files: number;
    bytes: number;
    partitions: [string | null, string | null][];
  };
  const table = await openTable(localStore(path), signal);
  const snapshot = await table.latest(signal);
  assert.deepEqual(
    [snapshot.version, snapshot.numFiles, snapshot.sizeBytes],
    [expected.version, expected.files, expected.bytes],
  );
  const partitions = [...snapshot.files()].map((add) => [
    add.partitionValues.day,
    add.partitionValues.who || null,
  ]);
  const text = (list: unknown[]) => list.map((item) => JSON.stringify(item)).sort();
  assert.deepEqual(text(partitions), text(expected.partitions.map(([day, who]) => [day, who || null])));
  assert.ok([...snapshot.files()].every((add) => add.stats?.includes('"numRecords":')));
});
