import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { StructType } from "../delta/types.ts";
import { type DlqFixture, dlqFixture } from "../test/support/dlq-fixture.ts";
import { failing, faultyStore } from "../test/support/faulty-store.ts";

const { signal } = new AbortController();
const text = (value: string) => ({ key: "k", value, timestampMs: 1_700_000_000_000 });
const good = (id: number) => text(JSON.stringify({ id, amount: id * 1.5 }));
/** A row once its amount is read as text. */
const bad = (id: number) => text(JSON.stringify({ id, amount: `${id}.5 EUR` }));
const FIXED =
  "SELECT * REPLACE (CAST(replace(CAST(amount AS VARCHAR), ' EUR', '') AS DOUBLE) AS amount) FROM messages";

const nullable = (name: string, type: "long" | "double") => ({ name, type, nullable: true, metadata: {} });
const schema: StructType = { type: "struct", fields: [nullable("id", "long"), nullable("amount", "double")] };

const rowsOf = async (fixture: DlqFixture) =>
  (await fixture.rows("SELECT id, amount, _kafka.offset AS o FROM t ORDER BY id")).map((row) => [
    Number(row.id),
    row.amount,
    Number(row.o),
  ]);
const states = async (fixture: DlqFixture) =>
  (await fixture.list()).map(({ offset, state, attempt }) => [Number(offset), state, attempt]);

/** Offsets 0, 1, 4 are rows, 2 and 3 letters. */
async function twoLetters(t: Parameters<typeof dlqFixture>[0]): Promise<DlqFixture> {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [good(0), good(1), bad(2), text("{broken"), good(4)]);
  await fixture.start({ schema, once: true }).ended;
  return fixture;
}

test("letters that a changed transform can read become rows with their place in Kafka; the others stay open, one attempt later", async (t) => {
  const fixture = await twoLetters(t);
  const result = await fixture.replay({ transform: FIXED });
  assert.deepEqual(
    { ...result, reasons: result.reasons.map(({ code, letters }) => [code, letters]) },
    {
      version: 2,
      replayed: 1,
      rows: 1,
      present: 0,
      filtered: 0,
      bad: 1,
      pending: 0,
      reasons: [["MALFORMED_JSON", 1]],
      decisions: 1,
    },
  );
  assert.deepEqual(await rowsOf(fixture), [
    [0, 0, 0],
    [1, 1.5, 1],
    [2, 2.5, 2],
    [4, 6, 4],
  ]);
  assert.deepEqual(await states(fixture), [
    [2, "replayed", 1],
    [3, "open", 2],
  ]);
  const [row] = await fixture.rows("SELECT _kafka FROM t WHERE id = 2");
  const { key, ...kafka } = row!._kafka as Record<string, unknown>;
  assert.equal(Buffer.from(key as Uint8Array).toString(), "k");
  assert.deepEqual(kafka, {
    topic: "t",
    partition: 0,
    offset: 2n,
    timestamp: new Date(1_700_000_000_000),
    timestamp_type: "create",
    headers: [],
    generation: 0,
  });
});

test("a second replay finds nothing to do, and an ingester goes on where it was", async (t) => {
  const fixture = await twoLetters(t);
  await fixture.replay({ transform: FIXED });
  const again = await fixture.replay({ transform: FIXED });
  assert.equal(again.version, null);
  assert.equal(again.replayed, 0);
  fixture.kafka.append("t", 0, [good(5), bad(6)]);
  await fixture.start({ schema, once: true }).ended;
  assert.deepEqual(
    (await rowsOf(fixture)).map(([id]) => id),
    [0, 1, 2, 4, 5],
  );
  await fixture.replay({ transform: FIXED });
  assert.deepEqual(
    (await rowsOf(fixture)).map(([id]) => id),
    [0, 1, 2, 4, 5, 6],
  );
});

test("letters that were dropped stay out until they are asked for by their state", async (t) => {
  const fixture = await twoLetters(t);
  assert.deepEqual(await fixture.drop({ filter: { offsets: [{ partition: 0, first: 2n, last: 2n }] } }), {
    dropped: 1,
    present: 0,
  });
  assert.equal((await fixture.replay({ transform: FIXED })).replayed, 0);
  assert.deepEqual(await states(fixture), [
    [2, "dropped", 1],
    [3, "open", 2],
  ]);
  const brought = await fixture.replay({ transform: FIXED, filter: { states: ["dropped"] } });
  assert.equal(brought.replayed, 1);
  assert.equal((await fixture.list({ states: ["replayed"] })).length, 1);
});

test("a dry run tells what would come of it and changes nothing", async (t) => {
  const fixture = await twoLetters(t);
  const before = [await states(fixture), await rowsOf(fixture)];
  const result = await fixture.replay({ transform: FIXED, isDryRun: true });
  assert.equal(result.replayed, 1);
  assert.equal(result.bad, 1);
  assert.equal(result.version, null);
  assert.deepEqual(await fixture.drop({ isDryRun: true }), { dropped: 2, present: 0 });
  assert.deepEqual([await states(fixture), await rowsOf(fixture)], before);
});

test("a letter that the transform leaves out is dropped, its neighbours become rows", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [good(0), bad(1), bad(2), bad(3)]);
  await fixture.start({ schema, once: true }).ended;
  const result = await fixture.replay({ transform: `${FIXED} WHERE id <> 2` });
  assert.deepEqual([result.replayed, result.filtered, result.bad], [2, 1, 0]);
  assert.deepEqual(await states(fixture), [
    [1, "replayed", 1],
    [2, "dropped", 1],
    [3, "replayed", 1],
  ]);
});

test("a new field becomes a column in the commit that holds its first row", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [good(0), text('{"id":1,"amount":1,"note":"n"}')]);
  await fixture.start({ schema, once: true, onUnknownField: "deadletter" }).ended;
  const result = await fixture.replay();
  assert.equal(result.replayed, 1);
  assert.deepEqual(await fixture.rows("SELECT id, note FROM t ORDER BY id"), [
    { id: 0n, note: null },
    { id: 1n, note: "n" },
  ]);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const actions = await table.commitActions(result.version!, signal);
  assert.ok(actions.some((action) => "metaData" in action));
  assert.ok(actions.some((action) => "add" in action));
  fixture.kafka.append("t", 0, [good(2)]);
  await fixture.start({ schema, once: true }).ended;
  assert.equal((await fixture.rows("SELECT id FROM t")).length, 3);
});

test("rows that violate a constraint of the table stay letters", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [good(1), text('{"id":-1,"amount":1}'), bad(2)]);
  const tableProperties = { "delta.constraints.positive": "id > 0" };
  await fixture.start({ schema, once: true, tableProperties }).ended;
  const result = await fixture.replay({ transform: FIXED });
  assert.deepEqual([result.replayed, result.reasons.map(({ code }) => code)], [1, ["CONSTRAINT_VIOLATED"]]);
});

test("killed between rows and states: the next replay, or a drop, makes up for it and doubles nothing", async (t) => {
  for (const next of ["replay", "drop"] as const) {
    const fixture = await twoLetters(t);
    const killed = new Error("killed");
    let isKilled = false;
    const wrapStore = (store: Parameters<typeof faultyStore>[0]) =>
      faultyStore(store, () => (isKilled ? killed : undefined));
    const onCommitted = () => {
      isKilled = true;
    };
    await assert.rejects(fixture.replay({ transform: FIXED, wrapStore, onCommitted }), killed);
    assert.deepEqual(await states(fixture), [
      [2, "open", 1],
      [3, "open", 1],
    ]);
    if (next === "replay") {
      const healed = await fixture.replay({ transform: FIXED });
      assert.deepEqual([healed.version, healed.present, healed.bad], [null, 1, 1]);
    } else assert.deepEqual(await fixture.drop(), { dropped: 1, present: 1 });
    assert.deepEqual(
      (await rowsOf(fixture)).map(([id]) => id),
      [0, 1, 2, 4],
    );
    assert.equal((await fixture.list({ states: ["replayed"] })).length, 1);
  }
});

test("two replays at once: one writes the rows, the other decides again and finds nothing left", async (t) => {
  const fixture = await twoLetters(t);
  const results = await Promise.all([1, 2, 3].map(() => fixture.replay({ transform: FIXED })));
  assert.equal(results.filter(({ version }) => version !== null).length, 1);
  assert.equal(
    results.reduce((sum, { replayed }) => sum + replayed, 0),
    1,
  );
  assert.deepEqual(
    (await rowsOf(fixture)).map(([id]) => id),
    [0, 1, 2, 4],
  );
});

test("the loser of two replays removes the files that it stored", async (t) => {
  const fixture = await twoLetters(t);
  let isOther = false;
  const stores: ReturnType<typeof faultyStore>[] = [];
  const result = await fixture.replay({
    transform: FIXED,
    wrapStore: (store) => {
      const wrapped = faultyStore(store, ({ op, path }) => {
        if (op !== "putIfAbsent" || !path.startsWith("_delta_log/") || isOther) return undefined;
        isOther = true;
        return fixture.replay({ transform: FIXED });
      });
      stores.push(wrapped);
      return wrapped;
    },
  });
  assert.equal(result.version, null);
  assert.equal(result.decisions, 2);
  const [rows] = stores;
  const put = rows!.calls.filter(({ op, path }) => op === "put" && path.endsWith(".parquet"));
  const removed = rows!.calls.filter(({ op }) => op === "delete").map(({ path }) => path);
  assert.deepEqual(
    put.map(({ path }) => path),
    removed,
  );
});

test("an ingester that commits meanwhile stands in nobody's way", async (t) => {
  const fixture = await twoLetters(t);
  fixture.kafka.append("t", 0, [good(5)]);
  let isOther = false;
  const result = await fixture.replay({
    transform: FIXED,
    wrapStore: (store) =>
      faultyStore(store, ({ op }) => {
        if (op !== "putIfAbsent" || isOther) return undefined;
        isOther = true;
        return fixture.start({ schema, once: true }).ended;
      }),
  });
  assert.deepEqual([result.version, result.decisions], [3, 1]);
  assert.deepEqual(
    (await rowsOf(fixture)).map(([id]) => id),
    [0, 1, 2, 4, 5],
  );
});

test("a column that an ingester adds meanwhile: decided again on the new schema", async (t) => {
  const fixture = await twoLetters(t);
  fixture.kafka.append("t", 0, [text('{"id":5,"amount":1,"note":"n"}')]);
  let isOther = false;
  const result = await fixture.replay({
    transform: FIXED,
    wrapStore: (store) =>
      faultyStore(store, ({ op }) => {
        if (op !== "putIfAbsent" || isOther) return undefined;
        isOther = true;
        return fixture.start({ schema, once: true }).ended;
      }),
  });
  assert.deepEqual([result.version, result.decisions, result.replayed], [3, 2, 1]);
});

test("letters ahead of the rows are the ingester's: it has not settled them, and its next start must not miss its position", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [good(0)]);
  await fixture.start({ schema, once: true }).ended;
  fixture.kafka.append("t", 0, [bad(1), good(2)]);
  const died = new Error("died");
  const onStep = (step: string) => {
    if (step === "after-letters") throw died;
  };
  await assert.rejects(fixture.start({ schema, once: true }, { onStep }).ended, { message: "died" });
  const early = await fixture.replay({ transform: FIXED });
  assert.deepEqual([early.pending, early.replayed], [1, 0]);
  await fixture.start({ schema, once: true }).ended;
  assert.equal((await fixture.replay({ transform: FIXED })).replayed, 1);
  assert.deepEqual(
    (await rowsOf(fixture)).map(([id]) => id),
    [0, 1, 2],
  );
});

test("letters of a topic that was made anew come back under its generation, and are not taken for records of the new one", async (t) => {
  const fixture = await twoLetters(t);
  const admin = await fixture.kafka.admin();
  await admin.deleteTopic("t");
  await admin.close();
  fixture.kafka.createTopic("t", 1);
  const later = (id: number, record = good(id)) => ({ ...record, timestampMs: 1_700_000_100_000 });
  fixture.kafka.append(
    "t",
    0,
    [10, 11].map((id) => later(id)),
  );
  await assert.rejects(fixture.start({ schema, once: true }).ended, (error) =>
    isLabError(error, "TOPIC_RESET"),
  );
  await fixture.start({ schema, once: true, onTopicReset: "restart" }).ended;
  // Offset 2 is a letter of both topics, offset 3 one of the old topic only.
  fixture.kafka.append("t", 0, [later(12, bad(12)), later(13)]);
  await fixture.start({ schema, once: true }).ended;
  const newest = (await fixture.list()).at(-2);
  assert.deepEqual([newest?.offset, newest?.timestampMs], [2n, 1_700_000_100_000]);
  const untilMs = newest!.firstAtMs;
  assert.equal((await fixture.replay({ transform: FIXED, filter: { untilMs } })).replayed, 1);
  assert.deepEqual(
    (await fixture.list({ states: ["open"] })).map(({ offset, timestampMs }) => [
      Number(offset),
      timestampMs,
    ]),
    [
      [2, 1_700_000_100_000],
      [3, 1_700_000_000_000],
    ],
  );
  assert.equal((await fixture.replay({ transform: FIXED })).replayed, 1);
  const rows = await fixture.rows(
    "SELECT id, _kafka.offset AS o, _kafka.generation AS g FROM t WHERE _kafka.offset = 2 ORDER BY id",
  );
  assert.deepEqual(rows, [
    { id: 2n, o: 2n, g: 0 },
    { id: 12n, o: 2n, g: 1 },
  ]);
});

test("without a table, without letters, and a table that does not say where rows are from", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  await assert.rejects(fixture.replay(), (error) => isLabError(error, "TABLE_NOT_FOUND"));
  assert.deepEqual(await fixture.drop(), { dropped: 0, present: 0 });
  assert.deepEqual(await fixture.list(), []);
  fixture.kafka.append("t", 0, [good(0), text("{broken")]);
  await fixture.start({ schema, once: true, metadata: false }).ended;
  await assert.rejects(fixture.replay({ stream: { metadata: false } }), (error) =>
    isLabError(error, "UNSUPPORTED_FEATURE"),
  );
  assert.deepEqual(await fixture.drop(), { dropped: 1, present: 0 });
});

test("letters whose table is gone, or was never there, can be listed and dropped", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [text("{broken")]);
  await fixture.start({ once: true }).ended;
  await assert.rejects(fixture.replay(), (error) => isLabError(error, "TABLE_NOT_FOUND"));
  assert.equal((await fixture.list()).length, 1);
  assert.deepEqual(await fixture.drop(), { dropped: 1, present: 0 });
});

test("a table that is removed under a replay is not written again", async (t) => {
  const fixture = await twoLetters(t);
  let isRemoved = false;
  const wrapStore = (store: Parameters<typeof faultyStore>[0]) =>
    faultyStore(store, ({ op, path }) => {
      if (op !== "put" || !path.endsWith(".parquet") || isRemoved) return undefined;
      isRemoved = true;
      return rm(new URL(`${fixture.tableUri}/_delta_log`), { recursive: true });
    });
  await assert.rejects(fixture.replay({ transform: FIXED, wrapStore }), (error) =>
    isLabError(error, "NOT_A_TABLE"),
  );
  await assert.rejects(openTable(await openStore(fixture.tableUri, { signal }), signal), (error) =>
    isLabError(error, "NOT_A_TABLE"),
  );
});

test("a replay that is stopped: before the commit nothing is left of it, after it the states are written", async (t) => {
  const fixture = await twoLetters(t);
  const stores: ReturnType<typeof faultyStore>[] = [];
  const early = new AbortController();
  const stopped = fixture.replay({
    transform: FIXED,
    signal: early.signal,
    wrapStore: (store) => {
      stores.push(
        faultyStore(store, ({ op, path }) => {
          if (op === "put" && path.endsWith(".parquet")) early.abort(new Error("stopped"));
          return undefined;
        }),
      );
      return stores.at(-1)!;
    },
  });
  await assert.rejects(stopped, { message: "stopped" });
  assert.equal(stores[0]!.calls.filter(({ op }) => op === "delete").length, 1);
  const late = new AbortController();
  const onCommitted = () => late.abort(new Error("stopped"));
  assert.equal((await fixture.replay({ transform: FIXED, signal: late.signal, onCommitted })).replayed, 1);
  assert.equal((await fixture.list({ states: ["replayed"] })).length, 1);
});

test("an outage of the store fails a replay before the commit, and leaves nothing behind", async (t) => {
  const fixture = await twoLetters(t);
  const stores: ReturnType<typeof faultyStore>[] = [];
  const down = new Error("the disk is gone");
  await assert.rejects(
    fixture.replay({
      transform: FIXED,
      wrapStore: (store) => {
        stores.push(faultyStore(store, failing("put", /parquet$/, down)));
        return stores.at(-1)!;
      },
    }),
    down,
  );
  assert.deepEqual(
    stores[0]!.calls.filter(({ op }) => op === "delete").length,
    stores[0]!.calls.filter(({ op }) => op === "put").length,
  );
  assert.equal((await fixture.replay({ transform: FIXED })).replayed, 1);
});

test("a remote store: files are fetched, and nothing else differs", async (t) => {
  const fixture = await twoLetters(t);
  const wrapStore = ({ localPath: _, ...store }: ReturnType<typeof faultyStore>) => store;
  const remote = (store: Parameters<typeof faultyStore>[0]) => wrapStore(faultyStore(store));
  assert.equal((await fixture.replay({ transform: FIXED, wrapStore: remote })).replayed, 1);
  assert.deepEqual(await fixture.drop({ wrapStore: remote }), { dropped: 1, present: 0 });
});

test("messages are encoded in batches, each by the schema that the one before it left", async (t) => {
  const fixture = await dlqFixture(t);
  fixture.kafka.createTopic("t", 1);
  const unknown = Array.from({ length: 9 }, (_, n) => text(`{"id":${n + 1},"f${n % 3}":${n}}`));
  fixture.kafka.append("t", 0, [good(0), ...unknown]);
  await fixture.start({ schema, once: true, onUnknownField: "deadletter" }).ended;
  const result = await fixture.replay({ batchBytes: 20 });
  assert.equal(result.replayed, 9);
  const [sum] = await fixture.rows("SELECT sum(f0) AS a, sum(f1) AS b, sum(f2) AS c FROM t");
  assert.deepEqual([sum!.a, sum!.b, sum!.c].map(Number), [9, 12, 15]);
});

test("letters of a table that changes are merged into are refused, with what to do instead", async (t) => {
  const fixture = await twoLetters(t);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const readSnapshot = await table.latest(signal);
  const configuration = { ...readSnapshot.metadata.configuration, "lab.cdc.key": '["id"]' };
  const metadata = { ...readSnapshot.metadata, configuration };
  await table.commit({ readSnapshot, operation: "SET TBLPROPERTIES", metadata }, signal);
  await assert.rejects(
    fixture.replay({}),
    (error) => isLabError(error, "UNSUPPORTED_FEATURE") && /send what was put right/.test(error.hint ?? ""),
  );
});
