/** What tests of merges share: a keyed table, changes by the dozen, and what is left of them. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { MergeCounts, MergeResult } from "../../cdc/apply.ts";
import type { Change, Truncate } from "../../cdc/change.ts";
import { fold } from "../../cdc/fold.ts";
import { CDC_FIELD, keyedProperties } from "../../cdc/merge/cdc-field.ts";
import { type Merger, type MergerOptions, openMerger } from "../../cdc/merge/merger.ts";
import { openEncoder } from "../../columnar/open-encoder.ts";
import type { NewTable } from "../../delta/create.ts";
import { serializeSchema } from "../../delta/schema.ts";
import { localStore } from "../../delta/store/local.ts";
import type { DataType, StructType } from "../../delta/types.ts";
import { signal, type TestTable, testTable } from "./upkeep-table.ts";

export type MergeTable = TestTable & {
  merger: Merger;
  /** Applies changes as one batch on the newest version. */
  apply(changes: readonly (Change | Truncate)[], more?: ApplyMore): Promise<MergeResult>;
  /** The same, which must be committed. */
  merge(changes: readonly (Change | Truncate)[], more?: ApplyMore): Promise<MergeCounts>;
  /** Rows that are not marked as deleted, by key, without `_cdc`. */
  live(): Promise<Record<string, unknown>[]>;
  /** Before the test ends, for tests that make many. */
  close(): Promise<void>;
};

type ApplyMore = {
  txns?: { appId: string; version: bigint }[];
  schema?: StructType;
  onCommitting?: () => void;
};

/** `columns` without `_cdc`; the key is `id` unless `keyColumns` says otherwise. */
export async function mergeTable(
  t: TestContext,
  columns: Record<string, DataType>,
  options: Omit<NewTable, "schema"> & {
    keyColumns?: readonly string[];
    merger?: Partial<MergerOptions>;
  } = {},
): Promise<MergeTable> {
  const { keyColumns = ["id"], merger: changed, ...more } = options;
  const configuration = { ...keyedProperties(keyColumns, { deletes: "hidden" }), ...options.configuration };
  const one = await testTable(t, { ...columns, _cdc: CDC_FIELD.type }, { ...more, configuration });
  const { merger, close } = await openTestMerger(one, changed);
  t.after(close);
  return { ...one, merger, ...around(one, merger, keyColumns), close };
}

/** Has column `name` must not be null from now on. */
export async function demandName({ table, snapshot }: MergeTable): Promise<void> {
  const readSnapshot = await snapshot();
  const { schema, metadata } = readSnapshot;
  const fields = schema.fields.map((field) => ({ ...field, nullable: field.name !== "name" }));
  const schemaString = serializeSchema({ type: "struct", fields });
  const operation = "CHANGE COLUMN";
  await table.commit({ readSnapshot, operation, metadata: { ...metadata, schemaString } }, signal);
}

/** A merger of its own on a table. */
export async function testMerger(
  t: TestContext,
  one: Pick<TestTable, "folder">,
  changed: Partial<MergerOptions> = {},
): Promise<Merger> {
  const { merger, close } = await openTestMerger(one, changed);
  t.after(close);
  return merger;
}

async function openTestMerger(
  { folder }: Pick<TestTable, "folder">,
  changed: Partial<MergerOptions> = {},
): Promise<Pick<MergeTable, "merger" | "close">> {
  const memoryLimitBytes = 256 * 2 ** 20;
  const encoder = await openEncoder({
    stagingDir: join(folder, `staging-${randomUUID()}`),
    ...{ memoryLimitBytes, threads: 1 },
  });
  const merger = openMerger({
    ...{ encoder, scratchDir: join(folder, "merge"), memoryLimitBytes, threads: 1, topic: "customers" },
    ...{ onUnknownField: "add", now: Date.now, compactEvery: 0 },
    onCompactionFailure: (error) => assert.fail(error as Error),
    ...{ indexBytes: 2 ** 30, onIndexOver: () => {} },
    openAside: async () => localStore(join(folder, "table__deletes")),
    ...changed,
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= merger.close().then(() => encoder.close());
    return closing;
  };
  return { merger, close };
}

export function around(
  one: TestTable,
  merger: Merger,
  keyColumns: readonly string[] = ["id"],
): Pick<MergeTable, "apply" | "merge" | "live"> {
  const apply: MergeTable["apply"] = async (changes, { txns = [], schema, onCommitting = () => {} } = {}) => {
    const snapshot = await one.table.latest(signal);
    const rows = changes.filter((one) => one.kind !== "truncate");
    const truncates = changes.filter((one) => one.kind === "truncate");
    return merger.apply({
      ...{ table: one.table, snapshot, folded: fold(rows, truncates), schema: schema ?? snapshot.schema },
      ...{ keyColumns, txns, readTxns: [], lab: (counts) => ({ counts }), onCommitting, signal },
    });
  };
  return {
    apply,
    async merge(changes, more) {
      const result = await apply(changes, more);
      assert.equal(
        result.kind,
        "committed",
        JSON.stringify(result, (_, v) => (typeof v === "bigint" ? `${v}` : v)),
      );
      return (result as Extract<MergeResult, { kind: "committed" }>).counts;
    },
    async live() {
      const rows = (await one.rows()).map((row) => JSON.parse(row));
      return rows
        .filter((row) => row._cdc?.deleted !== true)
        .map(({ _cdc, ...row }) => row)
        .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    },
  };
}

type Order = { at?: number; offset?: number; partition?: number; source?: string };

let offsets = 0n;

/** A change that made a row, at a place in the source's log; without `at` it has no position. Offsets grow by themselves. */
export function upsert(
  row: Record<string, unknown>,
  order: Order & { absent?: readonly string[]; key?: readonly string[] } = {},
): Change {
  const key = JSON.stringify((order.key ?? ["id"]).map((name) => row[name]));
  return { ...base(order), kind: "upsert", key, row: bytes(row), absent: order.absent ?? [], isFresh: false };
}

/** Rows of keys `from` to `to` (exclusive), one change after the other. */
export function many(from: number, to: number, at: number): Change[] {
  return Array.from({ length: to - from }, (_, i) =>
    upsert({ id: from + i, name: `n${at}` }, { at: at + i }),
  );
}

/** What a batch that does nothing counts. */
export const none = { inserted: 0, updated: 0, deleted: 0, swept: 0, ignored: 0, folded: 0, uncertain: 0 };

export function remove(key: Record<string, unknown>, order: Order = {}): Change {
  const text = JSON.stringify(Object.values(key));
  return { ...base(order), kind: "delete", key: text, row: bytes(key), absent: [], isFresh: false };
}

export function truncate(order: Order): Truncate {
  return { ...base(order), kind: "truncate" };
}

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

function base({ at, offset, partition = 0, source = "postgresql/shop" }: Order) {
  offsets++;
  const position =
    at === undefined
      ? null
      : { source, hi: BigInt(at), lo: 0n, sub: 0n, timeMicros: BigInt(at) * 1000n, isSnapshot: false };
  const place = { partition, offset: offset === undefined ? offsets : BigInt(offset), generation: 0 };
  return { position, place, timestampMs: 1_700_000_000_000 };
}
