/** One statement, parsed by DuckDB: the tables and versions it names, and the SQL that reads views in their place. */

import { LabError } from "../core/errors.ts";
import type { Engine } from "../engine/instance.ts";
import { parseSql, printSql, rowOf, type TreeNode } from "../engine/sql-tree.ts";
import type { KnownForms } from "./known-forms.ts";
import { type Traits, traitsOf } from "./named-columns.ts";
import { rewriteSpark } from "./spark-syntax.ts";
import { charactersOf, complaintOf, sqlError } from "./sql-error.ts";
import { checkUntrusted, counterpart, redirect, type TableUse, tableUses, visit } from "./syntax-tree.ts";

/** Which version an AT clause asks for. */
export type Point = { version: number } | { timestampMs: number };

export type Statement = {
  tree: TreeNode;
  traits: Traits;
  uses: readonly (TableUse & { point: Point | undefined })[];
  /** The statement with each use that `views` knows reading that view. Untouched text where no use needs a new name. */
  over(views: ReadonlyMap<TableUse, string>): Promise<Runnable>;
  /** Character position in the typed text of a byte position in the parsed one. */
  place(bytes: number): number;
};

export type Runnable = {
  sql: string;
  /** Character position in the typed text of a byte position in `sql`; undefined where it has no counterpart. */
  place(bytes: number): number | undefined;
};

/**
 * Parses exactly one query. With `untrusted`, SQL_REFUSED for what may not come from the network. SQL_ERROR has the position
 * in `details.position`. The engine only parses and computes AT clauses: no table is read. It need not parse a statement of one of `forms`.
 */
export async function parseStatement(
  engine: Engine,
  sql: string,
  options: { untrusted: boolean; forms?: KnownForms | undefined; signal: AbortSignal },
): Promise<Statement> {
  const { forms, signal } = options;
  const spark = rewriteSpark(sql);
  const place = (bytes: number) => spark.toOriginal(charactersOf(spark.sql, bytes));
  const known = forms?.find(spark.sql);
  const parsed = known?.tree ?? (await parseSql(engine, spark.sql, signal));
  if (parsed.error === true) throw parseError(parsed, spark.sql, sql, (at) => spark.toOriginal(at));
  const statements = parsed.statements as TreeNode[];
  if (statements.length !== 1) {
    const message = statements.length === 0 ? "there is no statement" : "there is more than one statement";
    throw new LabError("SQL_ERROR", message, { hint: "give one SELECT" });
  }
  const traits = known?.traits ?? traitsOf(parsed);
  if (known === undefined) forms?.note(spark.sql, parsed, traits);
  // Looked for only where there may be some.
  if (/[$?]/.test(spark.sql)) refuseParameters(parsed, sql);
  if (options.untrusted) {
    try {
      checkUntrusted(parsed);
    } catch (error) {
      throw withPlace(error, place);
    }
  }
  const uses: (TableUse & { point: Point | undefined })[] = [];
  for (const use of tableUses(parsed)) {
    const point = use.at === undefined ? undefined : await pointOf(engine, use.at, sql, signal);
    uses.push({ ...use, point });
  }
  return {
    tree: parsed,
    traits,
    uses,
    place,
    async over(views) {
      const isSame = uses.every((use) => {
        const view = views.get(use);
        return view === undefined || (use.at === undefined && view.toLowerCase() === use.name.toLowerCase());
      });
      if (isSame) return { sql: spark.sql, place };
      for (const use of uses) {
        const view = views.get(use);
        if (view !== undefined) redirect(use, view);
      }
      const edited = await printSql(engine, parsed, signal);
      const again = await parseSql(engine, edited, signal);
      return {
        sql: edited,
        place(bytes) {
          const original = counterpart(again, parsed, bytes);
          return original === undefined ? undefined : place(original);
        },
      };
    },
  };
}

/** The parser counts characters, unlike the tree. */
function parseError(
  parsed: TreeNode,
  text: string,
  sql: string,
  toOriginal: (at: number) => number,
): LabError {
  const type = String(parsed.error_type);
  if (type === "not implemented") {
    return new LabError("SQL_REFUSED", "only queries can be run here", {
      hint: "give one SELECT; tables are changed by the other commands",
      details: { position: 0 },
    });
  }
  const points = parsed.position === undefined ? undefined : Number(String(parsed.position));
  const position = points === undefined ? undefined : toOriginal([...text].slice(0, points).join("").length);
  return sqlError({ type, message: String(parsed.error_message), position: points }, sql, position);
}

/** Nobody gives values for them, and our own stand before the statement. The parser does not keep their places. */
function refuseParameters(tree: TreeNode, sql: string): void {
  visit(tree, (node) => {
    if (node.class !== "PARAMETER") return;
    const message = `the parameter ${String(node.identifier)} has no value: write values into the statement`;
    throw sqlError({ type: "parameter", message, position: undefined }, sql, undefined);
  });
}

/** The value of an AT clause, which DuckDB computes: a constant, or an expression without tables. */
async function pointOf(
  engine: Engine,
  at: NonNullable<TableUse["at"]>,
  sql: string,
  signal: AbortSignal,
): Promise<Point> {
  const bad = (why: string) => {
    const message = `AT (${at.unit} => ...) ${why}`;
    return sqlError({ type: "at", message, position: undefined }, sql, undefined);
  };
  visit(at.expression, (node) => {
    if (node.class === "SUBQUERY") throw bad("takes a value, not a query");
  });
  const row = await rowOf(engine, [at.expression], signal);
  const isVersion = at.unit.toUpperCase() === "VERSION";
  const type = isVersion ? "VARCHAR" : "TIMESTAMP WITH TIME ZONE";
  const column = isVersion ? "CAST(v AS VARCHAR)" : `CAST(epoch_us(CAST(v AS ${type})) AS VARCHAR)`;
  let text: string | undefined;
  try {
    const [found] = await engine.rows(`SELECT ${column} AS value FROM ${row} AS x(v)`, { signal });
    text = found?.value === null || found?.value === undefined ? undefined : String(found.value);
  } catch (error) {
    signal.throwIfAborted();
    throw bad(`cannot be computed: ${complaintOf(error)}`);
  }
  if (text === undefined) throw bad("is NULL");
  if (!isVersion) return { timestampMs: Number(floorDiv(BigInt(text), 1000n)) };
  const version = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(version)) throw bad(`takes a version, not ${text}`);
  return { version };
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

function withPlace(error: unknown, place: (bytes: number) => number): unknown {
  if (!(error instanceof LabError) || typeof error.details.bytePosition !== "number") return error;
  const position = place(error.details.bytePosition);
  return new LabError(error.code, error.message, {
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    details: { position },
    cause: error,
  });
}
