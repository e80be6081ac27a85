/** Tables for tests of reading in Kafka's order: rows with places and times of the test's own, in files as the test groups them. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Add } from "../../delta/actions.ts";
import type { Table } from "../../delta/table.ts";
import type { DataType } from "../../delta/types.ts";
import { KAFKA_FIELD, kafkaField } from "../../engine/kafka-column.ts";
import { sqlType } from "../../engine/sql-types.ts";
import { type LakeOptions, type LakeRecord, type LakeWork, openLake } from "../../replay/lake.ts";
import type { Progress } from "../../replay/place.ts";
import { sqlTable } from "./sql-table.ts";

export const { signal } = new AbortController();

export type TestRow = {
  partition: number;
  offset: number;
  ms: number | null;
  topic?: string;
  generation?: number;
  index?: number;
  /** SQL of the columns before `_kafka`; default: column v, `<partition>:<offset>`. */
  columns?: string;
  /** SQL of a raw value; tables made with `keepRaw` only. */
  raw?: string;
  key?: string;
  headers?: string;
};

export type LakeTable = {
  table: Table;
  folder: string;
  work: LakeWork;
  /** One commit with one file of these rows, with statistics or without. */
  append(rows: readonly TestRow[], more?: { stats?: "bounds"; removes?: readonly Add[] }): Promise<Add>;
  /** All records of the newest version. */
  read(after?: Progress, more?: Partial<LakeOptions>): Promise<LakeRecord[]>;
};

export async function lakeTable(
  t: TestContext,
  options: {
    columns?: Record<string, DataType>;
    keepRaw?: boolean;
    windowRows?: number;
    configuration?: Record<string, string>;
  } = {},
): Promise<LakeTable> {
  const { columns = { v: "string" }, keepRaw = false, windowRows, configuration = {} } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-lake-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const schema = { ...columns, _kafka: kafkaField(keepRaw).type };
  const { table, append } = await sqlTable(join(folder, "table"), schema, { configuration });
  const work: LakeWork = {
    scratchDir: join(folder, "scratch"),
    memoryLimitBytes: 256 << 20,
    threads: 1,
    cache: () => Promise.reject(new Error("a local table needs no cache")),
    ...(windowRows === undefined ? {} : { windowRows }),
  };
  return {
    table,
    folder,
    work,
    async append(rows, more = {}) {
      const select = rows
        .map((row) => `SELECT ${columnsOf(row)}, ${kafkaOf(row, keepRaw)}`)
        .join(" UNION ALL ");
      const add = await append({
        select,
        ...(more.stats === undefined ? {} : { stats: boundsOf(rows) }),
        ...(more.removes === undefined ? {} : { removes: more.removes }),
      });
      return add!;
    },
    async read(after = new Map(), more = {}) {
      const table_ = await table.latest(signal);
      const lake = await openLake({
        ...{ table: table_, store: table.store, adds: table_.files(), work, signal },
        ...more,
      });
      try {
        const all: LakeRecord[] = [];
        for await (const records of lake.records(after, signal)) all.push(...records);
        return all;
      } finally {
        await lake.close();
      }
    },
  };
}

function columnsOf({ columns, partition, offset }: TestRow): string {
  return columns ?? `'${partition}:${offset}' AS v`;
}

function kafkaOf(row: TestRow, keepRaw: boolean): string {
  const {
    topic = "t",
    partition,
    offset,
    ms,
    generation = 0,
    key = "NULL",
    headers = "NULL",
    raw = "NULL",
  } = row;
  const members: Record<string, string> = {
    topic: `'${topic}'`,
    partition: String(partition),
    offset: String(offset),
    timestamp: ms === null ? "NULL" : `make_timestamptz(${Math.round(ms * 1000)})`,
    timestamp_type: "'create'",
    key,
    headers,
    generation: String(generation),
    ...(keepRaw ? { value: raw } : {}),
  };
  const packed = Object.entries(members).map(([name, sql]) => `"${name}" := ${sql}`);
  return `struct_pack(${packed.join(", ")})::${sqlType(kafkaField(keepRaw).type)} AS ${KAFKA_FIELD.name}`;
}

function boundsOf(rows: readonly TestRow[]): Record<string, unknown> {
  const side = (pick: (...numbers: number[]) => number) => ({
    _kafka: {
      topic: rows[0]!.topic ?? "t",
      partition: pick(...rows.map(({ partition }) => partition)),
      offset: pick(...rows.map(({ offset }) => offset)),
      timestamp: new Date(pick(...rows.map(({ ms }) => ms ?? 0))).toISOString(),
      generation: pick(...rows.map(({ generation }) => generation ?? 0)),
    },
  });
  return {
    minValues: side(Math.min),
    maxValues: side(Math.max),
    nullCount: { _kafka: { offset: 0, timestamp: 0 } },
  };
}

/** `partition:offset` of each, for comparisons. */
export function placesOf(records: readonly { partition: number; offset: bigint }[]): string[] {
  return records.map(({ partition, offset }) => `${partition}:${offset}`);
}
