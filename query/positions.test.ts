import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { tombstoneOf } from "../delta/tombstone.ts";
import type { DataType } from "../delta/types.ts";
import { sqlTable, structOf } from "../test/support/sql-table.ts";
import { until } from "../test/support/until.ts";
import { openPositions } from "./positions.ts";
import { openQuery } from "./query.ts";

const { signal } = new AbortController();
const kafka: DataType = structOf({
  topic: "string",
  partition: "integer",
  offset: "long",
  generation: "integer",
});

async function streamTable(t: TestContext, columns: Record<string, DataType> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "positions-"));
  t.after(() => rm(folder, { recursive: true }));
  const made = await sqlTable(join(folder, "t"), { ...columns, _kafka: kafka });
  const query = openQuery({ store: folder });
  t.after(() => query.close());
  const positions = openPositions(query.context, query.catalog);
  const read = async (after = -1, addsToo = false) =>
    (await positions.read("t", { kind: "rows", after, addsToo }, signal))!;
  return { ...made, query, read };
}

/** Rows from these offsets of partition 0, one for each. */
const rows = (...offsets: number[]) =>
  `SELECT {'topic': 'orders', 'partition': 0, 'offset': o::BIGINT, 'generation': 0} AS _kafka FROM (SELECT unnest([${offsets}]) AS o)`;

const spans = (ranges: { first: bigint; last: bigint }[]) =>
  ranges.map(({ first, last }) => `${first}-${last}`).sort();

test("neighbouring offsets are one range, a gap makes two, and a copy is a range of its own", async (t) => {
  const { append, read } = await streamTable(t);
  await append({ select: rows(3, 1, 2, 7, 8, 2) });
  const { ranges, nameless, version } = await read();
  assert.deepEqual(spans(ranges), ["1-3", "2-2", "7-8"]);
  assert.deepEqual([nameless, version], [0n, 1]);
});

test("rows of one record that a transform made are told apart by their index", async (t) => {
  const { append, read } = await streamTable(t, { _kafka_index: "integer" });
  const indexed = (index: number) => `SELECT ${index}::INTEGER AS _kafka_index, * FROM (${rows(1, 2)})`;
  await append({ select: `${indexed(0)} UNION ALL ${indexed(1)}` });
  const { ranges } = await read();
  assert.deepEqual(ranges.map(({ mark, first, last }) => `${mark}:${first}-${last}`).sort(), [
    "0:1-2",
    "1:1-2",
  ]);
});

test("rows that do not say where they are from are counted apart", async (t) => {
  const { append, read } = await streamTable(t);
  await append({ select: `${rows(1)} UNION ALL SELECT NULL` });
  const { ranges, nameless } = await read();
  assert.deepEqual([spans(ranges), nameless], [["1-1"], 1n]);
});

test("a commit that takes rows tells which, a rewrite tells none, and only what is new is told", async (t) => {
  const { table, append, read } = await streamTable(t);
  const first = (await append({ select: rows(1, 2, 3) }))!;
  await append({ select: rows(4, 5) });
  const before = await read();
  assert.deepEqual(
    before.commits.map(({ version, change }) => [version, change]),
    [
      [0, null],
      [1, null],
      [2, null],
    ],
  );
  await append({
    select: rows(1, 3),
    removes: [first],
    operation: "DELETE",
    info: { engineInfo: "other 1.0" },
  });
  const after = await read(before.version);
  assert.deepEqual(spans(after.ranges), ["1-1", "3-3", "4-5"]);
  assert.equal(after.commits.length, 1);
  const [{ operation, engine, change }] = after.commits as [(typeof after.commits)[number]];
  assert.deepEqual([operation, engine], ["DELETE", "other 1.0"]);
  assert.deepEqual(spans(change!.removed!), ["1-3"]);
  assert.deepEqual(spans(change!.added!), ["1-1", "3-3"]);

  const live = [...(await table.latest(signal)).files()];
  const whole = (await append({ select: rows(1, 3, 4, 5) }))!;
  const snapshot = await table.latest(signal);
  const removes = [...live, whole].map((add) => tombstoneOf(add, { nowMs: Date.now(), dataChange: false }));
  const rewritten = { ...whole, dataChange: false };
  await table.commit(
    { readSnapshot: snapshot, operation: "OPTIMIZE", adds: [rewritten], removes: removes.slice(0, -1) },
    signal,
  );
  const { commits } = await read(4);
  assert.deepEqual(
    commits.map(({ operation, change }) => [operation, change]),
    [["OPTIMIZE", null]],
  );
});

test("what an append added is told when it is asked for", async (t) => {
  const { append, read } = await streamTable(t);
  await append({ select: rows(1, 2) });
  const { commits } = await read(0, true);
  assert.deepEqual(spans(commits[0]!.change!.added!), ["1-2"]);
  assert.deepEqual(commits[0]!.change!.removed, []);
});

test("a table that was deleted and made anew under its name is soon read as what it is now", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "positions-"));
  t.after(() => rm(folder, { recursive: true }));
  const old = await sqlTable(join(folder, "t"), { _kafka: kafka });
  for (const offset of [1, 2, 3]) await old.append({ select: rows(offset) });
  const query = openQuery({ store: folder });
  t.after(() => query.close());
  const positions = openPositions(query.context, query.catalog);
  const read = () => positions.read("t", { kind: "rows", after: -1, addsToo: false }, signal);
  assert.deepEqual(spans((await read())!.ranges), ["1-1", "2-2", "3-3"]);
  await rm(join(folder, "t"), { recursive: true });
  const anew = await sqlTable(join(folder, "t"), { _kafka: kafka });
  await anew.append({ select: rows(7) });
  const now = await until("the new table", async () => {
    const found = await read();
    return found?.version === 1 && found;
  });
  assert.deepEqual(spans(now.ranges), ["7-7"]);
});

test("a table whose rows do not say where they are from has no positions, nor has one that is not there", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "positions-"));
  t.after(() => rm(folder, { recursive: true }));
  await sqlTable(join(folder, "plain"), { id: "long" });
  const query = openQuery({ store: folder });
  t.after(() => query.close());
  const positions = openPositions(query.context, query.catalog);
  for (const name of ["plain", "nothere"])
    assert.equal(await positions.read(name, { kind: "rows", after: -1, addsToo: false }, signal), null);
});

test("of a table that changes are merged into, the commits tell what they merged, and no row is of one record", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "positions-"));
  t.after(() => rm(folder, { recursive: true }));
  const configuration = { "lab.cdc.key": '["id"]' };
  const { append } = await sqlTable(join(folder, "people"), { id: "long" }, { configuration });
  const part = { topic: "people", partition: 0, first: "0", last: "6", rows: 5, letters: 1, skipped: 1 };
  const lab = { v: 1, app: "lab", generation: 0, partitions: [part] };
  await append({ select: "SELECT 1::BIGINT AS id", operation: "MERGE", info: { lab } });
  const query = openQuery({ store: folder });
  t.after(() => query.close());
  const positions = openPositions(query.context, query.catalog);
  const ask = (kind: "rows" | "letters", after = -1) =>
    positions.read("people", { kind, after, addsToo: true }, signal);
  const found = (await ask("rows"))!;
  assert.deepEqual([found.isMerged, found.ranges, found.version], [true, [], 1]);
  assert.deepEqual(
    found.commits.flatMap(({ settled }) => settled),
    [{ topic: "people", partition: 0, first: 0n, last: 6n, skipped: 6n }],
  );
  assert.deepEqual((await ask("rows", 1))!.commits, []);
  assert.equal(await ask("letters"), null);
});
