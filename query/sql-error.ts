/** What DuckDB complains of, in one line and with its place in the statement as it was typed. */

import { isLabError, LabError } from "../core/errors.ts";

/** DuckDB's own form of an error where `errors_as_json` is on, and of the parser's answer. */
type EngineError = { type: string; message: string; position: number | undefined };

/**
 * An error of a statement as SQL_ERROR, or QUERY_LIMIT where it ran out of memory. `place` turns the engine's position into one of
 * the typed text. What is a LabError already, or no error of the engine, is given back as it is.
 */
export function asSqlError(
  error: unknown,
  sql: string,
  place: (error: EngineError) => number | undefined,
): unknown {
  if (isLabError(error)) return error;
  const found = engineError(error);
  return found === undefined ? error : sqlError(found, sql, place(found), error);
}

/** Whether the engine could not read a file, or complains of one by its name. */
export function isReadError(error: unknown): boolean {
  const found = engineError(error);
  return (
    found !== undefined &&
    (found.type === "IO" || /\bfile ['"]|\bencoding is only supported\b/i.test(found.message))
  );
}

/** Whether the engine complains of the statement as such: nothing of it has run. */
export function isStatementError(error: unknown): boolean {
  return ["Binder", "Catalog", "Parser"].includes(engineError(error)?.type ?? "");
}

/** The first line of what the engine complains of; of another error that of its message. */
export function complaintOf(error: unknown): string {
  const text = engineError(error)?.message ?? (error instanceof Error ? error.message : String(error));
  return text.split("\n", 1)[0]!;
}

export function sqlError(
  found: EngineError,
  sql: string,
  position: number | undefined,
  cause?: unknown,
): LabError {
  const message = found.message
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
  if (/^out of memory$/i.test(found.type)) {
    return new LabError(
      "QUERY_LIMIT",
      `the query needs more memory than it may use: ${message.slice(0, 120)}`,
      {
        hint: "read fewer columns or rows, or aggregate in steps",
        cause,
      },
    );
  }
  const at = position === undefined ? "" : ` at ${lineAndColumn(sql, position)}`;
  return new LabError("SQL_ERROR", `${message}${at}`, {
    hint: /does not exist|not found/i.test(message)
      ? "`lab show TABLE` lists the columns of a table"
      : "one SELECT in DuckDB's SQL, for example: SELECT * FROM orders LIMIT 5",
    details: { position },
    cause,
  });
}

function engineError(error: unknown): EngineError | undefined {
  if (!(error instanceof Error)) return undefined;
  const json = /\{"exception_type".*\}$/s.exec(error.message)?.[0];
  if (json === undefined) return undefined;
  try {
    const { exception_type, exception_message, position } = JSON.parse(json) as Record<string, string>;
    const place = position === undefined ? undefined : Number(position);
    return { type: exception_type ?? "", message: exception_message ?? error.message, position: place };
  } catch {
    return { type: "", message: error.message, position: undefined };
  }
}

function lineAndColumn(sql: string, position: number): string {
  const before = sql.slice(0, position).split("\n");
  return `line ${before.length}, column ${[...before.at(-1)!].length + 1}`;
}

/** DuckDB counts bytes of UTF-8 in trees and in errors of binding; JavaScript counts UTF-16 units. */
export function charactersOf(sql: string, bytes: number): number {
  return Buffer.from(sql).subarray(0, bytes).toString().length;
}
