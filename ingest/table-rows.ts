/** Answers the ingester's questions of rows by reading the few files that can hold them. */

import type { Add } from "../delta/actions.ts";
import { locateFiles } from "../engine/data-files.ts";
import type { FileCache } from "../engine/file-cache.ts";
import { type Engine, openEngine } from "../engine/instance.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { INDEX_FIELD } from "../engine/row-index.ts";
import { createRelation } from "../engine/scan.ts";
import { recordKey } from "./chunk.ts";
import type { Opened } from "./destination.ts";
import type { RowReader } from "./row-reader.ts";
import { hasKafkaColumn, topicColumn } from "./schemas.ts";

type Bounds = { minValues?: Record<string, unknown>; maxValues?: Record<string, unknown> };

/** Opens an engine for each question: they are asked at assignments only, and hold nothing in between. */
export function createRowReader(options: { cache?: FileCache; memoryLimitBytes: number }): RowReader {
  async function ask<T>(
    opened: Opened,
    adds: readonly Add[],
    signal: AbortSignal,
    question: (engine: Engine) => Promise<T>,
  ): Promise<T> {
    const data = await locateFiles(opened.table.store, adds, options.cache, signal);
    const engine = await openEngine({
      memoryLimitBytes: options.memoryLimitBytes,
      threads: 1,
      tempDir: null,
    });
    try {
      await createRelation(engine, { name: "t", table: opened.snapshot, data, signal });
      return await question(engine);
    } catch (error) {
      throw await data.explain(error);
    } finally {
      engine.close();
      await data.close();
    }
  }

  return {
    async hasRowsOf(rows, { topic, partition, signal }) {
      if (!hasKafkaColumn(rows.snapshot.schema)) return false;
      const adds = [...rows.snapshot.files()].filter((add) => {
        const { minValues, maxValues } = boundsOf(add);
        return mayHold(
          nested(minValues, KAFKA_FIELD.name, "partition"),
          nested(maxValues, KAFKA_FIELD.name, "partition"),
          partition,
        );
      });
      if (adds.length === 0) return false;
      return ask(rows, adds, signal, async (engine) => {
        const sql =
          "SELECT 1 AS found FROM t WHERE _kafka.topic = $topic AND _kafka.partition = $partition LIMIT 1";
        return (await engine.rows(sql, { params: { topic, partition }, signal })).length > 0;
      });
    },
    async otherTopic(rows, { topic, signal }) {
      const column = topicColumn(rows.snapshot.schema);
      if (column === null) return null;
      return ask(rows, [...rows.snapshot.files()], signal, async (engine) => {
        const sql = `SELECT ${column} AS topic FROM t WHERE ${column} <> $topic LIMIT 1`;
        const [found] = await engine.rows(sql, { params: { topic }, signal });
        return found === undefined ? null : String(found.topic);
      });
    },
    async rowsFrom(rows, { topic, partition, from, generation, signal }) {
      const adds = [...rows.snapshot.files()].filter((add) => {
        const { minValues, maxValues } = boundsOf(add);
        const lastOffset = nested(maxValues, KAFKA_FIELD.name, "offset");
        const isBefore = typeof lastOffset === "number" && lastOffset < Number(from);
        const of = (values: Bounds["minValues"]) => nested(values, KAFKA_FIELD.name, "partition");
        return !isBefore && mayHold(of(minValues), of(maxValues), partition);
      });
      if (adds.length === 0) return [];
      const hasIndex = rows.snapshot.schema.fields.some(({ name }) => name === INDEX_FIELD.name);
      return ask(rows, adds, signal, async (engine) => {
        const sql = `SELECT _kafka."offset" AS o, epoch_ms(_kafka."timestamp") AS ms, ${hasIndex ? INDEX_FIELD.name : "NULL"} AS n
          FROM t WHERE _kafka.topic = $topic AND _kafka."partition" = $partition AND _kafka."offset" >= $from
            AND coalesce(_kafka.generation, 0) = $generation`;
        const found = await engine.rows(sql, { params: { topic, partition, from, generation }, signal });
        return found.map((row) => ({
          ...{ partition, offset: row.o as bigint, timestampMs: Number(row.ms) },
          index: row.n === null ? null : Number(row.n),
        }));
      });
    },
    async letteredRecords(letters, { topic, partition, from, signal }) {
      const adds = [...letters.snapshot.files()].filter((add) => {
        const { minValues, maxValues } = boundsOf(add);
        const lastOffset = maxValues?.offset;
        const isBefore = typeof lastOffset === "number" && lastOffset < Number(from);
        return !isBefore && mayHold(minValues?.partition, maxValues?.partition, partition);
      });
      if (adds.length === 0) return new Set<string>();
      return ask(letters, adds, signal, async (engine) => {
        const sql = `SELECT "offset" AS o, epoch_ms("timestamp") AS ms, coalesce(left(sha256(key), 16), '') AS k,
          coalesce(left(sha256(value), 16), '') AS v FROM t WHERE topic = $topic AND "partition" = $partition AND "offset" >= $from`;
        const rows = await engine.rows(sql, { params: { topic, partition, from }, signal });
        return new Set(
          rows.map((row) => `${recordKey(row.o as bigint, Number(row.ms ?? Number.NaN))}:${row.k}:${row.v}`),
        );
      });
    },
  };
}

/** Statistics that do not parse say nothing: the file is read. */
function boundsOf(add: Add): Bounds {
  try {
    return JSON.parse(add.stats ?? "{}") as Bounds;
  } catch {
    return {};
  }
}

function nested(values: Record<string, unknown> | undefined, column: string, field: string): unknown {
  return (values?.[column] as Record<string, unknown> | undefined)?.[field];
}

const mayHold = (min: unknown, max: unknown, value: number) =>
  typeof min !== "number" || typeof max !== "number" || (min <= value && value <= max);
