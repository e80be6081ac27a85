import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, truncate, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Add } from "../delta/actions.ts";
import { commitPath } from "../delta/log-names.ts";
import { localStore } from "../delta/store/local.ts";
import type { DataType } from "../delta/types.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import type { Problem } from "./findings.ts";
import { type KeyRange, suspects } from "./row-keys.ts";
import { verifyTable } from "./verify.ts";

const { signal } = new AbortController();

/** A table in a folder, with a way to break it and to look at what is found. */
async function table(t: TestContext, columns: Record<string, DataType> = { id: "long" }) {
  const folder = await mkdtemp(join(tmpdir(), "verify-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const made = await sqlTable(folder, columns);
  const verify = (version?: number) =>
    verifyTable(
      localStore(folder),
      {
        version,
        reading: {
          memoryLimitBytes: 500_000_000,
          threads: 1,
          tempDir: join(folder, ".spill"),
          cache: () => Promise.reject(new Error("local tables need none")),
        },
      },
      signal,
    );
  const edit = async (path: string, change: (text: string) => string) =>
    writeFile(join(folder, path), change(await readFile(join(folder, path), "utf8")));
  return {
    ...made,
    folder,
    verify,
    edit,
    /** Rewrites the statistics that version `version` gives its one file. */
    async editStats(version: number, change: (stats: Record<string, unknown>) => object) {
      await edit(commitPath(version), (text) =>
        text
          .split("\n")
          .map((line) => {
            const action = line === "" ? {} : JSON.parse(line);
            if (!action.add) return line;
            action.add.stats = JSON.stringify(change(JSON.parse(action.add.stats)));
            return JSON.stringify(action);
          })
          .join("\n"),
      );
    },
    async found(problem: Problem, pattern: RegExp, file?: string) {
      const { damage } = await verify();
      assert.equal(damage.count, 1, JSON.stringify(damage.listed));
      const [finding] = damage.listed;
      assert.equal(finding?.problem, problem);
      assert.match(finding?.message ?? "", pattern);
      if (file !== undefined) assert.equal(finding?.file, file);
      assert.notEqual(finding?.hint, "");
    },
  };
}

const rows = (count: number) => `SELECT i::BIGINT AS id FROM range(${count}) t(i)`;

test("a whole table has no damage; rows are counted by reading them", async (t) => {
  const { append, verify, table: made } = await table(t);
  const first = await append({ select: rows(10) });
  await append({ select: rows(5), removes: [first!] });
  await made.checkpoint(await made.latest(signal), signal);
  await append({ select: rows(3) });
  const result = await verify();
  assert.deepEqual(
    [
      result.version,
      result.files,
      result.rows,
      result.damage.count,
      result.notes.count,
      result.orphans.files,
    ],
    [3, 2, 8n, 0, 0, 0],
  );
  assert.deepEqual(result.log, { oldest: 0, newest: 3, commits: 4, checkpoints: 1, checksums: 0 });
  assert.equal((await verify(1)).rows, 10n);
});

test("a data file that is gone, or of another size, is named", async (t) => {
  const { append, found, folder } = await table(t);
  const add = (await append({ select: rows(10) }))!;
  await append({ select: rows(10) });
  await truncate(join(folder, add.path), add.size - 1);
  await found("size", new RegExp(`${add.size - 1} bytes, the log says ${add.size}`), add.path);
  await unlink(join(folder, add.path));
  await found("missing", /does not exist/, add.path);
});

test("a data file whose bytes changed is found among others, by itself", async (t) => {
  const { append, found, folder } = await table(t);
  for (let i = 0; i < 3; i++) await append({ select: rows(1000) });
  const add = (await append({ select: rows(1000) }))!;
  const bytes = await readFile(join(folder, add.path));
  await writeFile(join(folder, add.path), bytes.fill(0xff, 4, 200));
  await found("unreadable", /cannot be read/, add.path);
});

test("a row count that is not that of the file is told", async (t) => {
  const { append, found, editStats } = await table(t);
  await append({ select: rows(10) });
  await editStats(1, (stats) => ({ ...stats, numRecords: 11 }));
  await found("rows", /has 10 rows, the log says 11/);
});

test("statistics that do not hold what is in the file are told, each kind", async (t) => {
  const { append, found, editStats, verify } = await table(t, {
    id: "long",
    s: { type: "struct", fields: [{ name: "x", type: "string", nullable: true, metadata: {} }] },
    price: "decimal(38,18)",
    at: "timestamp",
    f: "double",
  });
  await append({
    select: `SELECT i::BIGINT AS id, {x: 'k' || i} AS s, 12345678901234567890.123456789012345678::DECIMAL(38,18) AS price,
      TIMESTAMPTZ '2024-01-01 00:00:00.000999Z' AS at, CASE WHEN i = 1 THEN 'nan' ELSE '2.5' END::DOUBLE AS f FROM range(3) t(i)`,
  });
  const right = {
    numRecords: 3,
    minValues: { id: 0, s: { x: "k0" }, price: 1, at: "2024-01-01T00:00:00.000Z", f: 2.5 },
    maxValues: { id: 2, s: { x: "k2" }, at: "2024-01-01T00:00:00.000Z", f: 2.5 },
    nullCount: { id: 0, s: { x: 0 }, price: 0, at: 0, f: 0 },
  };
  await editStats(1, () => right);
  assert.deepEqual((await verify()).damage.listed, [], "times are cut to ms, NaN is in no statistics");
  await editStats(1, () => ({ ...right, nullCount: { ...right.nullCount, s: { x: 1 } } }));
  await found("statistics", /column s\.x has 0 nulls, the log says 1/);
  await editStats(1, () => ({ ...right, minValues: { ...right.minValues, id: 1 } }));
  await found("statistics", /column id holds 0, below the minimum/);
  await editStats(1, () => ({ ...right, maxValues: { ...right.maxValues, s: { x: "k1" } } }));
  await found("statistics", /column s\.x holds k2, above the maximum/);
  await editStats(1, () => ({ ...right, maxValues: { ...right.maxValues, at: "2023-12-31T23:59:59.000Z" } }));
  await found("statistics", /column at holds .* above the maximum/);
  // Wide bounds: the null count says nothing, the bounds must hold all the same.
  const wide = { ...right, tightBounds: false, nullCount: { ...right.nullCount, id: 2 } };
  await editStats(1, () => wide);
  assert.equal((await verify()).damage.count, 0);
  await editStats(1, () => ({ ...wide, maxValues: { id: 1 } }));
  await found("statistics", /column id holds 2, above the maximum/);
});

test("the digits of a decimal bound count, all of them", async (t) => {
  const { append, found, edit, verify } = await table(t, { price: "decimal(38,18)" });
  await append({ select: "SELECT 12345678901234567890.123456789012345678::DECIMAL(38,18) AS price" });
  const withMax = (digits: string) =>
    edit(commitPath(1), (text) =>
      text.replace(
        /"stats":"(?:[^"\\]|\\.)*"/,
        `"stats":${JSON.stringify(`{"numRecords":1,"maxValues":{"price":${digits}}}`)}`,
      ),
    );
  await withMax("12345678901234567890.123456789012345678");
  assert.equal((await verify()).damage.count, 0);
  await withMax("12345678901234567890.123456789012345677");
  await found("statistics", /above the maximum/);
});

test("a commit that is missing, cut off or not JSON is named, and what is behind it is still looked at", async (t) => {
  const { append, found, edit, folder, verify, table: made } = await table(t);
  for (let i = 0; i < 3; i++) await append({ select: rows(2) });
  await made.checkpoint(await made.latest(signal), signal);
  await append({ select: rows(2) });
  const whole = await readFile(join(folder, commitPath(2)), "utf8");
  await edit(commitPath(2), (text) => text.slice(0, text.length - 20));
  await found("commit", /00000000000000000002\.json, line/, commitPath(2));
  await unlink(join(folder, commitPath(2)));
  await found("commit", /version 2 is missing/, commitPath(2));
  await writeFile(join(folder, commitPath(2)), whole);
  assert.equal((await verify()).damage.count, 0);
});

test("a log that leads nowhere is damage, not a failure", async (t) => {
  const { append, verify, folder } = await table(t);
  for (let i = 0; i < 3; i++) await append({ select: rows(2) });
  await unlink(join(folder, commitPath(2)));
  const { version, damage } = await verify();
  assert.equal(version, null);
  assert.deepEqual(
    damage.listed.map(({ problem }) => problem),
    ["commit", "unreadable"],
  );
});

test("a checkpoint that cannot be read, or holds another state, is named", async (t) => {
  const { append, found, folder, table: made, edit } = await table(t);
  const checkpoint = "_delta_log/00000000000000000002.checkpoint.parquet";
  for (let i = 0; i < 2; i++) await append({ select: rows(2) });
  await made.checkpoint(await made.latest(signal), signal);
  const whole = await readFile(join(folder, checkpoint));
  await writeFile(join(folder, checkpoint), "garbage");
  await found("checkpoint", /cannot be read/, checkpoint);
  await writeFile(join(folder, checkpoint), whole);
  // The commit now gives its file another name than the checkpoint has.
  await edit(commitPath(2), (text) => text.replace(/part-(\d+)\.parquet/, "./part-$1.parquet"));
  await found("checkpoint", /other files: it lacks \.\/part/, checkpoint);
});

test("a checkpoint without a transaction that the commits hold is named", async (t) => {
  const { append, found, table: made, edit } = await table(t);
  await append({ select: rows(2) });
  await made.checkpoint(await made.latest(signal), signal);
  await edit(
    commitPath(1),
    (text) => `${text}${JSON.stringify({ txn: { appId: "lab/t-0", version: 7 } })}\n`,
  );
  await found("checkpoint", /another version of transaction lab\/t-0/);
});

test("a checksum file that disagrees is named; a pointer to nothing heals itself", async (t) => {
  const { append, found, verify, folder } = await table(t);
  const add = (await append({ select: rows(2) }))!;
  const file = "_delta_log/00000000000000000001.crc";
  const checksum = { tableSizeBytes: add.size, numFiles: 1, numMetadata: 1, numProtocol: 1 };
  await writeFile(join(folder, file), JSON.stringify(checksum));
  await writeFile(join(folder, "_delta_log/_last_checkpoint"), '{"version":1,"size":3}');
  const { damage, notes, log } = await verify();
  assert.deepEqual(
    [damage.count, log.checksums, notes.listed[0]?.file],
    [0, 1, "_delta_log/_last_checkpoint"],
  );
  await writeFile(join(folder, file), JSON.stringify({ ...checksum, numFiles: 2 }));
  await found("checksum", /2 files instead of 1/, file);
  await writeFile(join(folder, file), "{");
  await found("checksum", /cannot be read/, file);
});

test("in-commit timestamps that do not increase are named", async (t) => {
  const { append, found, edit, table: made } = await table(t);
  const { metadata } = await made.latest(signal);
  const protocol = { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["inCommitTimestamp"] };
  const configuration = { "delta.enableInCommitTimestamps": "true" };
  await edit(commitPath(0), (text) =>
    text
      .split("\n")
      .map((line) => {
        if (line.startsWith('{"commitInfo"'))
          return line.replace("{", "{").replace('"timestamp"', '"inCommitTimestamp":1000,"timestamp"');
        if (line.startsWith('{"protocol"')) return JSON.stringify({ protocol });
        return line.startsWith('{"metaData"')
          ? JSON.stringify({ metaData: { ...metadata, configuration } })
          : line;
      })
      .join("\n"),
  );
  await append({ select: rows(2) });
  await edit(commitPath(1), (text) => text.replace('"timestamp"', '"inCommitTimestamp":1000,"timestamp"'));
  await found("time", /1000 is not after/, commitPath(1));
});

const WITH_VECTORS = {
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: ["deletionVectors"],
  writerFeatures: ["deletionVectors"],
};
/** Takes out rows 0, 1, 4 and 5. */
const VECTOR = {
  storageType: "i",
  pathOrInlineDv: "^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9",
  sizeInBytes: 40,
  cardinality: 4,
};

test("a deletion vector that is damaged or takes out rows that are not there is named", async (t) => {
  const { append, found, edit } = await table(t);
  await append({ select: rows(2) });
  const withVector = (change: object) =>
    edit(commitPath(1), (text) =>
      text
        .split("\n")
        .map((line) => {
          const action = line === "" ? {} : JSON.parse(line);
          if (!action.add) return line;
          action.add.deletionVector = { ...VECTOR, ...change };
          return JSON.stringify(action);
        })
        .join("\n"),
    );
  await edit(commitPath(0), (text) =>
    text.replace(/\{"protocol".*\}/, JSON.stringify({ protocol: WITH_VECTORS })),
  );
  await withVector({});
  await found("deletion-vector", /takes out row 5 of 2/);
  await withVector({ cardinality: 5 });
  await found("deletion-vector", /has 4 rows, not 5/);
});

test("rows that a deletion vector takes out are not counted, and the statistics are those of the whole file", async (t) => {
  const { append, edit, verify } = await table(t);
  await append({ select: rows(40) });
  await edit(commitPath(0), (text) =>
    text.replace(/\{"protocol".*\}/, JSON.stringify({ protocol: WITH_VECTORS })),
  );
  await edit(commitPath(1), (text) =>
    text.replace('{"add":{', `{"add":{"deletionVector":${JSON.stringify(VECTOR)},`),
  );
  const { damage, rows: counted } = await verify();
  assert.deepEqual([damage.listed, counted], [[], 36n]);
});

test("files that no version names are listed with size and age, and are no damage", async (t) => {
  const { append, verify, folder } = await table(t);
  const add = (await append({ select: rows(2) }))!;
  await append({ select: rows(2), removes: [add] });
  await writeFile(join(folder, "stray.parquet"), "x");
  await writeFile(join(folder, ".hidden"), "x");
  const { damage, orphans } = await verify();
  assert.equal(damage.count, 0);
  assert.deepEqual(
    orphans.listed.map(({ path, size }) => [path, size]),
    [["stray.parquet", 1]],
  );
});

const kafkaRows = (from: number, to: number, partition = 0) =>
  `SELECT i::BIGINT AS id, {topic: 't', "partition": ${partition}, "offset": i::BIGINT, "timestamp": NULL::TIMESTAMPTZ, timestamp_type: 'create',
    key: NULL::BLOB, headers: NULL::STRUCT("key" VARCHAR, "value" BLOB)[], generation: 0} AS _kafka FROM range(${from}, ${to}) r(i)`;

test("a Kafka record that stands in two rows is found, in one file and across files", async (t) => {
  const columns = { id: "long" as const, _kafka: KAFKA_FIELD.type };
  const { append, found, verify, table: made } = await table(t, columns);
  await append({ select: kafkaRows(0, 100) });
  await append({ select: kafkaRows(100, 200) });
  await append({ select: kafkaRows(50, 150, 1) });
  assert.equal((await verify()).damage.count, 0);
  const twice = (await append({ select: kafkaRows(150, 153) }))!;
  await found("duplicate", /^3 rows .* such as t-0 offset 15[012]/);
  await made.commit(
    {
      readSnapshot: await made.latest(signal),
      operation: "DELETE",
      removes: [{ ...twice, deletionTimestamp: 1 }],
    },
    signal,
  );
  await append({ select: `${kafkaRows(300, 310)} UNION ALL ${kafkaRows(305, 306)}` });
  await found("duplicate", /^1 rows .* t-0 offset 305/);
});

test("only files whose offsets meet are looked at row by row", () => {
  const range = (
    name: string,
    key: string,
    first: bigint,
    last: bigint,
    hasDuplicates = false,
  ): KeyRange => ({
    add: { path: name } as Add,
    key,
    first,
    last,
    hasDuplicates,
  });
  const names = (ranges: KeyRange[]) =>
    suspects(ranges)
      .map(({ path }) => path)
      .sort();
  assert.deepEqual(
    names([range("a", "t-0", 0n, 9n), range("b", "t-0", 10n, 19n), range("c", "t-1", 5n, 15n)]),
    [],
  );
  assert.deepEqual(
    names([
      range("long", "t-0", 0n, 99n),
      range("b", "t-0", 10n, 19n),
      range("c", "t-0", 50n, 59n),
      range("d", "t-0", 100n, 101n),
    ]),
    ["b", "c", "long"],
  );
  assert.deepEqual(names([range("a", "t-0", 0n, 9n, true), range("b", "t-0", 10n, 19n)]), ["a"]);
});
