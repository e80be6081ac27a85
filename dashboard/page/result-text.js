/** What of a statement and its result is text: where an error is, and rows to be copied. Pure. */

/** @typedef {import("../tables.ts").QueryAnswer} Answer */

/** The line of the error with a caret under the place. @param {string} sql @param {number | undefined} position */
export function pointAt(sql, position) {
  if (position === undefined || position > sql.length) return [];
  const start = sql.slice(0, position).lastIndexOf("\n") + 1;
  const end = sql.indexOf("\n", position);
  return [sql.slice(start, end < 0 ? undefined : end), `${" ".repeat(position - start)}^`];
}

/** A result as CSV (RFC 4180: NULL is empty, empty text is "") or TSV. @param {Pick<Answer, "columns" | "rows">} answer @param {string} mark */
export function delimited({ columns, rows }, mark) {
  const text = (/** @type {unknown} */ value) => {
    if (value === null || value === undefined) return "";
    const plain = typeof value === "object" ? JSON.stringify(value) : String(value);
    return plain === "" || plain.includes(mark) || /["\r\n]/.test(plain)
      ? `"${plain.replaceAll('"', '""')}"`
      : plain;
  };
  return [columns.map(({ name }) => name), ...rows].map((row) => `${row.map(text).join(mark)}\r\n`).join("");
}
