/** Which of a stream's tables each row goes to: an expression over the row's columns, worked out beside them. */

import { LabError } from "../core/errors.ts";
import { decimalOf } from "../delta/schema.ts";
import type { StructType } from "../delta/types.ts";
import { deltaType } from "./duckdb-types.ts";
import type { BadRecord, EncodePlan } from "./encoder.ts";
import { type Engine, quoteName } from "./instance.ts";
import { NotRowLocal, requireRowLocal } from "./row-local.ts";
import { sqlType } from "./sql-types.ts";
import { firstLine, isAboutAValue, PLACE } from "./transform.ts";

/** The route beside the columns of `rows`, under a name that no column can have. */
export const ROUTE = '"lab route"';

const RELATION = "messages";
const WITH_TEXT = new Set(["string", "long", "integer", "short", "byte", "boolean", "date", "timestamp"]);

/**
 * TRANSFORM_REFUSED with the reason where `sql` is not one expression over the columns of a row of `schema`, whose value depends on that row
 * alone and is text, a whole number, a decimal, a boolean or a time.
 */
export async function checkRoute(
  engine: Engine,
  sql: string,
  schema: StructType,
  signal: AbortSignal,
): Promise<void> {
  const fields = schema.fields.filter((field) => field.type !== "void");
  const query = (from: string) => `SELECT ${routeText(sql)} AS route, (${sql}\n) AS value FROM ${from}`;
  try {
    const columns = fields.map((field) => field.name);
    const { isUnnesting } = await requireRowLocal(
      engine,
      query(RELATION),
      { table: RELATION, columns },
      signal,
    );
    if (isUnnesting) throw new NotRowLocal("unnest makes several rows of one");
  } catch (error) {
    throw error instanceof NotRowLocal ? refused(sql, error.message) : error;
  }
  const nulls = fields.map((field) => `CAST(NULL AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`);
  const from = `(SELECT ${nulls.join(", ")} LIMIT 0) AS ${RELATION}`;
  const result = await engine.connection.runAndReadAll(query(from)).catch((error: unknown) => {
    signal.throwIfAborted();
    throw refused(sql, firstLine(error));
  });
  if (result.columnCount !== 2) throw refused(sql, "it is more than one expression");
  const type = deltaType(result.columnType(1));
  if (typeof type !== "string" || !(WITH_TEXT.has(type) || decimalOf(type)))
    throw refused(sql, `it is ${result.columnType(1)}, which is no name for a table: CAST it to VARCHAR`);
}

/**
 * Puts the route of each row beside it in table `rows`, where it is text, or null. A message that has a row whose route cannot be worked out is a
 * letter, and none of its rows stays.
 */
export async function routeRows(engine: Engine, sql: string, signal: AbortSignal): Promise<BadRecord[]> {
  await engine.run(`ALTER TABLE rows ADD COLUMN ${ROUTE} VARCHAR`, { signal });
  const [last] = await engine.rows(`SELECT max(${PLACE}) AS place FROM rows`, { signal });
  const bad: BadRecord[] = [];

  /** The messages of places from `start` to before `end`. */
  async function route(start: number, end: number): Promise<void> {
    const some = `${PLACE} >= ${start} AND ${PLACE} < ${end}`;
    try {
      await engine.run(`UPDATE rows SET ${ROUTE} = ${routeText(sql)} WHERE ${some}`, { signal });
    } catch (error) {
      if (!isAboutAValue(error)) throw error;
      if (end - start === 1) {
        bad.push({ index: start, stage: "route", code: "ROUTE_FAILED", message: firstLine(error) });
        return;
      }
      const middle = start + ((end - start) >> 1);
      await route(start, middle);
      await route(middle, end);
    }
  }

  // Where all rows violated something there is none to look at.
  if (last!.place !== null) await route(0, (last!.place as number) + 1);
  const places = bad.map(({ index }) => index).join(", ");
  if (bad.length > 0) await engine.run(`DELETE FROM rows WHERE ${PLACE} IN (${places})`, { signal });
  return bad;
}

/**
 * Takes the rows of messages out of table `rows` one of whose routes is refused, and makes letters of them. Values are asked for in the order
 * they come in.
 */
export async function refuseRoutes(
  engine: Engine,
  refuse: NonNullable<EncodePlan["refuseRoute"]>,
  signal: AbortSignal,
): Promise<BadRecord[]> {
  const values = await engine.rows(
    `SELECT ${ROUTE} AS value FROM rows GROUP BY ${ROUTE} ORDER BY min(${PLACE})`,
    { signal },
  );
  const bad = new Map<number, BadRecord>();
  for (const { value } of values) {
    const refusal = refuse(value as string | null);
    if (!refusal) continue;
    const places = await engine.rows(
      `SELECT DISTINCT ${PLACE} AS place FROM rows WHERE ${ROUTE} IS NOT DISTINCT FROM $value`,
      { params: { value: value as string | null }, signal },
    );
    for (const { place } of places)
      bad.set(place as number, { index: place as number, stage: "route", ...refusal });
  }
  const places = [...bad.keys()].join(", ");
  if (bad.size > 0) await engine.run(`DELETE FROM rows WHERE ${PLACE} IN (${places})`, { signal });
  return [...bad.values()];
}

/** On lines of its own: what is written may end with a comment. */
function routeText(sql: string): string {
  return `CAST((${sql}\n) AS VARCHAR)`;
}

function refused(sql: string, reason: string): LabError {
  return new LabError("TRANSFORM_REFUSED", `the route ${JSON.stringify(sql)} is refused: ${reason}`, {
    hint: "a route is one expression over the columns of a row, such as country",
    details: { route: sql },
  });
}
