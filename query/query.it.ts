import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { openStore } from "../delta/store/open.ts";
import { python } from "../test/support/python.ts";
import { s3Env, sharedS3 } from "../test/support/s3.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { writeResult } from "./formats/format.ts";
import { openQuery } from "./query.ts";
import { openSandbox } from "./sandbox.ts";

const signal = new AbortController().signal;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "query-it-"));
});

after(async () => {
  await rm(folder, { recursive: true });
});

const MAKE = `
import sys, json, datetime as dt, decimal
import pyarrow as pa
from deltalake import write_deltalake, DeltaTable
uri = sys.argv[1]
utc = dt.timezone.utc
def rows(start, n, **more):
    ids = list(range(start, start + n))
    columns = {
        "id": pa.array(ids, pa.int64()),
        "small": pa.array([i % 100 if i % 7 else None for i in ids], pa.int16()),
        "price": pa.array([decimal.Decimal(i).scaleb(-2) for i in ids], pa.decimal128(20, 2)),
        "at": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, i, utc) for i in ids], pa.timestamp("us", "UTC")),
        "wall": pa.array([dt.datetime(2024, 2, 29, 12, 0, 0, i) for i in ids], pa.timestamp("us")),
        "day": pa.array([dt.date(2024, 1, 1 + i % 3) if i % 5 else None for i in ids], pa.date32()),
        "region": pa.array([["a b", "x/y=%", "", None][i % 4] for i in ids], pa.string()),
        "nested": pa.array([{"x": i, "list": [{"y": str(i)}, None]} for i in ids], pa.struct([("x", pa.int32()), ("list", pa.list_(pa.struct([("y", pa.string())])))])),
        "bytes": pa.array([bytes([i % 256]) for i in ids], pa.binary()),
        "flag": pa.array([i % 2 == 0 for i in ids], pa.bool_()),
    }
    columns.update({k: pa.array(v(ids), t) for k, (t, v) in more.items()})
    return pa.table(columns)
write_deltalake(uri, rows(0, 50), partition_by=["region", "day"])
write_deltalake(uri, rows(50, 50, note=(pa.string(), lambda ids: ["n%d" % i for i in ids])), mode="append", schema_mode="merge")
DeltaTable(uri).delete("id % 10 = 3")
DeltaTable(uri).optimize.compact()
def text(v):
    if isinstance(v, dt.datetime): return v.strftime("%Y-%m-%dT%H:%M:%S.%f") + ("Z" if v.tzinfo else "")
    if isinstance(v, dt.date): return v.isoformat()
    if isinstance(v, decimal.Decimal): return str(v)
    if isinstance(v, bytes):
        import base64; return base64.b64encode(v).decode()
    return v
out = []
for version in range(4):
    table = DeltaTable(uri, version=version)
    names = [f.name for f in table.schema().fields]
    rows = table.to_pyarrow_table().sort_by("id").to_pylist()
    out.append([[text(row[n]) if n != "id" else str(row[n]) for n in names] for row in rows])
print(json.dumps(out))
`;

test("every version of a table that deltalake wrote is row for row what deltalake reads", async () => {
  const uri = join(folder, "python");
  const expected = JSON.parse(await python(MAKE, [uri])) as unknown[][][];
  const query = openQuery({ store: folder });
  try {
    for (const [version, rows] of expected.entries()) {
      const answer = await query.query(`SELECT * FROM python AT (VERSION => ${version}) ORDER BY id`, {
        signal,
      });
      assert.deepEqual(answer.rows, rows, `version ${version}`);
    }
    const { columns } = await query.query("FROM python LIMIT 0", { signal });
    assert.deepEqual(Object.fromEntries(columns.map(({ name, type }) => [name, type])), {
      id: "BIGINT",
      small: "SMALLINT",
      price: "DECIMAL(20,2)",
      at: "TIMESTAMP WITH TIME ZONE",
      wall: "TIMESTAMP",
      day: "DATE",
      region: "VARCHAR",
      nested: 'STRUCT("x" INTEGER, "list" STRUCT("y" VARCHAR)[])',
      bytes: "BLOB",
      flag: "BOOLEAN",
      note: "VARCHAR",
    });
  } finally {
    await query.close();
  }
});

test("Arrow output is read by pyarrow with exact types and values", async () => {
  const query = openQuery({ store: folder });
  const file = join(folder, "rows.arrow");
  const pieces: Buffer[] = [];
  const running = await query.start("SELECT * FROM python ORDER BY id", { signal });
  await writeResult(
    running,
    "arrow",
    { write: async (piece) => void pieces.push(Buffer.from(piece as Uint8Array)) },
    { width: undefined, color: false },
  );
  await running.close();
  await query.close();
  await writeFile(file, Buffer.concat(pieces));
  const report = await python(
    `
import sys, json, pyarrow as pa
from deltalake import DeltaTable
ours = pa.ipc.open_stream(sys.argv[1]).read_all()
theirs = DeltaTable(sys.argv[2]).to_pyarrow_table().sort_by("id").select(ours.column_names)
print(json.dumps({"equal": ours.cast(theirs.schema).equals(theirs), "types": {f.name: str(f.type) for f in ours.schema}}))
`,
    [file, join(folder, "python")],
  );
  const { equal, types } = JSON.parse(report);
  assert.equal(equal, true);
  assert.deepEqual(
    [types.id, types.small, types.price, types.at, types.wall, types.day],
    ["int64", "int16", "decimal128(20, 2)", "timestamp[us, tz=UTC]", "timestamp[us]", "date32[day]"],
  );
});

test("tables on S3 are listed, read through the cache, and asked from the sandbox", async () => {
  const server = await sharedS3();
  Object.assign(process.env, s3Env(server));
  const root = `s3://${server.bucket}/some tables`;
  const store = await openStore(`${root}/remote`, { signal });
  const { append } = await sqlTable(store, { id: "long", p: "string" }, { partitionColumns: ["p"] });
  await append({ select: "SELECT range AS id FROM range(10)", partitionValues: { p: "x" } });
  const second = await append({
    select: "SELECT 10 + range AS id FROM range(5)",
    partitionValues: { p: null },
  });
  const cache = { folder: join(folder, "cache"), maxBytes: 10_000_000 };
  const query = openQuery({ store: root, cache });
  const sandbox = openSandbox({ store: root, cache });
  try {
    assert.deepEqual(await query.catalog.names(signal), ["remote"]);
    const all = "SELECT p, count(*), sum(id)::BIGINT FROM remote GROUP BY p ORDER BY p";
    const expected = [
      ["x", "10", "45"],
      [null, "5", "60"],
    ];
    assert.deepEqual((await query.query(all, { signal })).rows, expected);
    assert.deepEqual((await sandbox.run(all, { signal })).rows, expected);
    assert.deepEqual((await sandbox.run("SELECT count(*) FROM remote AT (VERSION => 1)", { signal })).rows, [
      ["10"],
    ]);
    await store.delete(second!.path, signal);
    assert.deepEqual((await query.query(all, { signal })).rows, expected, "what is cached needs no store");
    const fresh = openQuery({ store: root, cache: { ...cache, folder: join(folder, "empty") } });
    await assert.rejects(fresh.query(all, { signal }), (error) => isLabError(error, "DATA_FILE_MISSING"));
    await fresh.close();
    await assert.rejects(query.query("FROM remot", { signal }), (error) =>
      isLabError(error, "TABLE_NOT_FOUND"),
    );
  } finally {
    await sandbox.close();
    await query.close();
    await store.close();
  }
});
