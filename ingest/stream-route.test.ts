/** A route: one topic, a table for each value, and each record in exactly one of them, whatever ends the worker between their commits. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { createJsonLinesDecoder } from "../formats/json-lines.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { routedUri } from "./route-name.ts";
import { routesOf } from "./routed-tables.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const from = (id: number, country: string | null) => json({ id, country });
const route = { route: "country" };

const idsIn = async (fixture: Fixture, value: string | null) =>
  (await fixture.rowsOf(routedUri(fixture.tableUri, value), "SELECT id FROM t ORDER BY id")).map((row) =>
    Number(row.id),
  );

async function snapshotOf(uri: string) {
  return (await openTable(await openStore(uri, { signal }), signal)).latest(signal);
}

test("rows go to the table that their value names, and the stream's own keeps the positions alone", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "de"), from(2, "fr"), from(3, null), from(4, "de"), from(5, "a/b")]);
  await fixture.start({ once: true, ...route }).ended;
  assert.deepEqual(await idsIn(fixture, "de"), [1, 4]);
  assert.deepEqual(await idsIn(fixture, "fr"), [2]);
  assert.deepEqual(await idsIn(fixture, null), [3]);
  assert.deepEqual(await idsIn(fixture, "a/b"), [5]);
  const base = await snapshotOf(fixture.tableUri);
  assert.equal(base.numFiles, 0);
  assert.equal(base.txn("lab/t-0"), 4n);
  assert.deepEqual(routesOf(base), ["de", "fr", null, "a/b"]);
  assert.deepEqual((await snapshotOf(routedUri(fixture.tableUri, "fr"))).txn("lab/t-0"), 4n);
});

test("new columns and partitions reach the routed tables that get rows of them", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "de"), from(2, "fr")]);
  const worker = fixture.start({ ...route, partitionBy: ["date"] });
  await until("both", async () => (await idsIn(fixture, "fr").catch(() => [])).length === 1);
  fixture.kafka.append("t", 0, [json({ id: 3, country: "de", more: true })]);
  await until("more", async () => (await idsIn(fixture, "de")).length === 2);
  await worker.end();
  const rows = await fixture.rowsOf(routedUri(fixture.tableUri, "de"), "SELECT id, more FROM t ORDER BY id");
  assert.deepEqual(rows, [
    { id: 1n, more: null },
    { id: 3n, more: true },
  ]);
  const { partitionColumns } = await snapshotOf(routedUri(fixture.tableUri, "fr"));
  assert.deepEqual(partitionColumns, ["date"]);
});

for (const step of ["after-upload", "after-letters", "after-route", "after-commit"])
  test(`a worker that ends ${step} leaves nothing that the next one loses or doubles`, async (t) => {
    const fixture = await streamFixture(t);
    fixture.kafka.createTopic("t", 1);
    fixture.kafka.append("t", 0, [from(1, "de"), { key: null, value: "{bad" }, from(2, "fr"), from(3, "de")]);
    let isDead = false;
    const killed = fixture.start(
      { ...route },
      {
        onStep: (at) => {
          if (at !== step || isDead) return;
          isDead = true;
          throw new Error("killed");
        },
      },
    );
    await assert.rejects(killed.ended, /killed/);
    await fixture.start({ once: true, ...route }).ended;
    assert.deepEqual(await idsIn(fixture, "de"), [1, 3]);
    assert.deepEqual(await idsIn(fixture, "fr"), [2]);
    assert.equal((await fixture.rows("SELECT * FROM letters", "letters")).length, 1);
  });

test("rows of a killed run stay where they are, though the route is another now, or none", async (t) => {
  for (const changed of [{ route: "'all'" }, {}]) {
    const fixture = await streamFixture(t);
    fixture.kafka.createTopic("t", 1);
    fixture.kafka.append("t", 0, [from(1, "de"), from(2, "fr"), from(3, "de")]);
    let routed = 0;
    const killed = fixture.start(
      { ...route },
      {
        onStep: (at) => {
          if (at === "after-route" && ++routed === 1) throw new Error("killed");
        },
      },
    );
    await assert.rejects(killed.ended, /killed/);
    await fixture.start({ once: true, ...changed }).ended;
    const rest = "route" in changed ? routedUri(fixture.tableUri, "all") : fixture.tableUri;
    const before = [...(await idsIn(fixture, "de")), ...(await idsIn(fixture, "fr").catch(() => []))];
    const after = (await fixture.rowsOf(rest, "SELECT id FROM t").catch(() => [])).map((row) =>
      Number(row.id),
    );
    assert.deepEqual([...before, ...after].sort(), [1, 2, 3]);
  }
});

test("of the rows that one message becomes, each is in its table once, though a run ended between them", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ items: [1, 2, 3] }), json({ items: [4, 5] })]);
  const unnesting = {
    transform: "SELECT unnest(items) AS id, _kafka FROM messages",
    route: "CASE id % 2 WHEN 0 THEN 'even' ELSE 'odd' END",
  };
  let isDead = false;
  const killed = fixture.start(unnesting, {
    onStep: (at) => {
      if (at !== "after-route" || isDead) return;
      isDead = true;
      throw new Error("killed");
    },
  });
  await assert.rejects(killed.ended, /killed/);
  await fixture.start({ once: true, ...unnesting }).ended;
  assert.deepEqual(await idsIn(fixture, "odd"), [1, 3, 5]);
  assert.deepEqual(await idsIn(fixture, "even"), [2, 4]);
});

test("rows of one message that nothing could tell apart are not routed", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ items: [1, 2] })]);
  const fields = [{ name: "id", type: "long" as const, nullable: true, metadata: {} }];
  const several = {
    ...{ once: true, schema: { type: "struct" as const, fields }, onUnknownField: "ignore" as const },
    ...{ transform: "SELECT unnest(items) AS id, _kafka FROM messages", route: "id" },
  };
  const isRefused = (error: unknown) => isLabError(error, "UNSUPPORTED_FEATURE");
  await assert.rejects(fixture.start(several).ended, isRefused);
  const decoder = createJsonLinesDecoder();
  const { transform: _, ...lines } = several;
  await assert.rejects(fixture.start({ ...lines, format: "ndjson" }, { decoder }).ended, isRefused);
  assert.equal((await snapshotOf(fixture.tableUri)).txn("lab/t-0"), undefined);
});

test("more tables than are allowed are not made: what would need one is a letter", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "a"), from(2, "b"), from(3, "c"), from(4, "a")]);
  await fixture.start({ once: true, ...route, maxTables: 2 }).ended;
  fixture.kafka.append("t", 0, [from(5, "b"), from(6, "d"), from(7, "x".repeat(300))]);
  await fixture.start({ once: true, ...route, maxTables: 2 }).ended;
  assert.deepEqual(await idsIn(fixture, "b"), [2, 5]);
  const letters = await fixture.rows(
    'SELECT "offset" AS o, error_code AS code FROM letters ORDER BY o',
    "letters",
  );
  assert.deepEqual(letters, [
    { o: 2n, code: "TOO_MANY_TABLES" },
    { o: 5n, code: "TOO_MANY_TABLES" },
    { o: 6n, code: "ROUTE_TOO_LONG" },
  ]);
});

test("a routed table with another type for a column than the stream's is not written", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "de")]);
  const store = await openStore(routedUri(fixture.tableUri, "de"), { signal });
  const fields = [
    { name: "id", type: "decimal(20,0)" as const, nullable: true, metadata: {} },
    { name: "country", type: "string" as const, nullable: true, metadata: {} },
  ];
  await createTable(store, { schema: { type: "struct", fields } }, signal);
  const worker = fixture.start({ once: true, ...route });
  await assert.rejects(worker.ended, (error) => isLabError(error, "SCHEMA_MISMATCH"));
});

test("a worker whose partitions went to another writes nothing to a routed table", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "de")]);
  const worker = fixture.start({ ...route });
  // The routed table has its row first.
  await until("one, settled", async () => {
    const main = await snapshotOf(fixture.tableUri).catch(() => undefined);
    return main?.txn("lab/t-0") === 0n;
  });
  assert.deepEqual(await idsIn(fixture, "de"), [1]);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const other = await table.commit(
    {
      readSnapshot: await table.latest(signal),
      operation: "STREAMING UPDATE",
      txns: [{ appId: "lab/t-0", version: 1n }],
    },
    signal,
  );
  assert.equal(other.kind, "committed");
  fixture.kafka.append("t", 0, [from(2, "de"), from(3, "de")]);
  await until("the rest", async () => (await idsIn(fixture, "de")).length >= 2);
  await worker.end();
  assert.deepEqual(await idsIn(fixture, "de"), [1, 3]);
});

test("rows of a killed run are there once, though the next run is killed behind fewer records of it and some of another partition", async (t) => {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 1 });
  fixture.kafka.createTopic("t", 2);
  fixture.kafka.append("t", 0, [from(1, "de"), from(2, "de"), from(3, "de")]);
  const killedAt = (step: string) => ({
    onStep: (at: string) => {
      if (at === step) throw new Error("killed");
    },
  });
  await assert.rejects(fixture.start({ once: true, ...route }, killedAt("after-route")).ended, /killed/);
  assert.deepEqual(await idsIn(fixture, "de"), [1, 2, 3]);
  fixture.kafka.append("t", 1, [from(4, "de")]);
  const flush = { latencyMs: 60_000, rows: 2, bytes: 256 << 20 };
  await assert.rejects(fixture.start({ ...route, flush }, killedAt("after-commit")).ended, /killed/);
  assert.deepEqual(await idsIn(fixture, "de"), [1, 2, 3, 4]);
  assert.equal((await snapshotOf(fixture.tableUri)).txn("lab/t-0"), 0n);
  await fixture.start({ once: true, ...route }).ended;
  assert.deepEqual(await idsIn(fixture, "de"), [1, 2, 3, 4]);
});

test("a record whose row a killed run wrote becomes no letter, though its route is refused now", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "de"), from(2, "de")]);
  const killed = fixture.start(
    { ...route },
    {
      onStep: (at) => {
        if (at === "after-route") throw new Error("killed");
      },
    },
  );
  await assert.rejects(killed.ended, /killed/);
  fixture.kafka.append("t", 0, [from(3, "fr")]);
  await fixture.start({ once: true, route: "'new ' || country", maxTables: 1 }).ended;
  assert.deepEqual(await idsIn(fixture, "de"), [1, 2]);
  assert.deepEqual(await fixture.rows('SELECT "offset" AS o FROM letters', "letters"), [{ o: 2n }]);
});

test("another app does not read again what routed tables hold", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [from(1, "de"), from(2, "fr")]);
  await fixture.start({ once: true, ...route }).ended;
  const other = fixture.start({ once: true, ...route, app: "other" });
  await assert.rejects(other.ended, (error) => isLabError(error, "OFFSETS_MISSING"));
  assert.deepEqual(await idsIn(fixture, "de"), [1]);
});
