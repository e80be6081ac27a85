/** SQL that tells from which Kafka records the rows of a relation are, as ranges of neighbouring offsets. */

import type { StructType } from "../delta/types.ts";

/** What a table holds: rows of the stream, its dead letters, or what became of these. */
export type PlacedKind = "rows" | "letters" | "states";

/**
 * For a view, and its column that tells a row's file, the statement whose rows are (file, topic, partition, generation, mark, first, last,
 * nameless): those without a topic count the rows of a file that do not say.
 */
export type PlacesSql = (view: string, file: string) => string;

/** Null where the table has no such columns. */
export function placesSql(schema: StructType, kind: PlacedKind): PlacesSql | null {
  const columns = kind === "rows" ? rowColumns(schema) : letterColumns(schema, kind);
  if (columns === null) return null;
  const { topic, partition, offset, generation, mark } = columns;
  const alike = "file, topic, place, generation, mark";
  const isNamed = "topic IS NOT NULL AND place IS NOT NULL AND spot IS NOT NULL";
  return (view, file) => `
    WITH places AS (
      SELECT ${file} AS file, ${topic} AS topic, ${partition} AS place, ${offset} AS spot, ${generation} AS generation, ${mark} AS mark
      FROM ${view}
    ), copies AS (SELECT *, row_number() OVER (PARTITION BY ${alike}, spot) AS copy FROM places WHERE ${isNamed}),
    islands AS (SELECT *, spot - row_number() OVER (PARTITION BY ${alike}, copy ORDER BY spot) AS island FROM copies)
    SELECT file, topic, place, generation, mark, min(spot) AS first, max(spot) AS last, 0::BIGINT AS nameless
    FROM islands GROUP BY ${alike}, copy, island
    UNION ALL
    SELECT file, NULL, NULL, NULL, NULL, NULL, NULL, count(*) FROM places WHERE NOT (${isNamed}) GROUP BY file`;
}

type Columns = { topic: string; partition: string; offset: string; generation: string; mark: string };

function rowColumns(schema: StructType): Columns | null {
  const kafka = schema.fields.find(({ name }) => name === "_kafka")?.type;
  if (typeof kafka !== "object" || kafka.type !== "struct") return null;
  const has = (name: string) => kafka.fields.some((field) => field.name === name);
  if (!["topic", "partition", "offset"].every(has)) return null;
  const isUnnested = schema.fields.some(({ name }) => name === "_kafka_index");
  return {
    topic: `_kafka."topic"`,
    partition: `_kafka."partition"`,
    offset: `_kafka."offset"`,
    generation: has("generation") ? `coalesce(_kafka."generation", 0)` : "0",
    mark: isUnnested ? `coalesce(CAST("_kafka_index" AS VARCHAR), '')` : "''",
  };
}

function letterColumns(schema: StructType, kind: "letters" | "states"): Columns | null {
  const mark = kind === "letters" ? "attempt" : "state";
  const has = (name: string) => schema.fields.some((field) => field.name === name);
  if (!["topic", "partition", "offset", mark].every(has)) return null;
  return {
    topic: `"topic"`,
    partition: `"partition"`,
    offset: `"offset"`,
    generation: "0",
    mark: `coalesce(CAST("${mark}" AS VARCHAR), '')`,
  };
}
