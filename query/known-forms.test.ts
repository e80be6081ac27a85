import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Engine, openEngine } from "../engine/instance.ts";
import { parseSql } from "../engine/sql-tree.ts";
import { knownForms } from "./known-forms.ts";
import { traitsOf } from "./named-columns.ts";
import { redirect, tableUses } from "./syntax-tree.ts";

const signal = new AbortController().signal;
let engine: Engine;

before(async () => {
  engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
});
after(() => engine.close());

/** Whether the second is known after the first was parsed; if so, it is what the parser gives. */
async function isKnown(first: string, second: string): Promise<boolean> {
  const forms = knownForms();
  const parsed = await parseSql(engine, first, signal);
  forms.note(first, parsed, traitsOf(parsed));
  const found = forms.find(second);
  if (found !== undefined) {
    const tree = await parseSql(engine, second, signal);
    assert.deepEqual(found, { tree, traits: traitsOf(tree) }, second);
  }
  return found !== undefined;
}

test("statements are alike whose constants differ, however long they are", async () => {
  for (const [first, second] of [
    [
      "SELECT sum(a)::VARCHAR FROM t WHERE id BETWEEN 5 AND 10",
      "SELECT sum(a)::VARCHAR FROM t WHERE id BETWEEN 150000 AND 7",
    ],
    ["SELECT a FROM t WHERE day = '2026-01-01' LIMIT 3", "SELECT a FROM t WHERE day = '' LIMIT 300"],
    ["SELECT a FROM t WHERE day = DATE '2026-01-01'", "SELECT a FROM t WHERE day = DATE '2025-12-31'"],
    ["SELECT a FROM t WHERE x > 0.501 AND n = 'it''s'", "SELECT a FROM t WHERE x > 0.999 AND n = 'they''re'"],
    ["SELECT a FROM t WHERE b IN ('x', 'y') OR c", "SELECT a FROM t WHERE b IN ('xyz', '') OR c"],
  ] as const)
    assert.equal(await isKnown(first, second), true, second);
});

test("statements are not alike where a literal has another type, or stands for more than a constant", async () => {
  for (const [first, second] of [
    ["SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = 5000000000"],
    ["SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = 5.0"],
    ["SELECT a FROM t WHERE x > 0.5", "SELECT a FROM t WHERE x > 0.55"],
    ["SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = '5'"],
    ["SELECT a::DECIMAL(10, 2) FROM t", "SELECT a::DECIMAL(10, 3) FROM t"],
    ["SELECT a AS 'x' FROM t", "SELECT a AS 'y' FROM t"],
    ["SELECT a FROM t WHERE id = -5", "SELECT a FROM t WHERE id = -6"],
    ["SELECT a FROM t WHERE n = e'a'", "SELECT a FROM t WHERE n = e'b'"],
    ["SELECT a FROM t WHERE id = 5 -- 1", "SELECT a FROM t WHERE id = 6 -- 1"],
    ["SELECT a FROM t AT (VERSION => 1)", "SELECT a FROM t AT (VERSION => 2)"],
    ["SELECT a FROM t1 WHERE id = 5", "SELECT a FROM t2 WHERE id = 5"],
  ] as const)
    assert.equal(await isKnown(first, second), false, second);
});

test("one who changes the tree of a statement changes no other's", async () => {
  const forms = knownForms();
  const sql = "SELECT a FROM t WHERE id = 5";
  const parsed = await parseSql(engine, sql, signal);
  const untouched = JSON.stringify(parsed);
  forms.note(sql, parsed, traitsOf(parsed));
  redirect(tableUses(parsed)[0]!, "another");
  const found = forms.find(sql)!.tree;
  assert.equal(JSON.stringify(found), untouched);
  redirect(tableUses(found)[0]!, "another");
  assert.equal(JSON.stringify(forms.find(sql)!.tree), untouched);
});

test("forms that were not noted for long are forgotten", async () => {
  const forms = knownForms();
  const note = async (sql: string) => {
    const tree = await parseSql(engine, sql, signal);
    forms.note(sql, tree, traitsOf(tree));
  };
  await note("SELECT first FROM t");
  for (let n = 0; n < 300; n++) await note(`SELECT c${n} FROM t`);
  assert.equal(forms.find("SELECT first FROM t"), undefined);
  assert.notEqual(forms.find("SELECT c299 FROM t"), undefined);
});
