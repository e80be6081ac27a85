import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { DataType } from "../delta/types.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const garbage = { key: null, value: "{broken" };

async function topic(t: TestContext, partitions = 1): Promise<Fixture> {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", partitions);
  return fixture;
}

const letters = (fixture: Fixture) =>
  fixture.rows(
    'SELECT "partition" AS p, "offset" AS o, error_code AS code FROM letters ORDER BY p, o',
    "letters",
  );

/** Rows and letters that all commits together say they hold. */
async function recorded(fixture: Fixture): Promise<{ rows: number; letters: number }> {
  const sum = { rows: 0, letters: 0 };
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  for await (const { commitInfo } of table.history({ signal })) {
    const lab = commitInfo?.lab as { partitions: { rows: number; letters: number }[] } | undefined;
    for (const { rows, letters } of lab?.partitions ?? []) {
      sum.rows += rows;
      sum.letters += letters;
    }
  }
  return sum;
}

for (const [what, options] of [
  ["a partition column", { partitionBy: ["country"] }],
  ["no _kafka", { metadata: false }],
  ["unknown fields ignored", { onUnknownField: "ignore" }],
] as const)
  test(`garbage before any message decides nothing of the table: ${what}`, async (t) => {
    const fixture = await topic(t, 2);
    fixture.kafka.append("t", 0, [garbage]);
    fixture.kafka.append("t", 1, [garbage]);
    const worker = fixture.start(options);
    await until("it is lettered", () => worker.ingest?.reports()[0]?.totals.letters === 2);
    fixture.kafka.append("t", 0, [json({ id: 1, country: "de" }), garbage]);
    await fixture.hasRows(1);
    await until("all is settled", () => worker.ingest.reports()[0]?.totals.letters === 3);
    await worker.end();
    await fixture.start({ once: true, ...options }).ended;
    assert.deepEqual(await fixture.rows("SELECT id, country FROM t"), [{ id: 1n, country: "de" }]);
    assert.equal((await letters(fixture)).length, 3);
    assert.deepEqual(await recorded(fixture), { rows: 1, letters: 3 });
  });

test("garbage that was lettered before there was a table is not lettered again after a restart", async (t) => {
  const fixture = await topic(t);
  fixture.kafka.append("t", 0, [garbage, garbage]);
  await fixture.start({ once: true }).ended;
  await fixture.start({ once: true }).ended;
  fixture.kafka.append("t", 0, [json({ id: 1 }), garbage]);
  await fixture.start({ once: true }).ended;
  assert.deepEqual(
    (await letters(fixture)).map(({ o }) => o),
    [0n, 1n, 3n],
  );
  assert.deepEqual(await recorded(fixture), { rows: 1, letters: 3 });
});

const transform = "SELECT id, upper(note) AS note, _kafka FROM messages";

test("after a restart a transform still knows columns that the first messages then lack", async (t) => {
  const fixture = await topic(t);
  fixture.kafka.append("t", 0, [json({ id: 1, note: "a" })]);
  await fixture.start({ once: true, transform }).ended;
  fixture.kafka.append("t", 0, [json({ id: 2 })]);
  await fixture.start({ once: true, transform }).ended;
  // A later transform may read what an earlier one left alone.
  fixture.kafka.append("t", 0, [json({ id: 3, extra: 5 })]);
  await fixture.start({ once: true, transform }).ended;
  fixture.kafka.append("t", 0, [json({ id: 4 })]);
  const other = "SELECT id, note, extra, _kafka FROM messages";
  await fixture.start({ once: true, transform: other }).ended;
  assert.deepEqual(await fixture.rows("SELECT id, note, extra FROM t ORDER BY id"), [
    { id: 1n, note: "A", extra: null },
    { id: 2n, note: null, extra: null },
    { id: 3n, note: null, extra: null },
    { id: 4n, note: null, extra: null },
  ]);
});

test("a transform's messages of another type are letters after a restart, and stop nobody", async (t) => {
  const fixture = await topic(t);
  const all = "SELECT * FROM messages";
  fixture.kafka.append("t", 0, [json({ id: 1 })]);
  await fixture.start({ once: true, transform: all }).ended;
  fixture.kafka.append("t", 0, [json({ id: 2.5 }), json({ id: "x" }), json({ id: 3 })]);
  await fixture.start({ once: true, transform: all }).ended;
  assert.deepEqual(await fixture.rows("SELECT id FROM t ORDER BY id"), [{ id: 1n }, { id: 3n }]);
  assert.equal((await letters(fixture)).length, 2);
});

test("a field that clashes with what the transform yields makes a letter of its message alone", async (t) => {
  const fixture = await topic(t);
  const clashing = "SELECT *, id * 2 AS twice FROM messages";
  fixture.kafka.append("t", 0, [json({ id: 1 })]);
  await fixture.start({ once: true, transform: clashing }).ended;
  fixture.kafka.append("t", 0, [json({ id: 2 }), json({ id: 3, twice: 7 }), json({ id: 4, more: true })]);
  await fixture.start({ once: true, transform: clashing }).ended;
  const found = await fixture.rows("SELECT id, twice, more FROM t ORDER BY id");
  assert.deepEqual(
    found.map((row) => [row.id, row.twice, row.more]),
    [
      [1n, 2n, null],
      [2n, 4n, null],
      [4n, 8n, true],
    ],
  );
  assert.deepEqual(await letters(fixture), [{ p: 0, o: 2n, code: "NOT_WRITABLE" }]);
});

test("columns that come in two chunks of one commit are both in it", async (t) => {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 1 });
  fixture.kafka.createTopic("t", 1);
  const big = "x".repeat(1 << 20);
  fixture.kafka.append("t", 0, [
    json({ id: 1, big }),
    json({ id: 2, a: 1, big }),
    json({ id: 3, b: 2, big }),
  ]);
  const flush = { latencyMs: 60_000, rows: 1e6, bytes: 1 << 28 };
  await fixture.start({ once: true, flush }, { chunkBytes: 1 << 20 }).ended;
  assert.deepEqual(await fixture.rows("SELECT id, a, b FROM t ORDER BY id"), [
    { id: 1n, a: null, b: null },
    { id: 2n, a: 1n, b: null },
    { id: 3n, a: null, b: 2n },
  ]);
});

test("a killed run's letters settle a chunk that has nothing else, and a topic of garbage fills more than one file", async (t) => {
  const fixture = await topic(t);
  fixture.kafka.append("t", 0, [json({ id: 1 })]);
  await fixture.start({ once: true }).ended;
  const large = { key: null, value: Buffer.alloc(1_000_000, "x") };
  for (let n = 0; n < 20; n++) fixture.kafka.append("t", 0, [large]);
  const onStep = (step: string) => {
    if (step === "after-letters") throw new Error("power cut");
  };
  const flush = { latencyMs: 60_000, rows: 1e6, bytes: 1 << 28 };
  await assert.rejects(fixture.start({ once: true, flush }, { onStep }).ended, /power cut/);
  await fixture.start({ once: true }).ended;
  const store = await openStore(`${fixture.tableUri}__dead_letters`, { signal });
  assert.equal((await (await openTable(store, signal)).latest(signal)).numFiles, 2);
  assert.equal((await letters(fixture)).length, 20);
  assert.deepEqual(await recorded(fixture), { rows: 1, letters: 20 });
});

test("a table may be partitioned by any type that has a text form", async (t) => {
  const fixture = await topic(t);
  const types = {
    year: "integer",
    day: "date",
    at: "timestamp",
    ok: "boolean",
    price: "decimal(9,2)",
  } as const;
  const field = (name: string, type: DataType) => ({ name, type, nullable: true, metadata: {} });
  const fields = [field("id", "long"), ...Object.entries(types).map(([name, type]) => field(name, type))];
  const row = {
    id: 1,
    year: 2026,
    day: "2026-01-02",
    moment: "2026-01-02T03:04:05.678901Z",
    ok: true,
    price: 1.5,
  };
  fixture.kafka.append("t", 0, [json(row), json({ id: 2 }), json({ ...row, id: 3, year: 2027, ok: false })]);
  const partitionBy = Object.keys(types);
  await fixture.start({ once: true, schema: { type: "struct", fields }, partitionBy }).ended;
  const casts =
    "id, year, CAST(day AS VARCHAR) AS day, epoch_us(moment) AS at, ok, CAST(price AS VARCHAR) AS price";
  const at = BigInt(Date.UTC(2026, 0, 2, 3, 4, 5, 678)) * 1000n + 901n;
  assert.deepEqual(await fixture.rows(`SELECT ${casts} FROM t ORDER BY id`), [
    { id: 1n, year: 2026, day: "2026-01-02", at, ok: true, price: "1.50" },
    { id: 2n, year: null, day: null, at: null, ok: null, price: null },
    { id: 3n, year: 2027, day: "2026-01-02", at, ok: false, price: "1.50" },
  ]);
});

test("times that a producer gave in micro- or nanoseconds stop nobody", async (t) => {
  const fixture = await topic(t);
  const times = [1.7e18, 1.7e15, -1, 0, 1.7e12, 8.64e15, Number.MAX_SAFE_INTEGER, -1.7e18];
  for (const [id, timestampMs] of times.entries())
    fixture.kafka.appendRaw("t", 0, {
      key: null,
      value: Buffer.from(JSON.stringify({ id })),
      headers: [],
      timestampMs,
    });
  await fixture.start({ once: true, partitionBy: ["date"] }).ended;
  fixture.kafka.append("t", 0, [json({ id: times.length })]);
  await fixture.start({ once: true, partitionBy: ["date"] }).ended;
  const found = await fixture.rows("SELECT id, date, epoch_ms(_kafka.timestamp) AS ms FROM t ORDER BY id");
  const storable = [...times.entries()].filter(([, ms]) => Math.abs(ms) < 1e17);
  assert.deepEqual(
    found.slice(0, -1).map(({ id, ms }) => [Number(id), Number(ms)]),
    storable,
  );
  assert.deepEqual([found[0]?.date, found[1]?.date], ["55840-11-08", "1969-12-31"]);
  assert.deepEqual(
    await fixture.rows(
      'SELECT "offset" AS o, error_code AS code, "timestamp" AS ts FROM letters ORDER BY o',
      "letters",
    ),
    [
      { o: 0n, code: "BAD_TIMESTAMP", ts: null },
      { o: 7n, code: "BAD_TIMESTAMP", ts: null },
    ],
  );
});
