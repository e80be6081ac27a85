import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import type { VersionEntry } from "./tables.ts";

// The page's modules are plain JavaScript; their own types are checked by the last test.
const load = (name: string) => import(new URL(`./page/${name}`, import.meta.url).href);
const address = await load("address.js");
const format = await load("format.js");
const model = await load("model.js");
const words = await load("flow-words.js");
const nested = await load("nested.js");
const zoom = await load("zoom.js");
const sql = await load("result-text.js");

function entry(version: number, change: Partial<VersionEntry> = {}): VersionEntry {
  return {
    ...{ version, timestamp: "2026-11-29T20:00:00.000000Z", operation: "STREAMING UPDATE" },
    ...{ rowsAdded: "10", rowsRemoved: "0", filesAdded: 1, filesRemoved: 0, offsets: [] },
    ...{ bytesAdded: "2048", bytesRemoved: "0", durationMs: 84, hasMetadata: false },
    ...change,
  };
}

test("an address and the state it stands for are each other's inverse, whatever the names", () => {
  const route = fc.record({
    // No folder has these two names, and a path takes them for itself and its parent.
    table: fc.string({ minLength: 1, unit: "grapheme" }).filter((name) => name !== "." && name !== ".."),
    tab: fc.constantFrom("rows", "schema", "files", "compare", "commit", "sql", "letters", "upkeep", "break"),
    version: fc.option(fc.nat()),
    from: fc.option(fc.nat()),
    to: fc.option(fc.nat()),
    sql: fc.string({ unit: "grapheme" }),
    point: fc.option(fc.constantFrom("2026-11-29T20:15:03Z", "0:1234")),
  });
  fc.assert(
    fc.property(route, (given) => {
      const isCompare = given.tab === "compare";
      const expected = {
        ...given,
        ...(isCompare ? { point: null } : { from: null, to: null }),
        ...(given.tab === "sql" || given.version !== null ? { point: null } : {}),
        sql: given.tab === "sql" ? given.sql : null,
      };
      assert.deepEqual(address.parseAddress(address.formatAddress(given)), expected);
    }),
  );
});

test("a broken address is the nearest state that makes sense", () => {
  const nothing = address.NOWHERE;
  for (const text of ["/", "/t/", "/t/%ff", "/x/y"])
    assert.deepEqual(address.parseAddress(text), nothing, text);
  for (const text of ["?version=", "?version=-1", "?version=x", "?version=1e3"])
    assert.deepEqual(address.parseAddress(`/t/orders/nothing${text}`), { ...nothing, table: "orders" }, text);
});

test("counts are exact, whatever their length, and unknown is a question mark", () => {
  assert.equal(format.count("9007199254740993123"), "9,007,199,254,740,993,123");
  assert.deepEqual([null, 0, "999", 1000, "-1204"].map(format.count), ["?", "0", "999", "1,000", "-1,204"]);
  assert.deepEqual([null, 0, 0.25, 9.99, 1234.4].map(format.rate), ["?", "0/s", "0.3/s", "10/s", "1,234/s"]);
  assert.deepEqual(["0", "1", "1023", "1024", "1048576"].map(format.bytes), [
    ...["0 bytes", "1 byte", "1,023 bytes", "1.0 KiB", "1.0 MiB"],
  ]);
  assert.deepEqual([0, 9_940, 89_000, 91_000, 86_400_000 * 3].map(format.duration), [
    ...["0.0 s", "9.9 s", "89 s", "2 min", "3 days"],
  ]);
});

test("a time has its zone, and its date if that is another one", () => {
  const today = Date.parse("2026-11-29T23:00:00Z");
  assert.equal(format.clock("2026-11-29T20:15:03.123456Z", today), "20:15:03Z");
  assert.equal(format.clock("2026-11-28T20:15:03.123456Z", today), "2026-11-28 20:15:03Z");
});

test("characters that would hide or reorder text are shown as code points; NULL is not a text", () => {
  assert.equal(
    format.cell("a\u0000b\u202ec\u200d", "VARCHAR"),
    "a\u27e8U+0000\u27e9b\u27e8U+202E\u27e9c\u27e8U+200D\u27e9",
  );
  assert.equal(format.cell("NULL", "VARCHAR"), "NULL");
  assert.equal(format.cell(null, "VARCHAR"), null);
  assert.equal(format.cell({ a: ["1"] }, "STRUCT(a VARCHAR[])"), '{"a":["1"]}');
  assert.deepEqual(["BIGINT", "decimal(12,2)", "long", "UINTEGER"].map(format.isNumeric), [
    true,
    true,
    true,
    true,
  ]);
  assert.deepEqual(["VARCHAR", "BIGINT[]", "struct<a: long>", "interval"].map(format.isNumeric), [
    ...[false, false, false, false],
  ]);
});

test("longs and decimals in nested values are numbers, exactly; text that looks like one stays text", () => {
  const cases: [unknown, string, string][] = [
    [
      { topic: "1", partition: 0, offset: "9007199254740993" },
      'STRUCT(topic VARCHAR, "partition" INTEGER, "offset" BIGINT)',
      '{"topic":"1","partition":0,"offset":9007199254740993}',
    ],
    [{ a: "1", b: "2" }, "struct<a: long, b: string>", '{"a":1,"b":"2"}'],
    [["1", null], "BIGINT[]", "[1,null]"],
    [[["0.50"], []], "DECIMAL(10,2)[][]", "[[0.50],[]]"],
    [{ x: "1" }, "MAP(VARCHAR, BIGINT)", '{"x":1}'],
    [[["1", "2"]], "MAP(BIGINT, VARCHAR)", '[[1,"2"]]'],
    [[{ key: "1", value: "Mg==" }], 'STRUCT("key" VARCHAR, "value" BLOB)[]', '[{"key":"1","value":"Mg=="}]'],
    [{ 'a "b", c': "7" }, 'STRUCT("a ""b"", c" HUGEINT)', '{"a \\"b\\", c":7}'],
    [{ a: { b: ["3"] } }, "struct<a: struct<b: array<long>>>", '{"a":{"b":[3]}}'],
    [{ n: "NaN" }, "STRUCT(n DOUBLE)", '{"n":"NaN"}'],
    [{ a: "1" }, "what is this", '{"a":"1"}'],
  ];
  for (const [value, type, text] of cases) {
    assert.equal(nested.nestedText(value, type), text, type);
    assert.deepEqual(JSON.parse(nested.nestedText(value, type, "  ")), JSON.parse(text), `${type}, in lines`);
  }
  assert.equal(nested.nestedText({ a: ["1"] }, "STRUCT(a BIGINT[])", "  "), '{\n  "a": [\n    1\n  ]\n}');
});

test("rows after each version are counted from version 0, past an optimize", () => {
  const entries = [
    entry(0, { rowsAdded: "0", filesAdded: 0 }),
    entry(1),
    entry(2, { operation: "OPTIMIZE", rowsAdded: "10", filesRemoved: 4 }),
    entry(3, { operation: "DELETE", rowsAdded: "0", rowsRemoved: "4" }),
  ];
  assert.deepEqual(model.rowsAfter(entries, null), [0, 10, 10, 6]);
});

test("where a version does not say its rows, a version that is known in full carries the count on both sides", () => {
  const entries = [entry(7), entry(8), entry(9, { rowsAdded: null }), entry(10)];
  assert.deepEqual(
    model.rowsAfter(entries, null),
    [null, null, null, null],
    "the log begins at 7: nothing to count from",
  );
  assert.deepEqual(model.rowsAfter(entries, { version: 8, rows: "50" }), [40, 50, null, null]);
  assert.deepEqual(model.rowsAfter(entries, { version: 10, rows: "99" }), [null, null, 89, 99]);
  assert.deepEqual(model.rowsAfter(entries, { version: 8, rows: null }), [null, null, null, null]);
  const whole = [entry(0), entry(1, { rowsAdded: null }), entry(2)];
  assert.deepEqual(model.rowsAfter(whole, { version: 2, rows: "70" }), [10, 60, 70]);
});

test("each kind of version has its shape and its words", () => {
  const cases: [Partial<VersionEntry>, string, string][] = [
    [{}, "append", "10 rows added"],
    [{ rowsAdded: "1" }, "append", "1 row added"],
    [{ rowsAdded: null }, "append", "1 file added, rows not counted"],
    [
      { operation: "OPTIMIZE", rowsAdded: "0", filesRemoved: 40 },
      "optimize",
      "40 files became 1, rows unchanged",
    ],
    [{ operation: "DELETE", rowsAdded: "0", rowsRemoved: "3", filesRemoved: 1 }, "change", "3 rows removed"],
    [{ operation: "MERGE", rowsRemoved: null }, "change", "10 rows added, rows removed not counted"],
    [{ operation: "MERGE", rowsRemoved: "0" }, "append", "10 rows added"],
    [{ operation: "ADD COLUMNS", rowsAdded: "0", filesAdded: 0 }, "schema", "0 rows added"],
    [{ operation: "RESTORE", rowsRemoved: "5" }, "restore", "10 rows added, 5 rows removed"],
    [{ rowsAdded: "0", filesAdded: 0 }, "other", "0 rows added"],
  ];
  for (const [change, kind, text] of cases)
    assert.deepEqual([model.kindOf(entry(1, change)), model.whatItDid(entry(1, change))], [kind, text]);
});

test("marks are found in both directions", () => {
  const entries = [
    entry(0),
    entry(1, { operation: "OPTIMIZE" }),
    entry(2),
    entry(3, { operation: "RESTORE" }),
  ];
  assert.equal(model.nextMark(entries, 0, 1), 1);
  assert.equal(model.nextMark(entries, 1, 1), 3);
  assert.equal(model.nextMark(entries, 3, 1), null);
  assert.equal(model.nextMark(entries, 3, -1), 1);
});

test("a long line is thinned to the most points it may have, ends included", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12_000 }), fc.integer({ min: 10, max: 1_000 }), (length, most) => {
      const points = Array.from({ length }, (_, n) => n);
      const thin: number[] = model.thin(points, most);
      assert.ok(thin.length <= most + 1);
      assert.deepEqual([thin[0], thin.at(-1)], [0, length - 1]);
    }),
  );
});

test("bars are logarithmic only where versions differ more than a hundredfold", () => {
  const heights = (entries: VersionEntry[], measure: string) => {
    const found = model.heightsOf(entries, measure);
    return { isLog: found.isLog, heights: entries.map((one) => found.heights.get(one)) };
  };
  const even = [entry(0, { rowsAdded: "0" }), entry(1, { rowsAdded: "50" }), entry(2, { rowsAdded: "100" })];
  assert.deepEqual(heights(even, "rows"), { heights: [0, 0.5, 1], isLog: false });
  const wide = heights([entry(0, { rowsAdded: "10" }), entry(1, { rowsAdded: "100000" })], "rows");
  assert.equal(wide.isLog, true);
  assert.ok((wide.heights[0] ?? 0) > 0.1);
  const others = [
    entry(0, { bytesAdded: "10", durationMs: null }),
    entry(1, { bytesAdded: "40", bytesRemoved: "80", durationMs: 5 }),
  ];
  assert.deepEqual(heights(others, "bytes").heights, [0.125, 1]);
  assert.deepEqual(heights(others, "duration").heights, [0, 1]);
});

test("a schema that changed with rows is a mark, the table's making and what came back by a restore are none", () => {
  const changed = entry(5, { hasMetadata: true });
  assert.equal(model.kindOf(changed), "append");
  assert.equal(model.changesTable(changed), true);
  assert.equal(model.changesTable(entry(0, { hasMetadata: true })), false);
  assert.equal(model.changesTable(entry(5, { operation: "RESTORE", hasMetadata: true })), false);
  assert.equal(model.nextMark([entry(4), changed, entry(6)], 4, 1), 5);
});

test("a version is told with its bytes and how long it took, and without what its writer did not say", () => {
  const one = entry(7, { filesAdded: 2, filesRemoved: 1, bytesRemoved: null });
  assert.equal(model.filesOf(one), "2 files in (2.0 KiB), 1 out (?)");
  assert.equal(model.tookOf(one), "took 84 ms");
  assert.equal(model.tookOf(entry(7, { durationMs: null })), "");
  assert.match(
    model.spoken(one),
    /^Version 7, streaming update, 10 rows added, 2.0 KiB, took 84 ms, .* UTC$/,
  );
  const marks = { checkpoints: [7], unreadable: [[1, 3]] };
  assert.deepEqual(model.marksOf(marks, 7), { hasCheckpoint: true, isReadable: true });
  assert.deepEqual(model.marksOf(marks, 3), { hasCheckpoint: false, isReadable: false });
});

test("a window over the timeline stays within it, keeps its size and what it is held at, whatever the zoom", () => {
  const all = fc.tuple(fc.nat(10_000), fc.nat(10_000)).map(([min, size]) => ({ min, max: min + size }));
  const turns = fc.array(
    fc.tuple(fc.double({ min: 0.05, max: 20, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
  );
  fc.assert(
    fc.property(all, turns, fc.integer({ min: 200, max: 2560 }), (whole, zooms, width) => {
      let span = zoom.spanFrom(whole, zoom.shownBy("fit", whole, width), whole.max);
      for (const [factor, share] of zooms) {
        const anchor = Math.round(span.min + share * (span.max - span.min));
        span = zoom.zoomedBy(whole, span, factor, anchor);
        assert.ok(span.min >= whole.min && span.max <= whole.max && span.min <= span.max);
        assert.ok(anchor >= span.min && anchor <= span.max, "what it is held at stays in sight");
        assert.ok(zoom.sizeOf(span) >= Math.min(10, zoom.sizeOf(whole)));
      }
      const there = zoom.spanWith(whole, span, whole.min);
      assert.ok(there.min === whole.min && zoom.sizeOf(there) === zoom.sizeOf(span));
      const frame = { ...span, width };
      for (const version of [span.min, span.max])
        assert.equal(zoom.versionAt(frame, zoom.placeOf(frame, version)), version);
    }),
  );
});

test("5,000 versions fit a wide strip in part, a narrow one in a smaller part, and wholly where that is asked for", () => {
  const all = { min: 0, max: 4_999 };
  assert.deepEqual(
    [1404, 340].map((width) => zoom.shownBy("fit", all, width)),
    [340, 74],
  );
  assert.equal(zoom.shownBy("all", all, 340), 5_000);
  assert.equal(zoom.shownBy("fit", { min: 0, max: 11 }, 340), 12);
  const entries = [3, 4, 7, 9].map((version) => entry(version));
  const found: VersionEntry[] = zoom.within(entries, { min: 4, max: 8 });
  assert.deepEqual(
    found.map(({ version }) => version),
    [4, 7],
  );
});

test("a stream that failed looks broken and says why; what went wrong last is told once it is well again, too", () => {
  const at = (seconds: number) => new Date(Date.parse("2026-11-29T20:00:00Z") + seconds * 1000).toISOString();
  const error = (code: string, seconds: number) => ({ code, message: `${code} it was`, at: at(seconds) });
  const ingester = (change: object) => ({
    ...{ name: "ingest", status: "answering", state: "running", reason: null, lastError: null },
    ...{ buffer: { rows: 0, bytes: 0 }, lastCommit: null, ...change },
  });
  const stream = (...ingesters: object[]) => ({
    ...{ topic: "orders", table: "orders", records: "5", producedPerSecond: 0, lag: "3", lagSeconds: 1 },
    ...{ producers: [], quietSince: null, ingestedPerSecond: 0, partitions: [], ingesters },
  });
  const failed = stream(ingester({}), ingester({ state: "failed", lastError: error("TOPIC_RESET", 1) }));
  const station = words.stationsOf(failed, null, 0)[2];
  assert.deepEqual([station.condition, station.note], ["dead", "failed: TOPIC_RESET: TOPIC_RESET it was"]);
  const well = stream(
    ingester({ lastError: error("STORE_UNREACHABLE", 2) }),
    ingester({ lastError: error("BROKER_UNREACHABLE", 1) }),
  );
  assert.equal(words.stationsOf(well, null, 0)[2].condition, "ok");
  assert.match(
    words.lastErrorText(well),
    /^Last error .*20:00:02Z: STORE_UNREACHABLE it was \(STORE_UNREACHABLE\)$/,
  );
  assert.equal(words.lastErrorText(stream(ingester({}))), "");
  assert.equal(words.lastErrorText(null), "");
});

test("the table's station tells version, rows and files", () => {
  const summary = {
    name: "orders",
    version: 1204,
    rows: "12480",
    numFiles: 9,
    sizeBytes: "66867",
    problem: null,
  };
  const of = (change: object) => words.stationsOf(null, { ...summary, ...change }, 0)[3];
  assert.deepEqual([of({}).value, of({}).note], ["version 1,204", "12,480 rows, 9 files, 65.3 KiB"]);
  assert.match(of({ rows: null }).note, /^rows not told, /);
});

test("stations say unknown where nothing is known, and an idle partition is quiet, not broken", () => {
  const labels = (stations: { label: string; condition: string }[]) =>
    stations.map((s) => [s.label, s.condition]);
  assert.deepEqual(labels(words.stationsOf(null, null, 0)), [
    ["Producer", "none"],
    ["Topic", "none"],
    ["Ingester", "none"],
    ["Table", "none"],
  ]);
  const stream = {
    ...{
      topic: "orders",
      table: "orders",
      producers: [],
      records: "5",
      producedPerSecond: 0,
      lag: "0",
      lagSeconds: 0,
    },
    ...{ quietSince: "2026-11-29T20:00:00Z", ingesters: [], ingestedPerSecond: null, partitions: [] },
  };
  const later = Date.parse("2026-11-29T20:03:00Z");
  const [, topic, ingester] = words.stationsOf(stream, null, later);
  assert.deepEqual([topic.condition, topic.note], ["quiet", "quiet 3 min, 5 messages"]);
  assert.equal(ingester.note, "nobody reads this topic");
  assert.equal(words.streamOf({ streams: [stream] }, "orders__dead_letters"), stream);
  assert.equal(words.streamOf({ streams: [stream] }, "orders__deletes"), stream);
  assert.equal(words.streamOf({ streams: [stream] }, "other"), null);
});

test("an error points at its place in its line", () => {
  assert.deepEqual(sql.pointAt("SELECT 1\nFROM nothing", 14), ["FROM nothing", "     ^"]);
  assert.deepEqual(sql.pointAt("SELEC 1", 0), ["SELEC 1", "^"]);
  assert.deepEqual(sql.pointAt("SELECT 1", undefined), []);
  assert.deepEqual(sql.pointAt("short", 99), []);
  assert.deepEqual(sql.pointAt("\nSELEC 1", 0), ["", "^"]);
});

test("CSV tells NULL from empty text and quotes what needs it", () => {
  const columns = [
    { name: "a", type: "VARCHAR" },
    { name: "b, c", type: "VARCHAR" },
  ];
  const rows = [
    [null, ""],
    ['say "hi"', "two\nlines"],
    [{ x: 1 }, "=1+1"],
  ];
  assert.equal(
    sql.delimited({ columns, rows }, ","),
    'a,"b, c"\r\n,""\r\n"say ""hi""","two\nlines"\r\n"{""x"":1}",=1+1\r\n',
  );
});

test("the page's JavaScript has the types it claims", async () => {
  const tsc = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url));
  await promisify(execFile)(tsc, ["-p", fileURLToPath(new URL("./page", import.meta.url))]).catch((error) =>
    assert.fail(error.stdout),
  );
});

test("a result sorts by what its values are: longs and decimals exactly, NULL last both ways", async () => {
  const { sortRows } = await load("sort.js");
  const column = (values: unknown[]) => values.map((value) => [value]);
  const sorted = (values: unknown[], type: string, direction = 1) =>
    (sortRows(column(values), 0, type, direction) as unknown[][]).map(([value]) => value);
  const longs = ["9007199254740993", null, "9007199254740992", "-5", "10", "9"];
  assert.deepEqual(sorted(longs, "BIGINT"), ["-5", "9", "10", "9007199254740992", "9007199254740993", null]);
  assert.deepEqual(sorted(longs, "BIGINT", -1), [
    "9007199254740993",
    "9007199254740992",
    "10",
    "9",
    "-5",
    null,
  ]);
  assert.deepEqual(sorted(["10.50", "9.75", "-0.5"], "DECIMAL(12,2)"), ["-0.5", "9.75", "10.50"]);
  assert.deepEqual(sorted([1e-7, 0.5, 2], "DOUBLE", -1), [2, 0.5, 1e-7]);
  assert.deepEqual(sorted(["b", "a", null, "10"], "VARCHAR"), ["10", "a", "b", null]);
});

test("completion offers tables after FROM, columns of the statement's tables first, and replaces the piece", async () => {
  const { offersAt, accept } = await load("sql-complete.js");
  const known = {
    tables: ["orders", "my topic", "other"],
    columns: [
      { table: "other", name: "amount_other", type: "double" },
      { table: "orders", name: "amount", type: "double" },
    ],
  };
  const texts = (sql: string, at = sql.length) =>
    offersAt(sql, at, known).map(({ text }: { text: string }) => text);
  assert.deepEqual(texts("SELECT * FROM "), ["orders", '"my topic"', "other"]);
  assert.deepEqual(texts("SELECT * FROM o"), ["orders", "other"]);
  assert.deepEqual(texts("SELECT am FROM orders", 9), ["amount", "amount_other"]);
  assert.ok(texts("sel").includes("SELECT"));
  assert.deepEqual(accept("SELECT am FROM orders", 9, "amount"), {
    sql: "SELECT amount FROM orders",
    at: 13,
  });
});

test("a chart is drawn of what can be seen, and says why where nothing can", async () => {
  const { planChart } = await load("result-chart.js");
  const columns = [
    { name: "status", type: "VARCHAR" },
    { name: "n", type: "BIGINT" },
  ];
  const plan = planChart({
    columns,
    rows: [
      ["a", "2"],
      ["b", "9"],
    ],
  });
  assert.deepEqual([plan.kind, plan.labels, plan.series[0].values], ["bar", ["a", "b"], [2, 9]]);
  assert.match(plan.finding, /n by status: from 2 to 9/);
  assert.match(
    planChart({ columns: columns.slice(0, 1), rows: [["a"], ["b"]] }),
    /needs a column of numbers/,
  );
  assert.match(
    planChart({ columns, rows: Array.from({ length: 51 }, (_, n) => [String(n), n]) }),
    /51 bars are too many/,
  );
});

test("rows of one key are one changed row, others are added or removed, and the sentence counts them so", async () => {
  const { pairRows, summary } = await load("compare-words.js");
  const columns = [
    { name: "id", type: "BIGINT" },
    { name: "amount", type: "DOUBLE" },
  ];
  const diff = {
    columns,
    added: [
      ["1", 9],
      ["3", 1],
    ],
    removed: [
      ["1", 5],
      ["2", 5],
    ],
  };
  const signs = (key: string[]) =>
    pairRows(diff, key)
      .map(({ sign }: { sign: string }) => sign)
      .join("");
  assert.equal(signs(["id"]), "~-+");
  assert.equal(signs([]), "--++");
  const whole = {
    ...{
      table: "t",
      from: 3,
      to: 7,
      rowsAdded: "2",
      rowsRemoved: "2",
      filesAdded: 1,
      filesRemoved: 3,
      truncated: false,
    },
    ...{ bytesAdded: "10", bytesRemoved: "30", schema: [], properties: [], ...diff },
  };
  assert.equal(
    summary(whole, pairRows(diff, ["id"])),
    "3 → 7: 1 row added, 1 removed, 1 changed; 1 file added (10 bytes), 3 removed (30 bytes)",
  );
  const same = { ...whole, rowsAdded: "0", rowsRemoved: "0", added: [], removed: [] };
  assert.equal(summary(same, []), "3 → 7: no row differs; 3 files became 1");
});

test("a table of letters or of deleted keys belongs to its own; one that is only called so does not", async () => {
  const { besideOf, ownerOf } = await load("beside.js");
  const names = ["people", "people__deletes", "a__deletes"];
  assert.deepEqual(besideOf("people__deletes", names), { table: "people", holds: "deleted keys" });
  assert.equal(ownerOf("a__deletes", names), "a__deletes");
  assert.equal(ownerOf("late__dead_letters_state", names), "late");
  assert.equal(besideOf("people", names), null);
});

test("a way out is told as a sentence, and a command as it is typed", async () => {
  const { problemText } = await load("api.js");
  const problem = { code: "X", message: "it failed" };
  assert.equal(problemText({ ...problem, hint: "try again" }), "it failed (X). Try again");
  assert.equal(
    problemText({ ...problem, hint: "lab tables lists them" }),
    "it failed (X). lab tables lists them",
  );
  assert.equal(problemText(problem), "it failed (X)");
});
