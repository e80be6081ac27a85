/** A table's constraints as DuckDB's SQL over its columns (PROTOCOL.md, "CHECK Constraints", "Column Invariants"). */

import { LabError } from "../core/errors.ts";
import { type Constraint, constraintsOf } from "../delta/constraints.ts";
import type { StructType } from "../delta/types.ts";
import type { Duty } from "../delta/writer-duties.ts";
import { type Engine, quoteName, quoteText } from "./instance.ts";
import { translateSpark } from "./spark-expression.ts";
import { Untranslatable } from "./spark-lexer.ts";
import { sqlType } from "./sql-types.ts";

/** What a commit of rows may promise once they fulfilled what `compileConstraints` gave. */
export const ENFORCED: ReadonlySet<Duty> = new Set(["checkConstraints", "invariants"]);

export type Check = Constraint & {
  /** Over the table's columns: true where a row fulfils it, false where it does not; never null, and it never fails. */
  sql: string;
  /** What it looks at, as text for people: `amount = -3, note = null`. */
  operands: string;
};

/** What of a table says which rows it takes. */
export type ConstrainedTable = {
  configuration: Readonly<Record<string, string>>;
  schema: StructType;
  partitionColumns: readonly string[];
};

/** Characters of a value that a message tells. */
const VALUE_LENGTH = 100;

/**
 * All constraints of a table. UNSUPPORTED_FEATURE, naming the constraint and its expression, where one of them cannot be told with certainty: it is
 * written in Spark's SQL, and DuckDB's is another. CORRUPT_LOG where one cannot be read.
 */
export async function compileConstraints(
  engine: Engine,
  table: ConstrainedTable,
  signal: AbortSignal,
): Promise<Check[]> {
  const { configuration, schema } = table;
  const checks = constraintsOf({ configuration: { ...configuration } }, schema).map((constraint) =>
    compile(constraint, table),
  );
  if (checks.length === 0) return checks;
  const columns = schema.fields
    .filter((field) => field.type !== "void")
    .map((field) => `CAST(NULL AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`);
  for (const check of checks) {
    try {
      await engine.run(`SELECT ${check.sql}, ${check.operands} FROM (SELECT ${columns.join(", ")}) LIMIT 0`, {
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw unsupported(check, (error as Error).message.split("\n")[0]!);
    }
  }
  return checks;
}

function compile(constraint: Constraint, table: ConstrainedTable): Check {
  try {
    const { sql, type, operands } = translateSpark(constraint.expression, table);
    if (type !== "boolean") throw new Untranslatable("a value that is neither true nor false");
    const texts = [...operands].map(
      ([name, operand]) =>
        `${quoteText(`${name} = `)} || coalesce(left(CAST(${operand} AS VARCHAR), ${VALUE_LENGTH}), 'null')`,
    );
    return {
      ...constraint,
      sql: `coalesce(TRY(${sql}), false)`,
      operands: texts.length === 0 ? "''" : texts.join(` || ', ' || `),
    };
  } catch (error) {
    throw error instanceof Untranslatable ? unsupported(constraint, error.message) : error;
  }
}

/** The constraint in words, as the subject of a sentence. */
export function describeConstraint({ kind, name, expression }: Constraint): string {
  if (kind === "notNull") return `NOT NULL of column ${name}`;
  return kind === "check"
    ? `constraint ${name} (${expression})`
    : `the invariant of column ${name} (${expression})`;
}

function unsupported(constraint: Constraint, what: string): LabError {
  return new LabError(
    "UNSUPPORTED_FEATURE",
    `${describeConstraint(constraint)} cannot be checked here because of ${what}`,
    {
      hint: "the table can be read, and written by an engine that evaluates Spark SQL; or write the constraint in simpler words",
      details: { constraint: constraint.name, expression: constraint.expression },
    },
  );
}
