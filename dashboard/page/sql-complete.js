/** What could be typed next in a statement: tables after FROM, columns of its tables elsewhere, and DuckDB's words. Pure. */

const WORDS = [
  ...[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "GROUP BY ALL",
    "ORDER BY",
    "LIMIT",
    "JOIN",
    "LEFT JOIN",
    "USING",
    "ON",
    "AS",
    "AND",
    "OR",
  ],
  ...[
    "NOT",
    "NULL",
    "IS",
    "IN",
    "BETWEEN",
    "LIKE",
    "DISTINCT",
    "HAVING",
    "UNION ALL",
    "WITH",
    "DESC",
    "ASC",
    "CASE",
    "WHEN",
    "THEN",
    "END",
  ],
  ...[
    "AT (VERSION => 0)",
    "AT (TIMESTAMP => '')",
    "count(*)",
    "sum()",
    "avg()",
    "min()",
    "max()",
    "CAST()",
    "date_trunc('minute', )",
  ],
];

/** @typedef {{ text: string, kind: "table" | "column" | "word", note: string }} Offer */

/** The piece of a name that ends at the cursor. @param {string} sql @param {number} at */
export const pieceAt = (sql, at) => /[A-Za-z_][\w]*$/.exec(sql.slice(0, at))?.[0] ?? "";

/** Names that follow FROM or JOIN, wherever they stand. @param {string} sql */
export const tablesIn = (sql) =>
  [...sql.matchAll(/\b(?:from|join)\s+(?:"((?:[^"]|"")+)"|([A-Za-z_]\w*))/gi)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "",
  );

/**
 * @param {string} sql @param {number} at where the cursor is
 * @param {{ tables: readonly string[], columns: readonly { table: string, name: string, type: string }[] }} known
 * @returns {Offer[]} at most 12; what begins with the piece that is typed
 */
export function offersAt(sql, at, { tables, columns }) {
  const piece = pieceAt(sql, at).toLowerCase();
  const before = sql.slice(0, at - piece.length);
  const isTable = /\b(from|join)\s+"?$/i.test(before);
  const used = new Set(tablesIn(sql).map((name) => name.toLowerCase()));
  /** @type {Offer[]} */
  const ofTables = tables.map((name) => ({ text: quoted(name), kind: "table", note: "table" }));
  /** @type {Offer[]} */
  const ofColumns = [...columns]
    .sort((a, b) => Number(used.has(b.table.toLowerCase())) - Number(used.has(a.table.toLowerCase())))
    .map(({ table, name, type }) => ({ text: quoted(name), kind: "column", note: `${table}, ${type}` }));
  /** @type {Offer[]} */
  const words = piece === "" ? [] : WORDS.map((text) => ({ text, kind: "word", note: "" }));
  const all = isTable ? ofTables : [...ofColumns, ...ofTables, ...words];
  const fits = all.filter(
    ({ text }) => text.replace(/^"/, "").toLowerCase().startsWith(piece) && text.toLowerCase() !== piece,
  );
  return fits.filter(({ text }, n) => fits.findIndex((one) => one.text === text) === n).slice(0, 12);
}

/** The statement with the piece at the cursor replaced, and where the cursor is then. @param {string} sql @param {number} at @param {string} text */
export function accept(sql, at, text) {
  const start = at - pieceAt(sql, at).length;
  return { sql: sql.slice(0, start) + text + sql.slice(at), at: start + text.length };
}

/** @param {string} name */
const quoted = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
