/** What `bench/merge.ts` merges: a table of customers, and batches of changes spread evenly over its keys, as a seed has them. */

import { join } from "node:path";
import type { Change } from "../cdc/change.ts";
import { CDC_FIELD, keyedProperties } from "../cdc/merge/cdc-field.ts";
import { createTable } from "../delta/create.ts";
import { localStore } from "../delta/store/local.ts";
import type { Table } from "../delta/table.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { openEngine, quoteText } from "../engine/instance.ts";
import { derivedFields, parsePartitioning } from "../engine/partitioning.ts";
import { openWorkbench } from "../upkeep/workbench.ts";

export const COLUMNS = {
  id: "long",
  name: "string",
  email: "string",
  city: "string",
  balance: "double",
  seen: "timestamp",
  note: "string",
} as const satisfies Record<string, DataType>;

export type Customer = {
  id: number;
  name: string;
  email: string;
  city: string;
  balance: number;
  seen: string;
  note: string;
};

/** A change as both sides get it. */
export type CustomerChange = Customer & { kind: "upsert" | "delete"; at: number };

export const BUCKETS = 4;
const FILES = 10;
const CITIES = ["Bern", "Basel", "Chur", "Genf", "Thun"];

/** A table of `rows` customers in ten files, by increasing id, in `folder`. */
export async function makeCustomers(
  folder: string,
  options: {
    rows: number;
    isKeyed: boolean;
    hasVectors: boolean;
    /** Partitioned by `BUCKETS` buckets of the key. */
    isBucketed?: boolean;
  },
  signal: AbortSignal,
): Promise<Table> {
  const { rows, isKeyed, hasVectors, isBucketed = false } = options;
  const fields = Object.entries(COLUMNS).map(([name, type]) => ({
    name,
    type,
    nullable: true,
    metadata: {},
  }));
  const { columns: partitionColumns, derived } = parsePartitioning(
    isBucketed ? [`bucket(${BUCKETS},id)`] : [],
  );
  const all = [...fields, ...(isKeyed ? [CDC_FIELD] : []), ...derivedFields(fields, derived)];
  const schema: StructType = { type: "struct", fields: all };
  const configuration = {
    ...(isKeyed ? keyedProperties(["id"], { deletes: "hidden" }) : {}),
    "delta.enableDeletionVectors": String(hasVectors),
  };
  const table = await createTable(localStore(folder), { schema, configuration, partitionColumns }, signal);
  const bench = await openWorkbench(table, { scratchDir: `${folder}-scratch` });
  try {
    const readSnapshot = await table.latest(signal);
    const adds = [];
    for (let file = 0; file < FILES; file++) {
      const [from, to] = [Math.floor((file * rows) / FILES), Math.floor(((file + 1) * rows) / FILES)];
      const cdc = isKeyed
        ? `, {src: 'postgresql/shop', hi: 0::BIGINT, lo: range, sub: 0::BIGINT, ts: ${SEEN}, snapshot: true, deleted: false,
          partition: 0::INTEGER, "offset": range, generation: 0::INTEGER, missing: NULL::VARCHAR[]} AS _cdc`
        : "";
      const bucket = isBucketed
        ? `, (('0x' || left(md5(range::VARCHAR), 8))::BIGINT % ${BUCKETS})::INTEGER AS id_bucket`
        : "";
      const select = `SELECT range AS id, 'customer ' || range AS name, 'c' || range || '@example.org' AS email,
        ['Bern', 'Basel', 'Chur', 'Genf', 'Thun'][1 + range % 5] AS city, range % 1000 / 4.0 AS balance, ${SEEN} AS seen,
        md5(range::VARCHAR) || md5((range + 1)::VARCHAR) AS note${cdc}${bucket} FROM range(${from}, ${to})`;
      adds.push(...(await bench.write(readSnapshot, `(${select})`, { dataChange: true, signal })));
    }
    bench.settle();
    await table.commit({ readSnapshot, operation: "WRITE", adds }, signal);
    return table;
  } finally {
    await bench.close();
  }
}

const SEEN = "TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds(range)";

/** Batches of `size` changes of different keys: of ten, seven update, two insert, one deletes. */
export function customerBatches(options: {
  rows: number;
  batches: number;
  size: number;
  seed: number;
}): CustomerChange[][] {
  const { rows, size } = options;
  let state = BigInt(options.seed) * 2n + 1n;
  const random = (below: number) => {
    state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
    return Number((state >> 33n) % BigInt(below));
  };
  let [next, at] = [rows, rows];
  return Array.from({ length: options.batches }, () => {
    const batch = new Map<number, CustomerChange>();
    while (batch.size < size) {
      const chance = random(10);
      const id = chance < 2 ? next++ : random(next);
      if (batch.has(id)) continue;
      at++;
      batch.set(id, {
        ...{ id, name: `customer ${id}`, email: `c${id}@example.net`, city: CITIES[random(5)]! },
        ...{ balance: random(4000) / 4, seen: new Date(1_780_000_000_000 + at).toISOString() },
        ...{ note: `change ${at} ${random(2 ** 30).toString(16)} ${random(2 ** 30).toString(16)}` },
        ...{ kind: chance === 9 ? "delete" : "upsert", at },
      });
    }
    return [...batch.values()];
  });
}

/** As a connector would have sent it, behind all that is in the table. */
export function asChange({ kind, at, ...row }: CustomerChange): Change {
  const value = kind === "delete" ? { id: row.id } : row;
  const position = {
    ...{ source: "postgresql/shop", hi: BigInt(at), lo: BigInt(at), sub: 0n },
    ...{ timeMicros: BigInt(Date.parse(row.seen)) * 1000n, isSnapshot: false },
  };
  return {
    ...{ kind, key: `[${row.id}]`, row: Buffer.from(JSON.stringify(value)), absent: [], isFresh: false },
    ...{
      position,
      place: { partition: 0, offset: BigInt(at), generation: 0 },
      timestampMs: Date.parse(row.seen),
    },
  };
}

/** The same batches for the peer: one Parquet file each in `folder`, named by number. */
export async function writeBatches(
  batches: readonly (readonly CustomerChange[])[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const engine = await openEngine({ memoryLimitBytes: 2 ** 28, threads: 1, tempDir: null });
  try {
    for (const [n, batch] of batches.entries()) {
      const lines = batch.map(
        (one) =>
          `(${one.id}, ${quoteText(one.name)}, ${quoteText(one.email)}, ${quoteText(one.city)}, ${one.balance}::DOUBLE, TIMESTAMPTZ ${quoteText(one.seen)}, ${quoteText(one.note)}, ${one.kind === "delete"})`,
      );
      await engine.run(
        `COPY (SELECT id::BIGINT AS id, name, email, city, balance, seen, note, deleted FROM (VALUES ${lines.join(", ")})
          AS v(id, name, email, city, balance, seen, note, deleted)) TO ${quoteText(join(folder, `${n}.parquet`))} (FORMAT parquet)`,
        { signal },
      );
    }
  } finally {
    engine.close();
  }
}

/** What a table holds after the batches: rows, and the sum of their balances, which quarters add up to exactly. */
export function expectedTotals(rows: number, batches: readonly (readonly CustomerChange[])[]) {
  const changed = new Map<number, number | null>();
  for (const batch of batches)
    for (const { id, kind, balance } of batch) changed.set(id, kind === "delete" ? null : balance);
  let [count, sum] = [0, 0];
  for (let id = 0; id < rows; id++)
    if (!changed.has(id)) {
      count++;
      sum += (id % 1000) / 4;
    }
  for (const balance of changed.values())
    if (balance !== null) {
      count++;
      sum += balance;
    }
  return { rows: count, balance: sum };
}
