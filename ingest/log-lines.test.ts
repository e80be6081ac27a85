import assert from "node:assert/strict";
import { test } from "node:test";
import { LabError } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { faultyStore } from "../test/support/faulty-store.ts";
import { streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });

test("each line is one JSON object that says what happened, to which topic and table, where, and why", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ id: 0 }), { key: null, value: "{broken\n" }, json({ id: 2 })]);
  let isAway = true;
  fixture.wrap = (store) =>
    faultyStore(store, ({ op, path }) =>
      isAway && op === "put" && path.endsWith(".parquet")
        ? new LabError("STORE_UNREACHABLE", "the store is away")
        : undefined,
    );
  const written: string[] = [];
  const log = createLog("ingest", { level: "debug", to: { write: (line) => void written.push(line) } });
  const worker = fixture.start({}, { log });
  await until("the outage is told", () => written.some((line) => line.includes('"outage"')));
  isAway = false;
  await fixture.hasRows(2);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const readSnapshot = await table.latest(signal);
  const txns = [{ appId: "lab/t-0", version: 3n }];
  await table.commit({ readSnapshot, operation: "STREAMING UPDATE", txns }, signal);
  fixture.kafka.append("t", 0, [json({ id: 3 }), json({ id: 4 })]);
  await fixture.hasRows(3);
  await worker.end();

  const lines = written.map((line) => {
    assert.match(line, /^\{.*\}\n$/);
    return JSON.parse(line) as Record<string, unknown>;
  });
  for (const line of lines) {
    assert.equal(typeof line.event, "string", JSON.stringify(line));
    assert.deepEqual([line.part, line.topic, line.table], ["ingest", "t", fixture.tableUri]);
    assert.match(String(line.time), /^\d{4}-\d\d-\d\dT.*Z$/);
    // What a person has to look at names its error.
    if (Number(line.level) >= 40 && line.event !== "letters") assert.equal(typeof line.code, "string");
  }
  const first = (event: string) => lines.find((line) => line.event === event);
  assert.deepEqual(first("assigned")?.next, { 0: "0" });
  assert.deepEqual(
    [first("outage")?.code, first("commit-lost")?.code],
    ["STORE_UNREACHABLE", "COMMIT_CONFLICT"],
  );
  const { rows, letters, offsets, version } = first("committed") ?? {};
  assert.deepEqual(
    { rows, letters, offsets, version },
    { rows: 2, letters: 1, offsets: { 0: ["0", "2"] }, version: 1 },
  );
  assert.deepEqual(first("letters")?.offsets, { 0: ["1", "1"] });
  assert.deepEqual(
    lines.filter(({ event }) => event === "assigned").map(({ next }) => next),
    [{ 0: "0" }, { 0: "4" }],
  );
  assert.equal(lines.at(-1)?.event, "stopped");
});

test("a column that one odd message made text is told once, with that message", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const amounts = [1, 2, "n/a", 4].map((amount) => json({ amount }));
  fixture.kafka.append("t", 0, amounts);
  const written: string[] = [];
  const log = createLog("ingest", { level: "info", to: { write: (line) => void written.push(line) } });
  const worker = fixture.start({}, { log });
  await fixture.hasRows(4);
  fixture.kafka.append("t", 0, [json({ amount: 5, more: true }), json({ amount: 6, more: "x" })]);
  await fixture.hasRows(6);
  await worker.end();
  const told = written.map((line) => JSON.parse(line)).filter(({ event }) => event === "mixed");
  assert.deepEqual(
    told.map(({ column }) => column),
    ["amount", "more"],
  );
  assert.match(
    told[0].msg,
    /^column amount became STRING: 1 of 4 messages had text there, first t\/0@2, where the others had a number/,
  );
});
