import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { Action, DeletionVector } from "../delta/actions.ts";
import { serializeCommit } from "../delta/commit-file.ts";
import { commitPath } from "../delta/log-names.ts";
import type { DataType } from "../delta/types.ts";
import { type LakeTable, lakeTable, placesOf, signal, type TestRow } from "../test/support/lake-table.ts";
import { deleteRows } from "../upkeep/delete.ts";
import { updateRows } from "../upkeep/update.ts";
import type { LakeRecord } from "./lake.ts";
import { type StreamTableOptions, streamTable, type TableBatch } from "./stream-table.ts";

const FEED = { "delta.enableChangeDataFeed": "true" };
const rows = (partition: number, from: number, count: number, more: Partial<TestRow> = {}): TestRow[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ partition, offset: from + n, ms: 1000 + from + n },
    columns: `${from + n}::BIGINT AS id, 'first' AS v`,
    ...more,
  }));
const COLUMNS = { id: "long", v: "string" } as const;

async function drain(
  { table, work }: LakeTable,
  options: Partial<StreamTableOptions> = {},
): Promise<TableBatch[]> {
  const batches: TableBatch[] = [];
  const stream = streamTable(table, { work, signal, rewrites: "changes", ...options });
  for await (const batch of stream) batches.push(batch);
  return batches;
}

const told = (records: readonly LakeRecord[]) =>
  records.map(
    ({ change, partition, offset, value }) =>
      `${change} ${partition}:${offset} ${JSON.parse(String(value)).v}`,
  );
const recordsOf = (batches: readonly TableBatch[]) => batches.flatMap(({ records }) => records);

for (const [how, configuration] of [
  ["by files that the table keeps of them", FEED],
  ["by the files that went and came", {}],
] as const) {
  test(`what became of each row is told ${how}: an update as what was and what is, side by side, and nothing of rows that were only copied`, async (t) => {
    const lake = await lakeTable(t, { columns: COLUMNS, configuration, keepRaw: true });
    await lake.append(rows(0, 0, 3, { raw: "'as it came'::BLOB" }));
    await lake.append(rows(1, 0, 2));
    const work = { scratchDir: join(lake.folder, "upkeep"), signal };
    await updateRows(lake.table, { set: { v: "'second'" }, where: "id = 1", ...work });
    await deleteRows(lake.table, { where: "id = 2", ...work });
    const batches = await drain(lake, { from: { version: 2 } });
    assert.deepEqual(told(recordsOf(batches)), [
      ...["insert 1:0 first", "insert 1:1 first"],
      ...["update_preimage 0:1 first", "update_postimage 0:1 second"],
      ...["update_preimage 1:1 first", "update_postimage 1:1 second"],
      "delete 0:2 first",
    ]);
    assert.deepEqual(
      batches.filter(({ records }) => records.length > 0).map(({ version }) => version),
      [2, 3, 4],
    );
    // What there is at first is what came, and its values are made alike.
    assert.deepEqual(
      told(recordsOf(await drain(lake))).sort(),
      ["insert 0:0 first", "insert 0:1 second", "insert 1:0 first", "insert 1:1 second"].sort(),
    );
  });
}

test("whoever applies the changes to what was there has the table, whatever was done to it and wherever the reader was stopped", async (t) => {
  const step = fc.record({
    kind: fc.constantFrom("append", "update", "delete", "rewrite"),
    modulus: fc.integer({ min: 1, max: 4 }),
    count: fc.integer({ min: 1, max: 5 }),
  });
  let made = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 6 }),
      fc.boolean(),
      fc.constantFrom(1, 3, 1000),
      fc.nat(),
      async (steps, isFed, windowRows, cut) => {
        const configuration = isFed ? FEED : {};
        const lake = await lakeTable(t, { columns: COLUMNS, configuration, windowRows });
        const work = { scratchDir: join(lake.folder, "upkeep"), signal };
        const next = [0, 0];
        for (const { kind, modulus, count } of steps) {
          const where = `id % ${modulus} = 0`;
          if (kind === "append") {
            const partition = count % 2;
            await lake.append(rows(partition, next[partition]!, count));
            next[partition]! += count;
          } else if (kind === "delete") await deleteRows(lake.table, { where, ...work });
          // Of the second some rows, or all, are as they were.
          else
            await updateRows(lake.table, {
              set: { v: kind === "update" ? `'new ${made++}'` : "'first'" },
              where,
              ...work,
            });
        }
        const whole = await drain(lake, { from: { version: 0 } });
        const { position } = whole[cut % whole.length]!;
        const resumed = [
          ...whole.slice(0, (cut % whole.length) + 1),
          ...(await drain(lake, { from: position })),
        ];
        const state = new Map<string, string>();
        for (const { change, partition, offset, value } of recordsOf(resumed)) {
          const place = `${partition}:${offset}`;
          if (change === "insert" || change === "update_postimage") {
            assert.equal(state.has(place), false, `${place} came twice`);
            state.set(place, String(value));
          } else {
            assert.equal(state.get(place), String(value), `${place} went as it never was`);
            state.delete(place);
          }
        }
        const now = (await lake.read()).map((record) => [placesOf([record])[0]!, String(record.value)]);
        assert.deepEqual([...state].sort(), now.sort());
        if (!isFed)
          for (const { records } of whole)
            for (const [n, { change, value }] of records.entries())
              if (change === "update_preimage") assert.notEqual(String(value), String(records[n + 1]!.value));
      },
    ),
    { numRuns: 12 },
  );
});

/** Rows 0, 1, 4 and 5 of a file. */
const FOUR: DeletionVector = {
  storageType: "i",
  pathOrInlineDv: "^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9",
  sizeInBytes: 40,
  cardinality: 4n,
};

test("of a file whose deletion vector is another one the rows are told that went or came back", async (t) => {
  const lake = await lakeTable(t, { columns: COLUMNS });
  const add = await lake.append(rows(0, 0, 8));
  const { path, partitionValues, size } = add;
  const removed = { path, partitionValues, size, dataChange: true };
  const commit = (version: number, actions: Action[]) =>
    lake.table.store.put(
      commitPath(version),
      serializeCommit([{ commitInfo: { timestamp: version } }, ...actions]),
      signal,
    );
  const features = { readerFeatures: ["deletionVectors"], writerFeatures: ["deletionVectors"] };
  await commit(2, [{ protocol: { minReaderVersion: 3, minWriterVersion: 7, ...features } }]);
  await commit(3, [{ remove: removed }, { add: { ...add, deletionVector: FOUR } }]);
  await commit(4, [{ remove: { ...removed, deletionVector: FOUR } }, { add }]);
  const batches = await drain(lake, { from: { version: 3 } });
  const four = (change: string) => [0, 1, 4, 5].map((offset) => `${change} 0:${offset} first`);
  assert.deepEqual(told(recordsOf(batches)), [...four("delete"), ...four("insert")]);
});

test("files of a version that a vacuum took, a log that was cleaned up, and the place of another kind of stream end the stream with the way out", async (t) => {
  const lake = await lakeTable(t, { columns: COLUMNS, windowRows: 1 });
  const first = await lake.append(rows(0, 0, 3));
  await lake.append(rows(0, 1, 2), { removes: [first] });
  await assert.rejects(
    drain(lake, { rewrites: "fail", from: { version: 1 } }),
    (error) => isLabError(error, "TABLE_REWRITTEN") && /rewrites: "changes"/.test(error.hint ?? ""),
  );
  const [batch] = await drain(lake, { from: { version: 1 } });
  await assert.rejects(
    drain(lake, { from: batch!.position, rewrites: "skip" }),
    (error) => isLabError(error, "USAGE") && error.details.positionOf === "changes",
  );
  await lake.table.store.delete(first.path, signal);
  await assert.rejects(drain(lake, { from: { version: 2 } }), (error) =>
    isLabError(error, "DATA_FILE_MISSING"),
  );
  await lake.table.checkpoint(await lake.table.latest(signal), signal);
  await lake.table.store.delete(commitPath(2), signal);
  await assert.rejects(drain(lake, { from: { version: 2 } }), (error) =>
    isLabError(error, "VERSION_EXPIRED"),
  );
});

test("rows that name no record are counted with the version that brought them", async (t) => {
  const lake = await lakeTable(t, { columns: COLUMNS });
  await lake.append(rows(0, 0, 2));
  await updateRows(lake.table, {
    set: { _kafka: "NULL" },
    where: "id = 1",
    ...{ scratchDir: join(lake.folder, "upkeep"), signal },
  });
  const batches = await drain(lake, { from: { version: 1 } });
  assert.deepEqual(told(recordsOf(batches)), ["insert 0:0 first", "insert 0:1 first", "delete 0:1 first"]);
  assert.deepEqual(
    batches.filter(({ withoutOrigin }) => withoutOrigin > 0).map(({ version }) => version),
    [2],
  );
});

test("rows that a table hides from readers are not sent, and one that is hidden from now on is told as gone", async (t) => {
  const _cdc = {
    type: "struct",
    fields: [{ name: "deleted", type: "boolean", nullable: true, metadata: {} }],
  };
  const lake = await lakeTable(t, {
    columns: { ...COLUMNS, _cdc: _cdc as DataType },
    configuration: { "lab.cdc.deletes": "hidden" },
  });
  const row = (offset: number, isHidden: boolean): TestRow => ({
    ...{ partition: 0, offset, ms: 1000 + offset },
    columns: `${offset}::BIGINT AS id, 'v' AS v, {'deleted': ${isHidden}} AS _cdc`,
  });
  await lake.append([row(0, false), row(1, true), row(2, false)]);
  assert.deepEqual(
    (await lake.read()).map(({ value }) => String(value)),
    ['{"id":0,"v":"v"}', '{"id":2,"v":"v"}'],
  );
  const work = { scratchDir: join(lake.folder, "upkeep"), signal };
  await updateRows(lake.table, { set: { _cdc: "{'deleted': true}" }, where: "id = 2", ...work });
  const batches = await drain(lake, { from: { version: 1 } });
  assert.deepEqual(told(recordsOf(batches)), ["insert 0:0 v", "insert 0:2 v", "delete 0:2 v"]);
});
