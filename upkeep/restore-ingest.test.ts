/** A restore under an ingester, and before one that starts again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { streamFixture } from "../test/support/stream-fixture.ts";
import { restoreTable } from "./restore.ts";
import { vacuum } from "./vacuum.ts";

const { signal } = new AbortController();

const message = (n: number) => ({ key: null, value: JSON.stringify({ n }), partition: 0 });
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => message(from + index));
const LEFT = "SELECT list(n ORDER BY n)::VARCHAR AS n FROM t";

test("an ingester goes on through a restore and a vacuum; the rows that went stay away", async (t) => {
  const stream = await streamFixture(t);
  stream.kafka.createTopic("t", 1);
  stream.kafka.append("t", 0, numbers(0, 3));
  const worker = stream.start();
  await stream.hasRows(3);
  const table = await openTable(await openStore(stream.tableUri, { signal }), signal);
  const { version } = await table.latest(signal);
  stream.kafka.append("t", 0, numbers(3, 6));
  await stream.hasRows(6);
  await restoreTable(table, { to: { version } }, signal);
  assert.deepEqual(await stream.rows(LEFT), [{ n: "[0, 1, 2]" }]);
  // A retention of nothing would be too short beside a writer: an hour leaves it alone.
  await vacuum(table, { retainMs: 3_600_000, allowShort: true }, signal);
  stream.kafka.append("t", 0, numbers(6, 8));
  await stream.hasRows(5);
  await worker.end();
  assert.deepEqual(await stream.rows(LEFT), [{ n: "[0, 1, 2, 6, 7]" }]);
});

test("after a restore that takes the offsets back, what came since is ingested again, once", async (t) => {
  const stream = await streamFixture(t);
  stream.kafka.createTopic("t", 2);
  stream.kafka.append("t", 0, numbers(0, 3));
  const first = stream.start();
  await stream.hasRows(3);
  await first.end();
  const table = await openTable(await openStore(stream.tableUri, { signal }), signal);
  const { version } = await table.latest(signal);
  // Partition 1 has no position yet in that version.
  stream.kafka.append("t", 0, numbers(3, 6));
  stream.kafka.append("t", 1, [message(100), message(101)]);
  const second = stream.start();
  await stream.hasRows(8);
  await second.end();

  const { rewound } = await restoreTable(table, { to: { version }, rewindOffsets: true }, signal);
  assert.deepEqual(
    rewound.map(({ appId, from, to }) => [appId, from, to]),
    [
      ["lab/t-0", 5n, 2n],
      ["lab/t-1", 1n, -1n],
    ],
  );
  assert.deepEqual(await stream.rows(LEFT), [{ n: "[0, 1, 2]" }]);
  const third = stream.start();
  await stream.hasRows(8);
  await third.end();
  assert.deepEqual(await stream.rows(LEFT), [{ n: "[0, 1, 2, 3, 4, 5, 100, 101]" }]);
});
