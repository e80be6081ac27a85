/** Changes on their way through a stream: Kafka in memory, a real table. */

import assert from "node:assert/strict";
import { test } from "node:test";
import avsc from "avsc";
import { Registry } from "prom-client";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { openDecoder } from "../formats/open-decoder.ts";
import { groupOf } from "../ingest/identity.ts";
import type { OutgoingRecord } from "../kafka/ports.ts";
import { customerEvents, customersAfter } from "../producer/customers.ts";
import { LIVE, message, source, start, topicOf } from "../test/support/cdc-stream.ts";
import type { Fixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { createChangeMetrics } from "./metrics.ts";
import type { Merged } from "./work.ts";

const { signal } = new AbortController();

const lettersOf = (fixture: Fixture) =>
  fixture.rows('SELECT "offset" AS o, error_code AS code FROM letters ORDER BY o', "letters");

test("what customers did is what the table holds, whatever comes twice or late", async (t) => {
  const fixture = await topicOf(t, 3);
  const sink = await fixture.kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const events = customerEvents(5);
  let sent = 0;
  for (const count of [40, 300, 400, 900]) {
    const records: OutgoingRecord[] = [];
    for (; sent < count; sent++) records.push((events.next().value as { message: OutgoingRecord }).message);
    await sink.send("t", records);
    await start(fixture).ended;
    const rows = await fixture.rows(
      `SELECT id, name, city, plan, credit, notes FROM t WHERE ${LIVE} ORDER BY id`,
    );
    const expected = [...customersAfter(5, count).values()]
      .sort((a, b) => a.id - b.id)
      .map(({ id, name, city, plan, credit, notes }) => ({
        id: BigInt(id),
        name,
        city,
        plan,
        credit,
        notes,
      }));
    assert.deepEqual(rows, expected, `after ${count} messages`);
  }
});

test("what is no change, or none that the table can take, is a letter, and the change before it counts", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [
    message("c", 1, { v: 1 }, source(1)),
    { key: null, value: "nothing" },
    message("u", 1, { v: 2 }, source(2)),
    { key: '{"id":1}', value: JSON.stringify({ ts_ms: 5 }) },
  ]);
  await start(fixture).ended;
  fixture.kafka.append("t", 0, [
    message("u", 1, { v: 3 }, source(3)),
    message("u", 1, { v: "x" }, source(4)),
  ]);
  await start(fixture).ended;
  assert.deepEqual(await fixture.rows("SELECT id, v FROM t"), [{ id: 1n, v: 3n }]);
  assert.deepEqual(await lettersOf(fixture), [
    { o: 1n, code: "MALFORMED_JSON" },
    { o: 5n, code: "WRONG_TYPE" },
  ]);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const told: { partitions: [{ rows: number; letters: number; skipped: number }]; changes: object }[] = [];
  for await (const { commitInfo } of table.history({ signal, limit: 2 })) told.push(commitInfo?.lab as never);
  const partitions = (rows: number, letters: number, skipped: number) => ({ rows, letters, skipped });
  assert.deepEqual(
    told.map(({ partitions: [{ rows, letters, skipped }], changes }) => [
      partitions(rows, letters, skipped),
      changes,
    ]),
    [
      [
        partitions(1, 1, 0),
        {
          inserted: 0,
          updated: 1,
          deleted: 0,
          swept: 0,
          ignored: 0,
          folded: 0,
          uncertain: 0,
          letters: 1,
          skipped: {},
        },
      ],
      [
        partitions(2, 1, 1),
        {
          inserted: 1,
          updated: 0,
          deleted: 0,
          swept: 0,
          ignored: 0,
          folded: 1,
          uncertain: 0,
          letters: 1,
          skipped: { heartbeat: 1 },
        },
      ],
    ],
  );
  assert.equal((await table.latest(signal)).txn("lab/t-0"), 5n);
});

test("a process can be told to die at each step of a merge", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [message("c", 1, { v: 1 }, source(1))]);
  const steps: string[] = [];
  await start(fixture, { more: { onStep: (step) => steps.push(step) } }).ended;
  assert.deepEqual(steps, ["before-upload", "after-letters", "after-upload", "after-commit"]);
});

test("with stop instead of letters a refused change ends the stream, with nothing behind it settled", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [message("c", 1, { v: 1 }, source(1))]);
  await start(fixture).ended;
  fixture.kafka.append("t", 0, [message("u", 1, { v: "x" }, source(2))]);
  await assert.rejects(start(fixture, { options: { onBadRecord: "stop" } }).ended, { code: "BAD_RECORD" });
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  assert.equal((await table.latest(signal)).txn("lab/t-0"), 0n);
});

test("a table with another key is refused, with a way out", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [message("c", 1, { v: 1 }, source(1))]);
  await start(fixture).ended;
  fixture.kafka.append("t", 0, [message("c", 2, { v: 1 }, source(2))]);
  await assert.rejects(start(fixture, { cdc: { keyColumns: ["v"] } }).ended, {
    code: "SCHEMA_MISMATCH",
    message: /the key of the table is id, and the stream's is v/,
  });
});

test("messages are not added as rows to a table that changes are merged into", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [message("c", 1, { v: 1 }, source(1))]);
  await start(fixture).ended;
  await assert.rejects(fixture.start({ once: true }).ended, { code: "SCHEMA_MISMATCH", hint: /mode: cdc/ });
});

test("commits tell what they came to, and changes without a position are told of once", async (t) => {
  const fixture = await topicOf(t);
  const told: object[] = [];
  let warnings = 0;
  const cdc = { onMerged: (one: object) => void told.push(one), onUnordered: () => void warnings++ };
  const bare = (id: number) => ({ key: JSON.stringify({ id }), value: JSON.stringify({ id, v: 1 }) });
  fixture.kafka.append("t", 0, [bare(1), bare(2), bare(1), { key: null, value: '{"ts_ms":1}' }]);
  await start(fixture, { cdc }).ended;
  assert.deepEqual(told, [
    {
      ...{ inserted: 2, updated: 0, deleted: 0, swept: 0, ignored: 0, folded: 1, uncertain: 0, letters: 0 },
      skipped: { heartbeat: 1 },
    },
  ]);
  assert.equal(warnings, 1);
  const registry = new Registry();
  const metrics = createChangeMetrics(registry)({ topic: "t", table: "customers" });
  metrics.merged(told[0] as Merged);
  const text = await registry.metrics();
  assert.match(text, /lab_changes_total\{topic="t",table="customers",result="folded"\} 1/);
  assert.match(text, /lab_changes_skipped_total\{topic="t",table="customers",kind="heartbeat"\} 1/);
});

test("rows that were there before are older than any change (hudi#7152, hudi#7193)", async (t) => {
  const fixture = await topicOf(t);
  const store = await openStore(fixture.tableUri, { signal });
  const field = (name: string, type: "long" | "string") => ({ name, type, nullable: true, metadata: {} });
  await createTable(
    store,
    { schema: { type: "struct", fields: [field("id", "long"), field("v", "string")] } },
    signal,
  );
  fixture.kafka.append("t", 0, [message("u", 1, { v: "changed" }, source(1))]);
  await start(fixture, { cdc: { keyColumns: ["id"] } }).ended;
  assert.deepEqual(await fixture.rows("SELECT id, v FROM t"), [{ id: 1n, v: "changed" }]);
  const { metadata } = await (await openTable(store, signal)).latest(signal);
  assert.deepEqual(
    [metadata.configuration["lab.cdc.key"], metadata.configuration["lab.cdc.deletes"]],
    ['["id"]', "hidden"],
    "it says what it is from now on",
  );
});

test("soft deletes are seen with their mark, where queries are told to show them", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [message("c", 1, { v: 1 }, source(1)), message("d", 1, null, source(2))]);
  await start(fixture, { cdc: { deletes: "shown" } }).ended;
  assert.deepEqual(await fixture.rows("SELECT id, _cdc.deleted AS gone FROM t"), [{ id: 1n, gone: true }]);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  assert.equal((await table.latest(signal)).metadata.configuration["lab.cdc.deletes"], "shown");
});

test("deleted keys are kept aside where that is asked for, whatever step a process dies at", async (t) => {
  for (const step of ["after-letters", "after-upload", "after-commit"]) {
    const fixture = await topicOf(t);
    const cdc = { deletes: "aside" as const };
    const first = [message("c", 1, { v: 1 }, source(1)), message("c", 2, { v: 2 }, source(2))];
    fixture.kafka.append("t", 0, first);
    await start(fixture, { cdc }).ended;
    fixture.kafka.append("t", 0, [message("d", 1, null, source(5)), message("u", 2, { v: 3 }, source(6))]);
    const onStep = (now: string) => {
      if (now === step) throw new Error("killed");
    };
    await assert.rejects(start(fixture, { cdc, more: { onStep } }).ended, /killed/);
    await start(fixture, { cdc }).ended;
    assert.deepEqual(await fixture.rows("SELECT id, v FROM t"), [{ id: 2n, v: 3n }], step);
    fixture.kafka.append("t", 0, first);
    await start(fixture, { cdc }).ended;
    assert.deepEqual(await fixture.rows("SELECT id, v FROM t"), [{ id: 2n, v: 3n }], step);
    const deleted = "SELECT id, _cdc.hi AS at FROM t WHERE _cdc.deleted";
    assert.deepEqual(
      await fixture.rowsOf(`${fixture.tableUri}__deletes`, deleted),
      [{ id: 1n, at: 5n }],
      step,
    );
  }
});

test("changes in Avro from a registry are merged, their keys and tombstones too", async (t) => {
  const fixture = await topicOf(t);
  const record = (name: string, fields: object[]) => ({ type: "record", name, fields });
  const row = record("Value", [
    { name: "id", type: "int" },
    { name: "v", type: "string" },
  ]);
  const schemas = [
    record("Key", [{ name: "id", type: "int" }]),
    record("Envelope", [
      { name: "after", type: ["null", row] },
      { name: "op", type: "string" },
    ]),
  ];
  const framed = (id: number, value: unknown) =>
    Buffer.concat([
      Buffer.from([0, 0, 0, 0, id]),
      avsc.Type.forSchema(schemas[id - 1] as avsc.Schema).toBuffer(value),
    ]);
  const created = (id: number) => ({
    key: framed(1, { id }),
    value: framed(2, { after: { id, v: `v${id}` }, op: "c" }),
  });
  fixture.kafka.append("t", 0, [created(1), created(2), { key: framed(1, { id: 1 }), value: null }]);
  const known = schemas.map((schema, i) => ({
    ...{ id: i + 1, type: "AVRO", text: JSON.stringify(schema), references: [] },
  }));
  const registry = {
    url: "http://registry",
    byId: async (id: number) => known[id - 1] ?? null,
    latest: async () => known[1]!,
  };
  const wire = {
    format: "avro",
    schemas: { kind: "registry" },
    csv: { header: false, delimiter: "," },
  } as const;
  const decoder = await openDecoder(wire, { registry, columns: null }, signal);
  await start(fixture, { options: { format: "avro" }, more: { decoder: decoder! } }).ended;
  assert.deepEqual(await fixture.rows(`SELECT id, v FROM t WHERE ${LIVE}`), [{ id: 2n, v: "v2" }]);
});

test("a worker that was overtaken gives its changes up, and another one has them once", async (t) => {
  const fixture = await topicOf(t, 2);
  const sink = await fixture.kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const events = customerEvents(9);
  const send = async (count: number) => {
    const records: OutgoingRecord[] = [];
    for (let n = 0; n < count; n++)
      records.push((events.next().value as { message: OutgoingRecord }).message);
    await sink.send("t", records);
  };
  await send(200);
  const workers = [
    start(fixture, { options: { once: false } }),
    start(fixture, { options: { once: false } }),
  ];
  const group = groupOf("lab", fixture.tableUri);
  for (let n = 0; n < 4; n++) {
    await send(100);
    fixture.kafka.rebalance(group);
  }
  const expected = [...customersAfter(9, 600).values()]
    .map(({ id }) => BigInt(id))
    .sort((a, b) => Number(a - b));
  await until("what the database holds", async () => {
    const rows = await fixture.rows(`SELECT id FROM t WHERE ${LIVE} ORDER BY id`).catch(() => []);
    return JSON.stringify(rows.map(({ id }) => String(id))) === JSON.stringify(expected.map(String));
  });
  for (const worker of workers) await worker.end();
});
