import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { tableFromIPC } from "apache-arrow";
import { parse } from "csv-parse/sync";
import { openEngine } from "../../engine/instance.ts";
import { stream } from "../../engine/result.ts";
import { cellWidth, fit, visible } from "./display.ts";
import { type Format, writeResult } from "./format.ts";

const signal = new AbortController().signal;

async function write(t: TestContext, sql: string, format: Format, width?: number): Promise<Buffer> {
  const engine = await openEngine({
    memoryLimitBytes: 500_000_000,
    threads: 2,
    tempDir: null,
    preserveOrder: true,
  });
  t.after(() => engine.close());
  const pieces: Buffer[] = [];
  const output = {
    write: async (piece: string | Uint8Array) => void pieces.push(Buffer.from(piece as string)),
  };
  await writeResult(await stream(engine, sql, signal), format, output, { width, color: false });
  return Buffer.concat(pieces);
}

const text = async (...args: Parameters<typeof write>) => (await write(...args)).toString();
const lines = async (...args: Parameters<typeof write>) => (await text(...args)).trimEnd().split("\n");

const MIXED = `SELECT range AS id, 'name ' || range AS name, '日本語の長いテキスト🎉' AS wide, range * 1.5 AS amount,
  TIMESTAMPTZ '2024-01-01 10:00:00.123456' AS at, [{'a': 1, 'b': 'x'}] AS nested FROM range(1204)`;

test("a table fits every terminal, in cells, whatever it holds", async (t) => {
  for (const width of [40, 60, 80, 120, 200]) {
    const shown = await lines(t, MIXED, "table", width);
    for (const line of shown.slice(0, -1)) {
      assert.ok(cellWidth(line) <= width, `${width}: ${line}`);
      assert.equal(cellWidth(line), cellWidth(shown[0]!), line);
    }
  }
});

test("of many rows the first and last twenty are shown, with counts", async (t) => {
  const shown = await lines(t, MIXED, "table", 120);
  assert.equal(shown.length, 4 + 20 + 1 + 20 + 1 + 1);
  assert.match(shown[4]!, /^│ +0 │/);
  assert.match(shown[23]!, /^│ +19 │/);
  assert.match(shown[25]!, /^│ +1184 │/);
  assert.match(shown[44]!, /^│ +1203 │/);
  assert.equal(shown.at(-1), "1,204 rows (40 shown)");
  for (const rows of [0, 1, 39, 40, 41, 60, 61, 2047, 2048, 2049, 4096, 4097]) {
    const some = await lines(t, `SELECT range AS id FROM range(${rows})`, "table", 80);
    const ids = some.flatMap((line) => /^│ +(\d+) │$/.exec(line)?.[1] ?? []).map(Number);
    const all = Array.from({ length: rows }, (_, id) => id);
    assert.deepEqual(ids, rows <= 40 ? all : [...all.slice(0, 20), ...all.slice(-20)], `${rows}`);
  }
});

test("numbers are never cut while anything else can give; columns that do not fit are counted", async (t) => {
  const shown = await text(t, "SELECT 9223372036854775807 AS big, repeat('x', 100) AS long", "table", 40);
  assert.match(shown, /│ 9223372036854775807 │ x+… │/);
  const many = Array.from({ length: 30 }, (_, index) => `${index} AS column_${index}`).join(", ");
  const last = (await lines(t, `SELECT ${many}`, "table", 80)).at(-1)!;
  assert.match(last, /^1 row, 30 columns \(\d shown\)$/);
});

test("without a terminal every row and value is there", async (t) => {
  const shown = await lines(t, "SELECT range AS id, repeat('y', 300) AS long FROM range(50)", "table");
  assert.equal(shown.filter((line) => line.includes("y".repeat(300))).length, 50);
  assert.equal(shown.at(-1), "50 rows");
  const growing = await lines(
    t,
    "SELECT repeat('z', (range // 30000)::INT * 50 + 1) AS z FROM range(30001)",
    "table",
  );
  assert.ok(growing.some((line) => line.includes("z".repeat(51))));
});

test("control characters, bidi controls and half surrogates are shown, not obeyed", async (t) => {
  const shown = await text(t, "SELECT chr(27) || '[31m' || chr(10) || chr(8238) || 'x' AS a", "table", 80);
  assert.match(shown, /\\x1b\[31m\\n\\u202ex/);
  assert.equal(visible("a\ud800b"), "a\\ud800b");
});

test("width is counted in terminal cells, and a cut keeps whole characters", () => {
  const cases: [string, number][] = [
    ["abc", 3],
    ["日本", 4],
    ["e\u0301", 1],
    ["🎉", 2],
    ["👩‍👩‍👧‍👦", 2],
    ["\u200b", 0],
    ["한글", 4],
    ["ｱ", 1],
    ["🇨🇿", 2],
  ];
  for (const [sample, width] of cases) assert.equal(cellWidth(sample), width, sample);
  assert.equal(fit("日本語", 5), "日本…");
  assert.equal(fit("日本語", 6), "日本語");
  assert.equal(fit("日本語", 4), "日…");
  assert.equal(fit("👩‍👩‍👧‍👦x👩‍👩‍👧‍👦", 4), "👩‍👩‍👧‍👦x…");
});

test("JSON is one array of objects, also when empty; NDJSON one object a line; no column is lost", async (t) => {
  const sql = "SELECT range AS a, range::VARCHAR AS a, NULL AS n FROM range(3000)";
  const array = JSON.parse(await text(t, sql, "json"));
  assert.equal(array.length, 3000);
  assert.deepEqual(array[7], { a: "7", a_1: "7", n: null });
  assert.deepEqual(JSON.parse(await text(t, "SELECT 1 AS a WHERE false", "json")), []);
  const each = (await lines(t, sql, "ndjson")).map((line) => JSON.parse(line));
  assert.deepEqual(each, array);
  assert.equal(await text(t, "SELECT 1 AS a WHERE false", "ndjson"), "");
});

test("CSV reads back as it was, and tells NULL from the empty text", async (t) => {
  const sql = `SELECT 'a"b,c' AS "x,y", E'line\\nbreak' AS l, NULL AS n, '' AS e, ' s ' AS s, {'k': [1]} AS j, 9007199254740993 AS b`;
  const csv = await text(t, sql, "csv");
  const [header, row] = parse(csv) as string[][];
  assert.deepEqual(header, ["x,y", "l", "n", "e", "s", "j", "b"]);
  assert.deepEqual(row, ['a"b,c', "line\nbreak", "", "", " s ", '{"k":[1]}', "9007199254740993"]);
  assert.match(csv, /,,"",/);
});

test("Markdown keeps its cells apart and hides nothing", async (t) => {
  const [, align, row] = await lines(
    t,
    "SELECT 'a|b' AS x, E'c\\nd' AS y, 5 AS n, '<b>' AS h, '\\' AS s",
    "markdown",
  );
  assert.equal(align, "| --- | --- | ---: | --- | --- |");
  assert.equal(row, "| a\\|b | c<br>d | 5 | &lt;b> | \\\\ |");
});

test("Arrow holds every value exactly, batch after batch", async (t) => {
  const sql = `SELECT range AS id, CASE WHEN range % 3 = 0 THEN NULL ELSE 'é' || range END AS s, (range * 1.25)::DECIMAL(20,2) AS d,
    TIMESTAMPTZ '2024-01-01 00:00:00.000001Z' + to_microseconds(range) AS at, DATE '1969-12-31' AS day, range % 2 = 0 AS b,
    [range, NULL] AS l, {'x': range::TINYINT, 'y': NULL::VARCHAR} AS st, MAP {'k': range} AS m, 'z'::BLOB AS bin,
    -170141183460469231731687303715884105728 // 10 AS huge, 1.5::FLOAT AS f, TIME '10:00:00' AS tm, NULL AS n FROM range(100) ORDER BY id`;
  const table = tableFromIPC(await write(t, sql, "arrow"));
  assert.equal(table.numRows, 100);
  const types = Object.fromEntries(table.schema.fields.map((field) => [field.name, String(field.type)]));
  assert.deepEqual(
    [types.id, types.s, types.at, types.day, types.bin, types.f, types.tm],
    ["Int64", "Utf8", "Timestamp<MICROSECOND, UTC>", "Date32<DAY>", "Binary", "Float32", "Utf8"],
  );
  const row = table.get(4)!.toJSON();
  assert.equal(row.id, 4n);
  assert.equal(row.s, "é4");
  assert.equal(String(row.d), "500");
  assert.equal(row.b, true);
  assert.deepEqual([...row.l], [4n, null]);
  assert.deepEqual(row.st.toJSON(), { x: 4, y: null });
  assert.equal(row.m.toJSON().k, 4n);
  assert.equal(table.getChild("at")!.data[0]!.values[4], 1704067200000005n);
  assert.equal(String(row.huge), "-17014118346046923173168730371588410572");
  assert.equal(table.getChild("s")!.nullCount, 34);
  const empty = tableFromIPC(await write(t, "SELECT 1 AS a WHERE false", "arrow"));
  assert.deepEqual([empty.numRows, empty.schema.fields[0]!.name], [0, "a"]);
});

test("an error in the middle of a result reaches the caller in every form", async (t) => {
  const sql = "SELECT CASE WHEN range = 50000 THEN error('broken') ELSE 'x' END AS a FROM range(100000)";
  for (const format of ["table", "json", "ndjson", "csv", "markdown", "arrow"] as const) {
    await assert.rejects(write(t, sql, format), /broken/, format);
  }
});
