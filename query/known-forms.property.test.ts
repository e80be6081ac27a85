import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openEngine } from "../engine/instance.ts";
import { parseSql } from "../engine/sql-tree.ts";
import { knownForms } from "./known-forms.ts";
import { traitsOf } from "./named-columns.ts";

const signal = new AbortController().signal;

const whole = fc.oneof(
  fc.integer({ min: 0, max: 3000 }).map(String),
  fc.constantFrom("2147483647", "2147483648", "9223372036854775807", "99999999999999999999", "007", "1_000"),
);
const number = fc.oneof(
  whole,
  fc.constantFrom(
    "0.5",
    "0.25",
    "12.50",
    "12.05",
    "00.5",
    ".5",
    "5.",
    "1e3",
    "1.5e3",
    "0x1F",
    "-5",
    "- 5",
    "+5",
  ),
);
const quoted = fc.constantFrom(
  "'a'",
  "'ab'",
  "''",
  "'it''s'",
  "'1'",
  "'it''s ''on'''",
  "'a%'",
  "'--'",
  "'ü'",
  "'t'",
);
const text = fc.oneof(
  quoted,
  fc.constantFrom("E'a\\n'", "e'ab'", "x'41'", "$$a$$", "'a'\n'b'", "'a' /* c */", "'a' -- c\n"),
);
const day = fc.constantFrom("2026-01-01", "2026-12-31").map((value) => `DATE '${value}'`);
const interval = fc
  .tuple(fc.constantFrom("1", "12", "'1'", "'12'"), fc.constantFrom("DAY", "HOUR"))
  .map(([count, unit]) => `INTERVAL ${count} ${unit}`);
const spelled = fc.constantFrom("INTERVAL '1 day'", "INTERVAL '2 hours'", "NULL", "true", "DATE'2026-01-02'");
/** What the two statements have in the same place: mostly of one kind, as else they are seldom alike. */
const kinds = [number, whole, quoted, text, day, interval, spelled];
const constants = fc.oneof(
  ...kinds.map((kind) => fc.tuple(kind, kind)),
  fc.tuple(fc.oneof(...kinds), number),
);
const type = fc.oneof(
  fc.constantFrom("BIGINT", "VARCHAR"),
  fc
    .tuple(fc.integer({ min: 2, max: 38 }), fc.integer({ min: 0, max: 2 }))
    .map(([w, s]) => `DECIMAL(${w}, ${s})`),
);
const alias = fc.constantFrom("a", '"a 1"', '"its"', "x1", "'n'", "'m'");

/** Each takes its constants, in turns, of those that are given. */
const condition = fc.constantFrom<(next: () => string, of: { type: string; alias: string }) => string>(
  (next) => `id BETWEEN ${next()} AND ${next()}`,
  (next) => `id IN (${next()}, ${next()}, ${next()})`,
  (next) => `note LIKE ${next()}`,
  (next) => `note LIKE ${next()} ESCAPE ${next()}`,
  (next, of) => `id > ${next()}::${of.type}`,
  (next) => `s['a'] = ${next()} OR l[${next()}] = l[1:${next()}]`,
  (next) => `at > now() - ${next()}`,
  (next) => `${next()} < id+${next()}`,
  (next) => `id = (SELECT max(x) FROM (VALUES (${next()}), (${next()})) AS v(x) LIMIT ${next()})`,
  (next) => `list_contains([${next()}, ${next()}], id) AND m = MAP {${next()}: ${next()}}`,
  (next) => `CASE WHEN id = ${next()} THEN ${next()} ELSE ${next()} END IS NOT NULL`,
);
const statement = fc.constantFrom<
  (next: () => string, of: { type: string; alias: string; where: string }) => string
>(
  (_, { where }) => `SELECT count(*) FROM t WHERE ${where}`,
  (next, { where, alias: name }) =>
    `SELECT ${next()} AS ${name}, id FROM t WHERE ${where} ORDER BY ${next()}`,
  (next, { where }) => `FROM t WHERE ${where} LIMIT ${next()} OFFSET ${next()}`,
  (next, { where }) => `SELECT * FROM t WHERE ${where} LIMIT ${next()}%`,
  (next, { where, type: cast }) =>
    `SELECT CAST(${next()} AS ${cast}) FROM t JOIN u USING (id) WHERE ${where}`,
  (next, { where }) => `SELECT id FROM t TABLESAMPLE ${next()} ROWS WHERE ${where} GROUP BY ${next()}`,
  (next, { where }) =>
    `WITH a AS (SELECT ${next()}) SELECT * FROM a, t WHERE ${where} UNION ALL SELECT ${next()}`,
  (next, { where }) => `SELECT COLUMNS(${next()}), t.* REPLACE (${next()} AS id) FROM t WHERE ${where}`,
  (next, { where }) =>
    `SELECT * FROM (PIVOT t ON id IN (${next()}, ${next()}) USING count(*)) WHERE ${where}`,
  (next, { where }) => `SELECT * FROM t AT (VERSION => ${next()}) WHERE ${where}`,
  (next, { where }) => `SELECT #${next()}, \n\t "a'b" FROM t WHERE ${where}`,
);

const given = fc.record({ constants: fc.array(constants, { minLength: 1, maxLength: 8 }), type, alias });

test("a tree that is known by its form is the one that the parser gives, whatever the constants and wherever they stand", async (t) => {
  const engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
  t.after(() => engine.close());
  await fc.assert(
    fc.asyncProperty(statement, condition, given, given, async (makeStatement, makeCondition, one, other) => {
      const write = (side: 0 | 1, rest: Omit<typeof one, "constants">) => {
        let taken = 0;
        const next = () => one.constants[taken++ % one.constants.length]![side];
        return makeStatement(next, { ...rest, where: makeCondition(next, rest) });
      };
      const first = write(0, one);
      const parsed = await parseSql(engine, first, signal);
      if (parsed.error === true) return;
      const forms = knownForms();
      forms.note(first, parsed, traitsOf(parsed));
      for (const like of [first, write(1, one), write(1, other)]) {
        const found = forms.find(like);
        if (found === undefined) continue;
        const tree = await parseSql(engine, like, signal);
        assert.deepEqual(found, { tree, traits: traitsOf(tree) }, `${first}\n${like}`);
      }
    }),
    { numRuns: 400 },
  );
});
