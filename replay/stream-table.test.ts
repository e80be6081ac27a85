import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { commitPath } from "../delta/log-names.ts";
import type { DataType } from "../delta/types.ts";
import { kafkaField } from "../engine/kafka-column.ts";
import { type LakeTable, lakeTable, placesOf, signal, type TestRow } from "../test/support/lake-table.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { until } from "../test/support/until.ts";
import { type StreamTableOptions, streamTable, type TableBatch, type TablePosition } from "./stream-table.ts";

const rows = (partition: number, from: number, count: number): TestRow[] =>
  Array.from({ length: count }, (_, n) => ({ partition, offset: from + n, ms: 1000 + from + n }));

async function drain(
  { table, work }: LakeTable,
  options: Partial<StreamTableOptions> = {},
): Promise<TableBatch[]> {
  const batches: TableBatch[] = [];
  for await (const batch of streamTable(table, { work, signal, ...options })) batches.push(batch);
  return batches;
}

const seen = (batches: readonly TableBatch[]) => batches.flatMap(({ records }) => placesOf(records));

test("a follower gets what there is, then what each version adds, and nothing of a rewrite that changes no rows", async (t) => {
  const lake = await lakeTable(t);
  const first = await lake.append(rows(0, 0, 2));
  await lake.append(rows(1, 0, 1));
  const stop = new AbortController();
  const got: string[] = [];
  const following = (async () => {
    const options = { work: lake.work, follow: true, pollMs: 5, signal: stop.signal };
    for await (const { records, version } of streamTable(lake.table, options)) {
      got.push(...placesOf(records));
      if (version === 5) stop.abort();
    }
  })();
  await until("what there was", () => got.length === 3);
  await lake.append(rows(0, 2, 1));
  const readSnapshot = await lake.table.latest(signal);
  const { path, partitionValues, size } = first;
  const remove = {
    path,
    partitionValues,
    size,
    dataChange: false,
    deletionTimestamp: 1,
    extendedFileMetadata: true,
  };
  const again = { ...first, dataChange: false, path: "copy.parquet" };
  await lake.table.store.put("copy.parquet", await lake.table.store.get(path, signal), signal);
  const request = { readSnapshot, operation: "OPTIMIZE", adds: [again], removes: [remove] };
  assert.equal((await lake.table.commit(request, signal)).kind, "committed");
  await lake.append(rows(1, 1, 1));
  await assert.rejects(following, (error) => error === stop.signal.reason);
  assert.deepEqual(got, ["0:0", "1:0", "0:1", "0:2", "1:1"]);
});

test("whoever stops at any batch goes on with the next, and where it begins is said by name, version or position", async (t) => {
  const lake = await lakeTable(t, { windowRows: 2 });
  await lake.append(rows(0, 0, 5));
  await lake.append(rows(0, 5, 3));
  await lake.append(rows(0, 8, 2));
  const from: TablePosition = {
    ...{ tableId: (await lake.table.latest(signal)).metadata.id, version: 2, stage: "all", of: "rows" },
    reached: new Map(),
  };
  const whole = await drain(lake, { from });
  assert.equal(seen(whole).length, 10);
  for (const [at, { position }] of whole.entries())
    assert.deepEqual(seen(await drain(lake, { from: position })), seen(whole.slice(at + 1)));
  assert.deepEqual(seen(await drain(lake)), seen(whole));
  assert.deepEqual(seen(await drain(lake, { from: "now" })), []);
  assert.deepEqual(seen(await drain(lake, { from: { version: 3 } })), ["0:8", "0:9"]);
  const elsewhere = { ...from, tableId: "another" };
  await assert.rejects(drain(lake, { from: elsewhere }), (error) => isLabError(error, "USAGE"));
});

test("a version that took rows out ends the stream and says so, or is left out where that was asked", async (t) => {
  const lake = await lakeTable(t);
  const first = await lake.append(rows(0, 0, 2));
  await lake.append(rows(0, 1, 1), { removes: [first] });
  await lake.append(rows(0, 2, 1));
  const from = { version: 1 };
  await assert.rejects(
    drain(lake, { from }),
    (error) => isLabError(error, "TABLE_REWRITTEN") && error.details.version === 2,
  );
  const skipped: number[] = [];
  const batches = await drain(lake, {
    from,
    rewrites: "skip",
    onSkip: (version) => void skipped.push(version),
  });
  assert.deepEqual([seen(batches), skipped], [["0:0", "0:1", "0:2"], [2]]);
  assert.deepEqual(seen(await drain(lake)), ["0:1", "0:2"]);
});

test("a follower meets an update as an end with the way out, and goes on behind it from where it was", async (t) => {
  const lake = await lakeTable(t);
  const first = await lake.append(rows(0, 0, 2));
  const batches: TableBatch[] = [];
  const follow = async (options: Partial<StreamTableOptions>, isLast: (batch: TableBatch) => boolean) => {
    const stream = streamTable(lake.table, { work: lake.work, signal, follow: true, pollMs: 5, ...options });
    for await (const batch of stream) {
      batches.push(batch);
      if (isLast(batch)) return;
    }
  };
  let changed: Promise<unknown> | undefined;
  await assert.rejects(
    follow({}, ({ position }) => {
      if (position.version === 2) changed ??= lake.append(rows(0, 1, 1), { removes: [first] });
      return false;
    }),
    (error) => isLabError(error, "TABLE_REWRITTEN") && error.details.version === 2,
  );
  await changed;
  await lake.append(rows(0, 2, 1));
  const from = batches.at(-1)!.position;
  await follow({ from, rewrites: "skip" }, ({ version }) => version === 3);
  assert.deepEqual(seen(batches), ["0:0", "0:1", "0:2"]);
});

test("a version that the log no longer has ends the stream: rows would be missing without a word", async (t) => {
  const lake = await lakeTable(t);
  await lake.append(rows(0, 0, 1));
  await lake.append(rows(0, 1, 1));
  await lake.table.checkpoint(await lake.table.latest(signal), signal);
  await lake.table.store.delete(commitPath(1), signal);
  await assert.rejects(
    drain(lake, { from: { version: 1 } }),
    (error) => isLabError(error, "VERSION_EXPIRED") && error.details.version === 1,
  );
  assert.deepEqual(seen(await drain(lake, { from: { version: 2 } })), ["0:1"]);
});

test("each version is read in its own schema, and rows of a second topic end the stream", async (t) => {
  const { folder, work } = await lakeTable(t);
  const kafka = kafkaField(false).type;
  const columns: Record<string, DataType> = { a: "integer", _kafka: kafka };
  const { table, append } = await sqlTable(`${folder}/evolving`, columns);
  const origin = (offset: number, topic = "t") =>
    `{'topic': '${topic}', 'partition': 0, 'offset': ${offset}::BIGINT, 'timestamp': make_timestamptz(${offset}), 'generation': 0} AS _kafka`;
  await append({ select: `SELECT 1::INTEGER AS a, ${origin(0)}` });
  await append({
    select: `SELECT 2::INTEGER AS a, 'x' AS b, ${origin(1)}`,
    columns: { a: "integer", b: "string", _kafka: kafka },
  });
  const values: unknown[] = [];
  for await (const { records } of streamTable(table, { work, signal, from: { version: 1 } }))
    values.push(...records.map(({ value }) => value?.toString()));
  assert.deepEqual(values, ['{"a":1}', '{"a":2,"b":"x"}']);
  await append({ select: `SELECT 3::INTEGER AS a, 'y' AS b, ${origin(0, "u")}` });
  const all = async () => {
    for await (const _ of streamTable(table, { work, signal, from: { version: 1 } }));
  };
  await assert.rejects(
    all,
    (error) => isLabError(error, "USAGE") && /several topics|another topic/.test(error.message),
  );
});
