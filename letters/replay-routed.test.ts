/** Letters of a stream with a route: their rows are in the table that the route names, each once, whatever ends a replay between two tables. */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import type { StructType } from "../delta/types.ts";
import { routedUri } from "../ingest/route-name.ts";
import { routesOf } from "../ingest/routed-tables.ts";
import { type DlqFixture, dlqFixture } from "../test/support/dlq-fixture.ts";
import { failing, faultyStore } from "../test/support/faulty-store.ts";

const { signal } = new AbortController();
const nullable = (name: string, type: "long" | "string") => ({ name, type, nullable: true, metadata: {} });
const schema: StructType = {
  type: "struct",
  fields: [nullable("id", "long"), nullable("country", "string")],
};
const json = (value: unknown) => ({
  key: null,
  value: JSON.stringify(value),
  timestampMs: 1_700_000_000_000,
});
const good = (id: number, country: string) => json({ id, country });
/** A row once `id` is cut. */
const bad = (id: number, country: string) => json({ id: `no. ${id}`, country });
const FIXED = "SELECT * REPLACE (CAST(replace(id, 'no. ', '') AS BIGINT) AS id) FROM messages";
const route = "country";

const idsIn = async (fixture: DlqFixture, value: string | null) =>
  (await fixture.rowsOf(routedUri(fixture.tableUri, value), "SELECT id FROM t ORDER BY id")).map(({ id }) =>
    Number(id),
  );
const stateOf = async (fixture: DlqFixture) =>
  (await fixture.list()).map(({ offset, state }) => [Number(offset), state]);
const snapshotOf = async (uri: string) =>
  (await openTable(await openStore(uri, { signal }), signal)).latest(signal);

/** Rows 0 in `de` and 1 in `fr`; letters 2 and 3 that belong there, and 4 of a country without a table. */
async function threeLetters(t: TestContext): Promise<DlqFixture> {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  const records = [good(0, "de"), good(1, "fr"), bad(2, "de"), bad(3, "fr"), bad(4, "it")];
  fixture.kafka.append("t", 0, records);
  await fixture.start({ schema, once: true, route }).ended;
  return fixture;
}

const ALL = { de: [0, 2], fr: [1, 3], it: [4] };
const tablesOf = async (fixture: DlqFixture) => ({
  de: await idsIn(fixture, "de"),
  fr: await idsIn(fixture, "fr"),
  it: await idsIn(fixture, "it"),
});

/** Puts the end of a process before its `nth` commit to any table. */
function dyingAt(nth: number): (store: Store) => Store {
  let commits = 0;
  return (store) =>
    faultyStore(store, ({ op, path }) => {
      if (op === "putIfAbsent" && path.startsWith("_delta_log/")) commits++;
      return commits >= nth ? new Error("killed") : undefined;
    });
}

test("rows of letters go where the route sends them, also to a table that a replay makes, and stay one row each", async (t) => {
  const fixture = await threeLetters(t);
  const stream = { route };
  const dry = await fixture.replay({ stream, transform: FIXED, isDryRun: true });
  assert.deepEqual([dry.version, dry.replayed], [null, 3]);
  assert.deepEqual(routesOf(await snapshotOf(fixture.tableUri)), ["de", "fr"]);
  const result = await fixture.replay({ stream, transform: FIXED });
  assert.deepEqual([result.replayed, result.rows, result.bad], [3, 3, 0]);
  assert.deepEqual(await tablesOf(fixture), ALL);
  const base = await snapshotOf(fixture.tableUri);
  assert.equal(base.numFiles, 0);
  assert.deepEqual(routesOf(base), ["de", "fr", "it"]);
  const [row] = await fixture.rowsOf(routedUri(fixture.tableUri, "it"), "SELECT _kafka.offset AS o FROM t");
  assert.equal(row!.o, 4n);
  assert.deepEqual(
    (await stateOf(fixture)).map(([, state]) => state),
    ["replayed", "replayed", "replayed"],
  );
  const again = await fixture.replay({
    stream,
    transform: FIXED,
    filter: { states: ["replayed"] },
  });
  assert.deepEqual([again.version, again.present], [null, 3]);
  fixture.kafka.append("t", 0, [good(5, "it"), good(6, "de")]);
  await fixture.start({ schema, once: true, route }).ended;
  assert.deepEqual(await tablesOf(fixture), { de: [0, 2, 6], fr: [1, 3], it: [4, 5] });
});

// The stream's table, then `de`, `fr`, the making of `it` and its rows, then the states.
const KILLS = [
  ...[1, 2, 3, 5].map((nth) => [nth, "replay"] as const),
  ...[[3, "another route"] as const, [4, "no route"] as const, [1, "drop"] as const, [6, "drop"] as const],
];
for (const [nth, next] of KILLS)
  test(`a replay that is killed before its commit ${nth}: made up for by ${next}, nothing is lost or doubled`, async (t) => {
    const fixture = await threeLetters(t);
    const killed = fixture.replay({
      stream: { route },
      transform: FIXED,
      wrapStore: dyingAt(nth),
    });
    await assert.rejects(killed, /killed/);
    const isDecided = nth > 1;
    const stream = next === "replay" ? { route } : next === "another route" ? { route: "'all'" } : {};
    if (next === "drop")
      assert.deepEqual(
        await fixture.drop(),
        isDecided ? { dropped: 0, present: 3 } : { dropped: 3, present: 0 },
      );
    else {
      const { replayed, present } = await fixture.replay({ stream, transform: FIXED });
      assert.deepEqual([replayed, present], isDecided ? [0, 3] : [3, 0]);
    }
    if (isDecided) assert.deepEqual(await tablesOf(fixture), ALL);
    else if (next === "no route") assert.equal((await fixture.rows("SELECT id FROM t")).length, 3);
    else if (next === "another route") assert.deepEqual(await idsIn(fixture, "all"), [2, 3, 4]);
    else if (next === "replay") assert.deepEqual(await tablesOf(fixture), ALL);
    const state = next === "drop" && !isDecided ? "dropped" : "replayed";
    assert.ok((await stateOf(fixture)).every((one) => one[1] === state));
  });

test("several replays at once, with other routes: one writes the rows", async (t) => {
  const fixture = await threeLetters(t);
  const routes = [route, route, "'all'"];
  const results = await Promise.all(
    routes.map((one) => fixture.replay({ stream: { route: one }, transform: FIXED })),
  );
  assert.equal(results.filter(({ version }) => version !== null).length, 1);
  const rows: number[] = [];
  for (const name of routesOf(await snapshotOf(fixture.tableUri))) rows.push(...(await idsIn(fixture, name)));
  assert.deepEqual(rows.sort(), [0, 1, 2, 3, 4]);
});

test("a replay that stood still is overtaken by one that finishes its rows and writes others: nothing twice", async (t) => {
  const fixture = await threeLetters(t);
  const stream = { route };
  let isOther = false;
  const only = (offset: bigint) => ({ offsets: [{ partition: 0, first: offset, last: offset }] });
  const first = await fixture.replay({
    stream,
    transform: FIXED,
    filter: only(2n),
    wrapStore: (store) =>
      faultyStore(store, ({ op, path }) => {
        if (op !== "putIfAbsent" || !store.root.endsWith("__de") || isOther) return undefined;
        assert.match(path, /^_delta_log/);
        isOther = true;
        return fixture.replay({ stream, transform: FIXED });
      }),
  });
  assert.deepEqual([first.replayed, isOther], [1, true]);
  assert.deepEqual(await tablesOf(fixture), ALL);
});

test("of a letter that becomes rows of two tables, both are there though the replay ended between them", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ items: [1, 2] })]);
  const parity = "CASE id % 2 WHEN 0 THEN 'even' ELSE 'odd' END";
  const unnesting = "SELECT unnest(items) AS id, _kafka FROM messages";
  await fixture.start({ once: true, transform: unnesting, route: parity }).ended;
  fixture.kafka.append("t", 0, [json({ items: "3,4,5" })]);
  await fixture.start({ once: true, transform: unnesting, route: parity }).ended;
  const fixed = "SELECT unnest(CAST(string_split(items, ',') AS BIGINT[])) AS id, _kafka FROM messages";
  const stream = { route: parity };
  await assert.rejects(fixture.replay({ stream, transform: fixed, wrapStore: dyingAt(3) }), /killed/);
  assert.equal((await idsIn(fixture, "odd")).length + (await idsIn(fixture, "even")).length > 2, true);
  const { present, replayed } = await fixture.replay({ stream });
  assert.deepEqual([present, replayed], [1, 0]);
  assert.deepEqual(
    [await idsIn(fixture, "odd"), await idsIn(fixture, "even")],
    [
      [1, 3, 5],
      [2, 4],
    ],
  );
});

test("what would need a table more than are allowed stays open, with the reason; new ones are counted across batches", async (t) => {
  const fixture = await threeLetters(t);
  fixture.kafka.append("t", 0, [bad(5, "es"), bad(6, "it")]);
  await fixture.start({ schema, once: true, route }).ended;
  const result = await fixture.replay({
    stream: { route, maxTables: 3 },
    transform: FIXED,
    batchBytes: 1,
  });
  assert.deepEqual([result.replayed, result.bad, result.reasons[0]?.code], [4, 1, "TOO_MANY_TABLES"]);
  assert.deepEqual(await idsIn(fixture, "it"), [4, 6]);
  assert.deepEqual(
    (await stateOf(fixture)).filter(([, state]) => state === "open"),
    [[5, "open"]],
  );
});

test("a stream that has no route any more: rows go to its own table, and those that were routed are found", async (t) => {
  const fixture = await threeLetters(t);
  const filter = { offsets: [{ partition: 0, first: 2n, last: 2n }] };
  await fixture.replay({ stream: { route }, transform: FIXED, filter });
  const filterAll = { states: ["open", "replayed"] as ("open" | "replayed")[] };
  const result = await fixture.replay({ transform: FIXED, filter: filterAll });
  assert.deepEqual([result.present, result.replayed], [1, 2]);
  assert.deepEqual(
    (await fixture.rows("SELECT id FROM t ORDER BY id")).map(({ id }) => Number(id)),
    [3, 4],
  );
  assert.deepEqual(await idsIn(fixture, "de"), [0, 2]);
});

test("a stream that has a route now: rows that were not routed are found", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [good(0, "de"), bad(1, "de"), bad(2, "de")]);
  await fixture.start({ schema, once: true }).ended;
  const filter = { offsets: [{ partition: 0, first: 1n, last: 1n }] };
  await fixture.replay({ transform: FIXED, filter });
  const stream = { route };
  const result = await fixture.replay({
    stream,
    transform: FIXED,
    filter: { states: ["open", "replayed"] },
  });
  assert.deepEqual([result.present, result.replayed], [1, 1]);
  assert.deepEqual(await idsIn(fixture, "de"), [2]);
  assert.equal((await fixture.rows("SELECT id FROM t")).length, 2);
});

test("a new field becomes a column of the routed table, too", async (t) => {
  const fixture = await threeLetters(t);
  const transform = FIXED.replace("SELECT *", "SELECT 'x' AS note, *");
  await fixture.replay({ stream: { route }, transform });
  const rows = await fixture.rowsOf(routedUri(fixture.tableUri, "de"), "SELECT id, note FROM t ORDER BY id");
  assert.deepEqual(rows, [
    { id: 0n, note: null },
    { id: 2n, note: "x" },
  ]);
});

test("a routed table that was removed is not waited for: its letters can be replayed again", async (t) => {
  const fixture = await threeLetters(t);
  const stream = { route };
  const killed = fixture.replay({ stream, transform: FIXED, wrapStore: dyingAt(2) });
  await assert.rejects(killed, /killed/);
  await rm(new URL(routedUri(fixture.tableUri, "de")), { recursive: true });
  const { present, replayed } = await fixture.replay({ stream, transform: FIXED });
  assert.deepEqual([present, replayed], [2, 1]);
  assert.deepEqual(await tablesOf(fixture), { ...ALL, de: [2] });
});

test("an outage before the commit leaves no file in any table", async (t) => {
  const fixture = await threeLetters(t);
  const stores: ReturnType<typeof faultyStore>[] = [];
  const down = new Error("the disk is gone");
  let puts = 0;
  const wrapStore = (store: Store) => {
    const failsLast = failing("put", /parquet$/, down);
    stores.push(
      faultyStore(store, (call) => (call.op === "put" && ++puts < 3 ? undefined : failsLast(call))),
    );
    return stores.at(-1)!;
  };
  await assert.rejects(fixture.replay({ stream: { route }, transform: FIXED, wrapStore }), down);
  const calls = stores.flatMap((store) => store.calls.map((call) => `${call.op} ${store.root}/${call.path}`));
  const put = calls.filter((call) => call.startsWith("put ")).map((call) => call.slice(4));
  const deleted = calls.filter((call) => call.startsWith("delete ")).map((call) => call.slice(7));
  assert.equal(put.length, 3);
  assert.deepEqual(deleted, put);
});
