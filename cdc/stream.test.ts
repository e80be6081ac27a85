/** Changes on their way through a stream: Kafka in memory, a real table. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { OutgoingRecord } from "../kafka/ports.ts";
import { customerEvents, customersAfter } from "../producer/customers.ts";
import { type Fixture, streamFixture, type Worker } from "../test/support/stream-fixture.ts";
import { openMerger } from "./merge/merger.ts";
import type { CdcOptions } from "./options.ts";
import { createMerging } from "./work.ts";

const start = (
  fixture: Fixture,
  cdc: Partial<CdcOptions> = {},
  more: { onStep?: (step: string) => void; once?: boolean } = {},
): Worker =>
  fixture.start(
    { once: more.once ?? true, metadata: false },
    {
      ...(more.onStep ? { onStep: more.onStep } : {}),
      work: (encoder, scratchDir) =>
        createMerging(
          { format: "debezium", softDelete: false, topic: "t", onBadRecord: "deadletter", ...cdc },
          openMerger({
            ...{ encoder, scratchDir, memoryLimitBytes: 256 << 20, threads: 1, topic: "t" },
            ...{ onUnknownField: "add", now: Date.now, compactEvery: 5 },
            onCompactionFailure: (error) => {
              throw error;
            },
          }),
        ),
    },
  );

async function topicOf(t: TestContext, partitions = 1): Promise<Fixture> {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 70 });
  fixture.kafka.createTopic("t", partitions);
  return fixture;
}

const LIVE = "NOT coalesce(_cdc.deleted, false)";

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
  assert.deepEqual(await lettersOf(fixture), []);
});

async function lettersOf(fixture: Fixture): Promise<unknown[]> {
  return fixture
    .rows('SELECT "offset" AS o, error_code AS code FROM letters ORDER BY o', "letters")
    .catch(() => []);
}
