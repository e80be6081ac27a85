/** Conditions and values that people write over a table's columns: one row at a time, the same whenever asked. */

import { LabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";
import { type Engine, quoteName } from "./instance.ts";
import { NotRowLocal, requireRowLocal } from "./row-local.ts";

/** The view of the table's rows that expressions are written over. */
export const CURRENT = "current";

/**
 * SQL_ERROR where `sql` is no expression over the columns of `schema`, SQL_REFUSED where its value depends on more than one row or on when it
 * is asked: it is computed more than once, and must come out the same. The view `current` is there already.
 */
export async function checkRowExpression(
  engine: Engine,
  expression: { sql: string; schema: StructType; as: "condition" | "value" },
  signal: AbortSignal,
): Promise<void> {
  const { sql, schema, as } = expression;
  const columns = schema.fields.map((field) => field.name);
  const queryOver = (rows: string) =>
    as === "condition" ? `SELECT 1 FROM ${rows} WHERE (${sql}\n)` : `SELECT (${sql}\n) AS value FROM ${rows}`;
  try {
    const { isUnnesting } = await requireRowLocal(
      engine,
      queryOver(CURRENT),
      { table: CURRENT, columns },
      signal,
    );
    if (isUnnesting) throw new NotRowLocal("unnest makes several rows of one");
  } catch (error) {
    if (!(error instanceof NotRowLocal)) throw error;
    throw new LabError("SQL_REFUSED", `the ${as} ${quoteName(sql)} is refused: ${error.message}`, {
      hint: "write it over the columns of one row, without functions of time or chance",
      details: { sql },
    });
  }
  try {
    // Without the columns that the view has beside those of the table.
    const rows = `(SELECT ${columns.map(quoteName).join(", ")} FROM ${CURRENT}) AS ${CURRENT}`;
    await engine.run(queryOver(rows), { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new LabError("SQL_ERROR", `the ${as} ${quoteName(sql)} is wrong: ${(error as Error).message}`, {
      hint: `columns are ${columns.join(", ")}`,
      details: { sql },
      cause: error,
    });
  }
}
