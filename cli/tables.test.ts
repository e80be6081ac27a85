import assert from "node:assert/strict";
import { test } from "node:test";
import { besideOf } from "./beside.ts";
import { tablesPage } from "./tables.ts";

const NAMES = [
  "people",
  "people__deletes",
  "people__dead_letters",
  "people__dead_letters_state",
  "a__deletes",
];

function listed(name: string, names: readonly string[] = NAMES) {
  const at = { id: "1", version: 3, timestamp: "2026-11-29T20:15:03.000Z" };
  const size = { rows: "4", numFiles: 1, sizeBytes: "100", partitionColumns: [] };
  return { name, uri: `/${name}`, ...at, ...size, problem: null, beside: besideOf(name, names) };
}

test("tables of letters and of deleted keys tell whose they are; a table that is only called so does not", () => {
  const { heads, rows } = tablesPage(NAMES.map((name) => listed(name)));
  assert.deepEqual(
    heads.slice(0, 3).map(({ name }) => name),
    ["table", "of", "version"],
  );
  assert.deepEqual(
    rows.map(([name, of]) => [name, of]),
    NAMES.map((name) => [name, ["people", "a__deletes"].includes(name) ? "" : "people"]),
  );
  assert.deepEqual(
    NAMES.map((name) => besideOf(name, NAMES)?.holds),
    [undefined, "deleted keys", "dead letters", "what became of letters", undefined],
  );
});

test("letters belong to their table before it is there", () => {
  assert.deepEqual(besideOf("late__dead_letters", []), { table: "late", holds: "dead letters" });
});

test("where all tables are their own, nothing is told of it", () => {
  const { heads, rows } = tablesPage([listed("people", ["people"])]);
  assert.equal(heads[1]?.name, "version");
  assert.equal(rows[0]?.length, heads.length);
});
