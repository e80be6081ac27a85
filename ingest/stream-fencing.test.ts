/**
 * A worker that stood still (frozen, or cut off with a put on its way) may still commit for partitions that are another's by now. Whichever of
 * the two the log takes, the other finds out before its own next commit, of whatever partition that is.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { faultyStore } from "../test/support/faulty-store.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { lettersFile } from "./letters-file.ts";
import { letterSchema } from "./schemas.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => json({ id: from + n }));
const ids = async (fixture: Fixture) =>
  (await fixture.rows("SELECT id FROM t ORDER BY id")).map((row) => Number(row.id));
const letterOffsets = async (fixture: Fixture) =>
  (await fixture.rows(`SELECT "partition" AS p, "offset" AS o FROM letters ORDER BY p, o`, "letters")).map(
    (row) => `${row.p}:${row.o}`,
  );
const bad = { key: null, value: "{broken", timestampMs: 1_000 };

/** Lets one put wait, from when it is shut until it is released. */
function gateAt(fixture: Fixture, path: RegExp, op: "put" | "putIfAbsent" = "putIfAbsent") {
  let open: (value?: unknown) => void = () => {};
  const held = new Promise((resolve) => {
    open = resolve;
  });
  let isShut = false;
  const gate = {
    isHeld: false,
    shut() {
      isShut = true;
    },
    release() {
      open();
    },
  };
  fixture.wrap = (store) =>
    faultyStore(store, (call) => {
      if (!isShut || gate.isHeld || call.op !== op || !path.test(call.path)) return undefined;
      gate.isHeld = true;
      return held;
    });
  return gate;
}

/** What the other worker left in the log: a position, as if it had written everything up to it. */
async function moveElsewhere(uri: string, partition: number, version: bigint): Promise<void> {
  const table = await openTable(await openStore(uri, { signal }), signal);
  const result = await table.commit(
    {
      readSnapshot: await table.latest(signal),
      operation: "STREAMING UPDATE",
      txns: [{ appId: `lab/t-${partition}`, version }],
    },
    signal,
  );
  assert.equal(result.kind, "committed");
}

test("a position moved by another worker is noticed by a commit of another partition, and nothing is doubled", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  fixture.kafka.append("t", 0, numbered(0, 5));
  fixture.kafka.append("t", 1, numbered(100, 105));
  const gate = gateAt(fixture, /\.json$/);
  const worker = fixture.start();
  await fixture.hasRows(10);
  gate.shut();
  fixture.kafka.append("t", 0, numbered(5, 10));
  await until("a commit of partition 0 is on its way", () => gate.isHeld);
  await moveElsewhere(fixture.tableUri, 1, 9n);
  fixture.kafka.append("t", 1, numbered(105, 115));
  gate.release();
  await fixture.hasRows(20);
  await worker.end();
  const expected = [...range(0, 10), ...range(100, 105), ...range(110, 115)];
  assert.deepEqual(await ids(fixture), expected);
});

test("a table that another worker made and filled since the positions were read is not written from them", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const gate = gateAt(fixture, /\/0{20}\.json$/);
  gate.shut();
  fixture.kafka.append("t", 0, numbered(0, 5));
  const worker = fixture.start();
  await until("the table is about to be made", () => gate.isHeld);
  const long = { name: "id", type: "long" as const, nullable: true, metadata: {} };
  const store = await openStore(fixture.tableUri, { signal });
  await createTable(store, { schema: { type: "struct", fields: [long] } }, signal);
  await moveElsewhere(fixture.tableUri, 0, 2n);
  gate.release();
  await fixture.hasRows(2);
  fixture.kafka.append("t", 0, numbered(5, 8));
  await fixture.hasRows(5);
  await worker.end();
  assert.deepEqual(await ids(fixture), [3, 4, 5, 6, 7]);
});

test("letters that another worker left ahead are verdicts, though letters of another partition came in between", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  for (const partition of [0, 1]) fixture.kafka.append("t", partition, [...numbered(0, 1), bad]);
  const worker = fixture.start();
  await until("both letters", async () => (await letterOffsets(fixture)).length === 2);
  await fixture.hasRows(2);
  await leaveLetter(fixture, 1, 2n);
  fixture.kafka.append("t", 0, [bad]);
  await until("the letter of partition 0", async () => (await letterOffsets(fixture)).includes("0:2"));
  fixture.kafka.append("t", 1, [bad, ...numbered(1, 2)]);
  await fixture.hasRows(3);
  await worker.end();
  assert.deepEqual(await letterOffsets(fixture), ["0:1", "0:2", "1:1", "1:2"]);
});

test("letters in a table that another worker made since the positions were read are verdicts too", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 1));
  const worker = fixture.start();
  await fixture.hasRows(1);
  const store = await openStore(`${fixture.tableUri}__dead_letters`, { signal });
  await createTable(store, { schema: letterSchema }, signal);
  await leaveLetter(fixture, 0, 1n);
  fixture.kafka.append("t", 0, [bad, ...numbered(1, 2)]);
  await fixture.hasRows(2);
  await worker.end();
  assert.deepEqual(await letterOffsets(fixture), ["0:1"]);
});

test("a worker that was overtaken leaves no letters of records that are rows by now", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [...numbered(0, 1), bad]);
  const gate = gateAt(fixture, /\.parquet$/, "put");
  const worker = fixture.start();
  await until("the first letter", async () => (await letterOffsets(fixture)).length === 1);
  await fixture.hasRows(1);
  gate.shut();
  fixture.kafka.append("t", 0, [bad, ...numbered(1, 2)]);
  await until("its files are on their way", () => gate.isHeld);
  await moveElsewhere(fixture.tableUri, 0, 3n);
  gate.release();
  fixture.kafka.append("t", 0, numbered(2, 3));
  await fixture.hasRows(2);
  await worker.end();
  assert.deepEqual(await letterOffsets(fixture), ["0:1"]);
  assert.deepEqual(await ids(fixture), [0, 2]);
});

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

/** A letter of the record at `offset`, by a worker that got no further. */
async function leaveLetter(fixture: Fixture, partition: number, offset: bigint): Promise<void> {
  const table = await openTable(await openStore(`${fixture.tableUri}__dead_letters`, { signal }), signal);
  const letter = {
    topic: "t",
    partition,
    offset,
    timestampMs: 1_000,
    key: null,
    value: Buffer.from("{broken"),
    headers: [],
    stage: "decode" as const,
    code: "X",
    message: "left by another",
  };
  const path = `left-${partition}-${offset}.parquet`;
  const bytes = lettersFile([letter], 0);
  await table.store.put(path, bytes, signal);
  const add = { path, partitionValues: {}, size: bytes.byteLength, modificationTime: 0, dataChange: true };
  const result = await table.commit(
    {
      readSnapshot: await table.latest(signal),
      operation: "STREAMING UPDATE",
      adds: [add],
      txns: [{ appId: `lab/t-${partition}`, version: offset }],
    },
    signal,
  );
  assert.equal(result.kind, "committed");
}
