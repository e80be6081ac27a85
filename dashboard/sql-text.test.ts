/** What the SQL editor does to a statement without changing what it means. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { type Engine, openEngine } from "../engine/instance.ts";
import { parseSql, type Tree } from "../engine/sql-tree.ts";

// The page's modules are plain JavaScript.
const load = (name: string) => import(new URL(`./page/${name}`, import.meta.url).href);
const { layOut } = await load("sql-layout.js");
const { tokensOf } = await load("sql-tokens.js");
const { toggleComment } = await load("sql-comment.js");
const { signal } = new AbortController();

let engine: Engine;
before(async () => {
  engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
});
after(() => engine.close());

/** What DuckDB understands, without the places in the text; null where it is no statement. */
async function meaning(sql: string): Promise<string | null> {
  const tree = await parseSql(engine, sql, signal);
  if (tree.error === true) return null;
  const isPlace = (name: string) => name === "query_location";
  return JSON.stringify(tree, (name, value: Tree) => (isPlace(name) ? undefined : value));
}

test("a statement is laid out a clause a line, and its parts a line each where they do not fit", () => {
  const cases: [string, string][] = [
    ["select  1 ", "select 1"],
    [
      "SELECT status,count(*) FROM orders AT (VERSION => 3) WHERE a BETWEEN 1 AND 2 GROUP BY ALL ORDER BY 2 DESC LIMIT 5;",
      "SELECT status, count(*)\nFROM orders AT (VERSION => 3)\nWHERE a BETWEEN 1 AND 2\nGROUP BY ALL\nORDER BY 2 DESC\nLIMIT 5;",
    ],
    [
      "WITH t AS (SELECT a FROM x) SELECT * FROM t LEFT JOIN u ON t.a = u.a WHERE b IN (FROM z)",
      "WITH t AS (\n  SELECT a\n  FROM x\n)\nSELECT *\nFROM t\nLEFT JOIN u ON t.a = u.a\nWHERE b IN (\n  FROM z\n)",
    ],
    [
      `SELECT ${Array.from({ length: 9 }, (_, n) => `column_number_${n}`).join(",")} FROM t`,
      `SELECT\n${Array.from({ length: 9 }, (_, n) => `  column_number_${n}`).join(",\n")}\nFROM t`,
    ],
    ["SELECT a, -- first\nb FROM t", "SELECT\n  a, -- first\n  b\nFROM t"],
    ["-- above\nSELECT 1\n-- of it\nFROM t", "-- above\nSELECT 1\n-- of it\nFROM t"],
    [
      "SELECT extract(year FROM d), a IS DISTINCT FROM b",
      "SELECT extract(year FROM d), a IS DISTINCT FROM b",
    ],
    ["SELECT '  a '' b', $x$ c  d $x$, \"e  f\"", "SELECT '  a '' b', $x$ c  d $x$, \"e  f\""],
    ["", ""],
  ];
  for (const [sql, laidOut] of cases) assert.equal(layOut(sql), laidOut);
});

test("what has no end is left as it is", () => {
  for (const sql of [
    "SELECT 'a",
    'SELECT "a',
    "SELECT (1",
    "SELECT 1)",
    "SELECT [1)",
    "SELECT $$ a",
    "SELECT 1 /* a",
    "(",
  ])
    assert.equal(layOut(sql), null, sql);
  assert.equal(layOut("(".repeat(100_000) + ")".repeat(100_000)), null);
});

const TEXTS = ["'a  b'", "'it''s -- no comment'", "E'\\'  \\\\'", '"na  me"', "$$ x  'y $$", "$t$ $$ \n $t$"];
const GAPS = [
  " ",
  "  ",
  "\n",
  "\t\r\n ",
  " -- remark\n",
  "\n-- alone '\n",
  ' /* a /* b */ " */ ',
  "\n/* alone */\n",
];
const gap = fc.constantFrom(...GAPS);

/** Tokens of statements, most of which DuckDB understands. */
const { query } = fc.letrec<{ value: string[]; condition: string[]; query: string[] }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("a", "t.b", "1", "-1", "*", "1e5", ".5", ...TEXTS).map((one) => [one]),
    fc
      .tuple(tie("value"), fc.constantFrom("+", "- -", "->", "->>", "||", "::"), tie("value"))
      .map(([a, mark, b]) => (mark === "::" ? [...a, "::", "VARCHAR"] : [...a, mark, ...b])),
    tie("value").map((one) => ["f(", ...one, ",", "[", "1", ",", "2", "]", ")"]),
    fc
      .tuple(tie("condition"), tie("value"))
      .map(([when, then]) => ["CASE WHEN", ...when, "THEN", ...then, "END"]),
    tie("query").map((one) => ["(", ...one, ")"]),
    fc.constant<string[]>(["count(*) FILTER (WHERE a > 1) OVER (PARTITION BY b ORDER BY c)"]),
    fc.constant<string[]>(["extract(year FROM d)"]),
  ),
  condition: fc.oneof(
    { depthSize: "small" },
    fc
      .tuple(tie("value"), fc.constantFrom("=", "<>", "IS DISTINCT FROM", "LIKE"), tie("value"))
      .map(([a, mark, b]) => [...a, mark, ...b]),
    fc.tuple(tie("value"), tie("value")).map(([a, b]) => [...a, "BETWEEN", "1", "AND", ...b]),
    fc
      .tuple(tie("condition"), fc.constantFrom("AND", "OR"), tie("condition"))
      .map(([a, word, b]) => [...a, word, ...b]),
    fc.tuple(tie("value"), tie("query")).map(([a, b]) => [...a, "IN", "(", ...b, ")"]),
  ),
  query: fc
    .tuple(
      fc.constantFrom<string[]>(
        [],
        ["WITH", "w", "AS", "(", "SELECT", "1", ")"],
        ["SELECT", "2", "UNION ALL BY NAME"],
      ),
      fc.array(tie("value"), { minLength: 1, maxLength: 4 }),
      fc.constantFrom<string[]>(
        [],
        ["FROM", "t", "AT (VERSION => 3)"],
        ["FROM", "t", ",", "u"],
        ["FROM", "t", "ASOF", "LEFT", "JOIN", "u", "ON", "t.a = u.a", "AND", "t.b >= u.b"],
      ),
      fc.option(tie("condition"), { nil: null }),
      fc.constantFrom<string[]>([], ["GROUP", "BY", "ALL"], ["GROUP BY", "a", ",", "b", "HAVING", "c"]),
      fc.constantFrom<string[]>([], ["ORDER", "BY", "1", ",", "2", "DESC"], ["LIMIT", "1", "OFFSET", "2"]),
    )
    .map(([first, values, from, where, group, end]) => [
      ...first,
      "SELECT",
      ...values.flatMap((value, n) => (n === 0 ? value : [",", ...value])),
      ...from,
      ...(where === null ? [] : ["WHERE", ...where]),
      ...group,
      ...end,
    ]),
}));
const statement = query.chain((tokens) =>
  fc
    .array(gap, { minLength: tokens.length, maxLength: tokens.length })
    .map((gaps) => tokens.map((token, n) => token + gaps[n]).join("")),
);

test("a statement that is laid out means what it meant, to DuckDB; laid out again it stays as it is", async () => {
  let understood = 0;
  await fc.assert(
    fc.asyncProperty(statement, async (sql) => {
      const laidOut = layOut(sql);
      const before = await meaning(sql);
      assert.equal(await meaning(laidOut), before);
      assert.equal(layOut(laidOut), laidOut);
      if (before !== null) understood++;
    }),
  );
  assert.ok(understood > 20, `${understood} of 100 were statements`);
});

test("whatever is typed, only white space changes", () => {
  const pieces = fc.constantFrom(
    ...TEXTS,
    ...GAPS,
    "'",
    '"',
    "$$",
    "--",
    "/*",
    "*/",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "E",
    "\\",
    "a$b$",
    "é",
    "😀",
    "SELECT",
    "FROM",
    "AND",
    "-",
    ">",
    "1",
  );
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 30 }).map((all) => all.join("")),
      (sql) => {
        const laidOut = layOut(sql);
        if (laidOut === null) return;
        const bare = (text: string) =>
          tokensOf(text)?.tokens.map(({ kind, text }: Record<string, string>) => [kind, text]);
        assert.deepEqual(bare(laidOut), bare(sql));
        assert.equal(layOut(laidOut), laidOut);
      },
    ),
  );
});

test("comments come and go with one key, for all lines that the selection touches", () => {
  const press = (sql: string, start: number, end = start) => {
    const { from, to, text, ...selection } = toggleComment(sql, start, end);
    return [sql.slice(0, from) + text + sql.slice(to), selection.start, selection.end];
  };
  assert.deepEqual(press("SELECT 1", 3), ["-- SELECT 1", 6, 6]);
  assert.deepEqual(press("-- SELECT 1", 6), ["SELECT 1", 3, 3]);
  assert.deepEqual(press("  a\n\n    b\nc", 2, 10), ["  -- a\n\n  --   b\nc", 5, 16]);
  assert.deepEqual(press("  -- a\n\n  --   b\nc", 5, 16), ["  a\n\n    b\nc", 2, 10]);
  assert.deepEqual(press("--a\n  -- b", 0, 10), ["a\n  b", 0, 5]);
  assert.deepEqual(press("a\n-- b", 0, 6), ["-- a\n-- -- b", 3, 12]);
  assert.deepEqual(
    press("a\nb", 0, 2),
    ["-- a\nb", 3, 5],
    "a line that the selection only ends before stays",
  );
  assert.deepEqual(press("", 0), ["-- ", 3, 3]);
});

test("lines that are made comments and made lines again are as they were, and so is the selection", () => {
  const line = fc.array(fc.constantFrom(" ", "a", "-", "é"), { maxLength: 6 }).map((all) => all.join(""));
  const text = fc.array(line, { minLength: 1, maxLength: 5 }).map((all) => all.join("\n"));
  fc.assert(
    fc.property(text, fc.nat(40), fc.nat(40), (sql, a, b) => {
      const [start, end] = [Math.min(a, b, sql.length), Math.min(Math.max(a, b), sql.length)];
      const once = toggleComment(sql, start, end);
      const made = sql.slice(0, once.from) + once.text + sql.slice(once.to);
      fc.pre(made.length > sql.length);
      const twice = toggleComment(made, once.start, once.end);
      assert.equal(made.slice(0, twice.from) + twice.text + made.slice(twice.to), sql);
      assert.deepEqual([twice.start, twice.end], [start, end]);
    }),
  );
});
