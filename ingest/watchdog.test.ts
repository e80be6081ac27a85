import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import { streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const json = (id: number) => ({ key: null, value: JSON.stringify({ id }) });
const partition = { topic: "t", partition: 0 };

function logLines() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog("ingest", { to: { write: (line) => void lines.push(JSON.parse(line)) } });
  return {
    log,
    events: () => lines.map(({ event }) => event).filter((e) => e === "stalled" || e === "rejoin"),
  };
}

async function rejoins(fixture: Awaited<ReturnType<typeof streamFixture>>): Promise<number> {
  const found = await fixture.registry.getSingleMetric("lab_ingest_rejoins_total")?.get();
  return found?.values[0]?.value ?? Number.NaN;
}

test("a client that dies without a word is made anew, and the stream goes on: nothing lost, nothing doubled", async (t) => {
  const fixture = await streamFixture(t);
  const { log, events } = logLines();
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json(0)]);
  const worker = fixture.start({}, { stallMs: 2_000, log });
  await fixture.hasRows(1);
  assert.equal(await rejoins(fixture), 0);
  fixture.kafka.silence(partition, "until it rejoins");
  fixture.kafka.append("t", 0, [json(1), json(2)]);
  await fixture.hasRows(3);
  assert.deepEqual(events(), ["stalled", "rejoin"]);
  assert.equal(await rejoins(fixture), 1);
  // Alive again: it is not counted on from there.
  fixture.kafka.append("t", 0, [json(3)]);
  await fixture.hasRows(4);
  await worker.end();
  const rows = await fixture.rows("SELECT id FROM t ORDER BY id");
  assert.deepEqual(
    rows.map(({ id }) => Number(id)),
    [0, 1, 2, 3],
  );
});

test("where the new client hears nothing either, the stream ends with NO_PROGRESS, and the next start goes on", async (t) => {
  const fixture = await streamFixture(t);
  const { log, events } = logLines();
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json(0)]);
  const worker = fixture.start({}, { stallMs: 800, log });
  await fixture.hasRows(1);
  fixture.kafka.silence(partition, "for good");
  fixture.kafka.append("t", 0, [json(1)]);
  await assert.rejects(worker.ended, (error) => {
    assert.ok(isLabError(error, "NO_PROGRESS"), String(error));
    return error.exit === 1;
  });
  assert.deepEqual(events(), ["stalled", "rejoin"]);
  assert.equal(await rejoins(fixture), 1);
  await fixture.start({ once: true }).ended;
  await until("the rest is in", async () => (await fixture.rows("SELECT id FROM t")).length === 2);
});
