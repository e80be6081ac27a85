/** Whether each Kafka record stands in one row only: by the offsets each file holds, and row by row only where those of two files meet. */

import type { Add } from "../delta/actions.ts";
import { isStruct } from "../delta/schema.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { locateFiles } from "../engine/data-files.ts";
import { type Engine, openEngine } from "../engine/instance.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { createRelation, FILE_PLACE } from "../engine/scan.ts";
import type { Reading } from "./reading.ts";

/** The offsets that one file holds of one topic, partition and generation. */
export type KeyRange = {
  add: Add;
  key: string;
  first: bigint;
  last: bigint;
  /** Some record stands in it twice. */
  hasDuplicates: boolean;
};

export type Duplicates = { rows: bigint; example: string };

const INDEX = "_kafka_index";

/** The key of a row as SQL (contracts.md, "Tables"); undefined where the table does not say where rows come from. */
function keyOf(snapshot: Snapshot): { group: string; row: string } | undefined {
  const { fields } = snapshot.schema;
  const kafka = fields.find(({ name }) => name === KAFKA_FIELD.name)?.type;
  if (kafka === undefined || !isStruct(kafka)) return undefined;
  const names = new Set(kafka.fields.map(({ name }) => name));
  if (!["topic", "partition", "offset"].every((name) => names.has(name))) return undefined;
  const generation = names.has("generation") ? "coalesce(_kafka.generation, 0)" : "0";
  const index = fields.some(({ name }) => name === INDEX) ? `coalesce(${INDEX}, 0)` : "0";
  return {
    group: `{t: _kafka.topic, p: _kafka.partition, g: ${generation}}`,
    row: `{o: _kafka."offset", i: ${index}}`,
  };
}

/** What each file of `view` (which has `FILE_PLACE`) holds; nothing for a table without `_kafka`. */
export async function keyRanges(
  engine: Engine,
  view: string,
  snapshot: Snapshot,
  adds: readonly Add[],
  signal: AbortSignal,
): Promise<KeyRange[]> {
  const key = keyOf(snapshot);
  if (key === undefined) return [];
  const rows = await engine.rows(
    `SELECT ${FILE_PLACE} AS f, CAST(${key.group} AS VARCHAR) AS k, min(_kafka."offset") AS a, max(_kafka."offset") AS b,
      count(*) > count(DISTINCT ${key.row}) AS d FROM ${view} WHERE _kafka."offset" IS NOT NULL GROUP BY ALL`,
    { signal },
  );
  return rows.map((row) => ({
    add: adds[Number(row.f)]!,
    key: String(row.k),
    first: row.a as bigint,
    last: row.b as bigint,
    hasDuplicates: row.d === true,
  }));
}

/** The files in which a record may stand twice: alone, or because the offsets of another file meet theirs (pure). */
export function suspects(ranges: readonly KeyRange[]): Add[] {
  const found = new Set<Add>();
  const sorted = [...ranges].sort((x, y) =>
    x.key !== y.key ? (x.key < y.key ? -1 : 1) : x.first < y.first ? -1 : x.first > y.first ? 1 : 0,
  );
  let furthest: KeyRange | undefined;
  for (const range of sorted) {
    if (range.hasDuplicates) found.add(range.add);
    if (furthest?.key === range.key && range.first <= furthest.last) {
      found.add(furthest.add).add(range.add);
    }
    if (furthest?.key !== range.key || range.last > furthest.last) furthest = range;
  }
  return [...found];
}

/** Counts the rows of `adds` beyond the first of each record; undefined where there are none. Larger than memory spills. */
export async function findDuplicates(
  store: Store,
  snapshot: Snapshot,
  adds: readonly Add[],
  options: { reading: Reading; signal: AbortSignal },
): Promise<Duplicates | undefined> {
  const { reading, signal } = options;
  const key = keyOf(snapshot);
  if (key === undefined || adds.length === 0) return undefined;
  const cache = store.localPath === undefined ? await reading.cache() : undefined;
  const data = await locateFiles(store, adds, cache, signal);
  const engine = await openEngine(reading);
  try {
    await createRelation(engine, { name: "live", table: snapshot, data, signal });
    const [row] = await engine.rows(
      `SELECT sum(n - 1)::BIGINT AS rows, any_value(k) AS example FROM (
        SELECT count(*) AS n, CAST(_kafka.topic AS VARCHAR) || '-' || _kafka.partition || ' offset ' || _kafka."offset" AS k
        FROM live WHERE _kafka."offset" IS NOT NULL GROUP BY ${key.group}, ${key.row}, k HAVING count(*) > 1)`,
      { signal },
    );
    const rows = (row?.rows as bigint | null) ?? 0n;
    return rows === 0n ? undefined : { rows, example: String(row?.example) };
  } finally {
    engine.close();
    await data.close();
  }
}
