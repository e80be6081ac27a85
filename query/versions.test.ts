import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { runBatch } from "./batch.ts";
import { diffDocument, diffVersions } from "./diff.ts";
import { momentOf } from "./moment.ts";
import { openQuery, type Query } from "./query.ts";
import { openTableReader, type TableReader } from "./reader.ts";

const signal = new AbortController().signal;
let folder: string;
let query: Query;
let reader: TableReader;

/** `t`: 1: ids 1, 2, 2; 2: id 3 with a new column; 3: rewrites id 2, 2 as 2, 9; 4: rewrites without a change. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "versions-"));
  const { append } = await sqlTable(join(folder, "t"), {
    id: "long",
    tags: { type: "map", keyType: "string", valueType: "integer", valueContainsNull: true },
  });
  const first = await append({ select: "SELECT unnest([1, 2, 2])::BIGINT AS id, MAP {'a': 1} AS tags" });
  await append({
    select: "SELECT 3::BIGINT AS id, NULL::MAP(VARCHAR, INTEGER) AS tags, 'new' AS note",
    columns: {
      id: "long",
      tags: { type: "map", keyType: "string", valueType: "integer", valueContainsNull: true },
      note: "string",
    },
    info: { lab: { v: 1, partitions: [{ topic: "t", partition: 3, first: "7", last: "9" }] } },
  });
  const second = await append({
    select: "SELECT unnest([1, 2, 9])::BIGINT AS id, MAP {'a': 1} AS tags",
    removes: [first as Add],
    operation: "UPDATE",
  });
  await append({
    select: "SELECT unnest([9, 2, 1])::BIGINT AS id, MAP {'a': 1} AS tags, NULL AS note",
    removes: [second as Add],
    operation: "OPTIMIZE",
  });
  query = openQuery({ store: folder });
  reader = openTableReader({ store: folder });
});

after(async () => {
  await query.close();
  await reader.close();
  await rm(folder, { recursive: true });
});

async function diff(from: number, to: number, maxRows = 100) {
  return diffDocument(
    await diffVersions(query.context, await query.catalog.open("t", signal), { from, to, maxRows, signal }),
  );
}

test("a diff lists rows in and out as multisets, columns and files", async () => {
  const added = await diff(1, 2);
  assert.deepEqual(added.added, [["3", null, "new"]]);
  assert.deepEqual(added.removed, []);
  assert.deepEqual(added.schema, [{ field: "note", change: "added", from: null, to: "string" }]);
  assert.deepEqual([added.filesAdded, added.filesRemoved], [1, 0]);
  const changed = await diff(2, 3);
  assert.deepEqual(changed.added, [["9", { a: 1 }, null]]);
  assert.deepEqual(changed.removed, [["2", { a: 1 }, null]]);
  assert.deepEqual([changed.rowsAdded, changed.rowsRemoved, changed.truncated], ["1", "1", false]);
});

test("a rewrite without a change has no rows in or out; a diff backwards is one forwards, turned", async () => {
  const rewritten = await diff(3, 4);
  assert.deepEqual(
    [rewritten.rowsAdded, rewritten.rowsRemoved, rewritten.filesAdded, rewritten.filesRemoved],
    ["0", "0", 1, 1],
  );
  const back = await diff(2, 1);
  assert.deepEqual(back.removed, [["3", null]]);
  assert.deepEqual(back.schema, [{ field: "note", change: "removed", from: "string", to: null }]);
  const same = await diff(4, 4);
  assert.deepEqual([same.rowsAdded, same.rowsRemoved, same.filesAdded], ["0", "0", 0]);
});

test("a diff counts all rows and lists as many as it is asked for", async () => {
  const all = await diff(0, 4, 1);
  assert.deepEqual([all.rowsAdded, all.added.length, all.truncated], ["4", 1, true]);
  await assert.rejects(diff(0, 9), (error) => isLabError(error, "VERSION_NOT_FOUND"));
});

test("a page reads summaries, history, versions, rows and differences", async () => {
  const [summary] = await reader.tables(signal);
  assert.deepEqual(
    [summary!.name, summary!.version, summary!.rows, summary!.numFiles, summary!.problem],
    ["t", 4, "4", 2, null],
  );
  const history = await reader.history("t", { limit: 10 }, signal);
  assert.deepEqual(
    history.map(({ version }) => version),
    [4, 3, 2, 1, 0],
  );
  assert.deepEqual(history[2]!.offsets, [{ topic: "t", partition: 3, first: "7", last: "9" }]);
  assert.match(history[0]!.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.deepEqual(
    (await reader.history("t", { after: 2, limit: 1 }, signal)).map(({ version }) => version),
    [4],
  );
  const version = await reader.version("t", 1, signal);
  assert.deepEqual([version.rows, version.numFiles, version.files.length], ["3", 1, 1]);
  assert.deepEqual(version.schema[1], { name: "tags", type: "map<string, integer>", nullable: true });
  const rows = await reader.rows("t", 1, 2, signal);
  assert.deepEqual([rows.rows.length, rows.truncated], [2, true]);
  assert.equal((await reader.diff("t", { from: 1, to: 2, maxRows: 5 }, signal)).rowsAdded, "1");
  const answer = await reader.query({ sql: "SELECT count(*) FROM t", version: 1 }, signal);
  assert.deepEqual(answer.rows, [["3"]]);
  await assert.rejects(
    reader.query({ sql: "SELECT count(*) FROM t", at: "1999-01-01T00:00:00Z" }, signal),
    (error) => isLabError(error, "TIMESTAMP_NOT_FOUND"),
  );
  await assert.rejects(reader.version("nope", 1, signal), (error) => isLabError(error, "TABLE_NOT_FOUND"));
});

test("a table that cannot be read is listed with its problem", async () => {
  const { table } = await sqlTable(join(folder, "broken"), { id: "long" });
  await table.store.put("_delta_log/00000000000000000000.json", Buffer.from("{ not json\n"), signal);
  const broken = (await reader.tables(signal)).find(({ name }) => name === "broken")!;
  assert.equal(broken.version, null);
  assert.equal(broken.problem?.code, "CORRUPT_LOG");
  await rm(join(folder, "broken"), { recursive: true });
});

test("the preview of a Kafka table shows the newest rows first and reads few files", async () => {
  const kafka = {
    type: "struct" as const,
    fields: [
      { name: "partition", type: "integer" as const, nullable: true, metadata: {} },
      { name: "offset", type: "long" as const, nullable: true, metadata: {} },
      { name: "timestamp", type: "timestamp" as const, nullable: true, metadata: {} },
    ],
  };
  const { append } = await sqlTable(join(folder, "k"), { _kafka: kafka });
  for (const at of [1, 2, 3]) {
    await append({
      select: `SELECT {'partition': 0::INTEGER, 'offset': (${at} * 10 + range)::BIGINT, 'timestamp': to_timestamp(${at}) + to_milliseconds(range)} AS _kafka FROM range(3)`,
    });
  }
  const { rows, truncated } = await reader.rows("k", 3, 4, signal);
  assert.deepEqual(
    rows.map(([cell]) => (cell as { offset: string }).offset),
    ["32", "31", "30", "22"],
  );
  assert.equal(truncated, true);
});

async function batch(...requests: unknown[]): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const input = Readable.from(
    requests.map((request) =>
      typeof request === "string" ? `${request}\n` : `${JSON.stringify(request)}\n`,
    ),
  );
  await runBatch(query, input, async (line) => void lines.push(line), signal);
  return lines.map((line) => JSON.parse(line));
}

test("a batch answers each line in order, and goes on after a wrong one", async () => {
  const table = join(folder, "t");
  const answers = await batch(
    { op: "rows", table, version: 1 },
    { op: "rows", table: "t", version: 0 },
    { op: "query", sql: "SELECT id FROM t ORDER BY 1 LIMIT 1" },
    { op: "query", sql: "SELECT count(*) FROM t", version: 1 },
    { op: "snapshot", table, version: 2 },
    { op: "history", table, limit: 1 },
    { op: "changes", table, from: 1, to: 2 },
    "",
    "{ not json",
    { op: "fly" },
    { op: "rows" },
    { op: "rows", table, version: 1.5 },
    { op: "rows", table, version: 99 },
    { op: "rows", table: join(folder, "nothing") },
    { op: "query", sql: "SELECT nope FROM t" },
  );
  assert.deepEqual(answers[0], { ok: true, rows: ['["1",[["a",1]]]', '["2",[["a",1]]]', '["2",[["a",1]]]'] });
  assert.deepEqual(answers[1], { ok: true, rows: [] });
  assert.deepEqual(answers[2]!.rows, [["1"]]);
  assert.deepEqual([answers[3]!.rows, answers[3]!.version], [[["3"]], 1]);
  const { version, numFiles, txn, partitionColumns } = answers[4]!;
  assert.deepEqual([version, numFiles, txn, partitionColumns], [2, 2, {}, []]);
  assert.equal((answers[5]!.history as unknown[]).length, 1);
  const changes = (answers[6]!.rows as string[]).map((row) => row.replace(/,"[^"]*Z"\]$/, "]"));
  assert.deepEqual(changes, [
    '["1",[["a",1]],null,"insert","1"]',
    '["2",[["a",1]],null,"insert","1"]',
    '["2",[["a",1]],null,"insert","1"]',
    '["3",null,"new","insert","2"]',
  ]);
  assert.ok(answers.slice(7).every(({ ok }) => ok === false));
  assert.deepEqual(
    answers.slice(7).map(({ code }) => code),
    ["USAGE", "USAGE", "USAGE", "USAGE", "VERSION_NOT_FOUND", "NOT_A_TABLE", "SQL_ERROR"],
  );
});

test("times are ISO 8601, UTC where nothing else is said", () => {
  const cases: [string, string][] = [
    ["2026-11-29", "2026-11-29T00:00:00.000Z"],
    ["2026-11-29T20:15", "2026-11-29T20:15:00.000Z"],
    ["2026-11-29 20:15:03.5", "2026-11-29T20:15:03.500Z"],
    ["2026-11-29T20:15:03.123456Z", "2026-11-29T20:15:03.123Z"],
    ["2026-11-29T20:15:03+02", "2026-11-29T18:15:03.000Z"],
    ["2026-11-29T20:15:03 -0530", "2026-11-30T01:45:03.000Z"],
  ];
  for (const [text, iso] of cases) assert.equal(new Date(momentOf(text)).toISOString(), iso, text);
  for (const text of ["", "soon", "2026-13-01", "2026-02-30", "29.11.2026", "1764446400"]) {
    assert.throws(
      () => momentOf(text),
      (error) => isLabError(error, "USAGE"),
      text,
    );
  }
});
