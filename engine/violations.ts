/** Rows that violate constraints of their table: found, told and taken out. */

import { LabError } from "../core/errors.ts";
import { type Check, describeConstraint } from "./constraints.ts";
import type { BadRecord } from "./encoder.ts";
import type { Engine } from "./instance.ts";
import { PLACE } from "./transform.ts";

/** CONSTRAINT_VIOLATED with the constraint, how many of the rows of a FROM clause violate it, and the values of one of them. */
export async function requireFulfilled(
  engine: Engine,
  rows: string,
  checks: readonly Check[],
  signal: AbortSignal,
): Promise<void> {
  if (checks.length === 0) return;
  const columns = checks.flatMap((check, i) => [
    `count(*) FILTER (NOT ${check.sql}) AS "lab count ${i}"`,
    `any_value(${check.operands}) FILTER (NOT ${check.sql}) AS "lab values ${i}"`,
  ]);
  const [found] = await engine.rows(`SELECT ${columns.join(", ")} FROM ${rows}`, { signal });
  for (const [i, check] of checks.entries()) {
    const count = Number(found![`lab count ${i}`]);
    if (count === 0) continue;
    const values = found![`lab values ${i}`] as string;
    throw new LabError(
      "CONSTRAINT_VIOLATED",
      `${describeConstraint(check)} is violated by ${count} of the new rows, one of them with ${values}`,
      {
        hint: "nothing was written; leave these rows out, or give them other values",
        details: { constraint: check.name, expression: check.expression, rows: count, values },
      },
    );
  }
}

/**
 * Takes the rows of each message that has one in violation out of table `rows`, which tells messages by their place: none of them stays. The letter
 * names the first constraint that is violated.
 */
export async function dropViolators(
  engine: Engine,
  checks: readonly Check[],
  signal: AbortSignal,
): Promise<BadRecord[]> {
  const bad = await findViolators(engine, checks, { from: "rows", place: PLACE }, signal);
  if (bad.length > 0)
    await engine.run(`DELETE FROM rows WHERE ${PLACE} IN (${bad.map(({ index }) => index).join(", ")})`, {
      signal,
    });
  return bad;
}

/** Of the rows of a FROM clause those that violate something, by the number in column `place`, and the first constraint that each violates. */
export async function findViolators(
  engine: Engine,
  checks: readonly Check[],
  { from, place }: { from: string; place: string },
  signal: AbortSignal,
): Promise<BadRecord[]> {
  if (checks.length === 0) return [];
  const arms = checks.map((check, i) => `WHEN NOT ${check.sql} THEN ${i}`);
  const operands = checks.map((check, i) => `WHEN ${i} THEN ${check.operands}`);
  const found = await engine.rows(
    `SELECT ${place} AS place, arg_min("lab check", "lab order") AS violated, arg_min("lab operands", "lab order") AS operands
     FROM (SELECT *, CASE "lab check" ${operands.join(" ")} END AS "lab operands"
           FROM (SELECT *, row_number() OVER () AS "lab order", CASE ${arms.join(" ")} END AS "lab check" FROM ${from}))
     WHERE "lab check" IS NOT NULL GROUP BY ${place}`,
    { signal },
  );
  return found.map(({ place: index, violated, operands: values }) =>
    letterOf(Number(index), checks[violated as number]!, values as string),
  );
}

function letterOf(index: number, check: Check, values: string): BadRecord {
  if (check.kind === "notNull")
    return {
      index,
      stage: "schema",
      code: "NULL_NOT_ALLOWED",
      message: `${check.name}: is null and must not be`,
    };
  const message = `${describeConstraint(check)} is violated with ${values}`;
  return { index, stage: "constraint", code: "CONSTRAINT_VIOLATED", message };
}
