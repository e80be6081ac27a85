import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { memoryStore } from "../delta/store/memory.ts";
import { TEXT_SCHEMA } from "../engine/text-source.ts";
import type { RawRecord } from "../kafka/ports.ts";
import type { Opened } from "./destination.ts";
import { fingerprint } from "./fingerprint.ts";
import { type ResumeInput, readResume } from "./resume.ts";
import { createRoutedTables } from "./routed-tables.ts";
import { letterSchema, tableSchema } from "./schemas.ts";

const { signal } = new AbortController();
const record = (offset: bigint, value: string): RawRecord => ({
  offset,
  timestampMs: 1000,
  key: null,
  value: Buffer.from(value),
  headers: [],
});

/** A table whose log settles partition 0 of topic `t` at `settled`, with a mark of that record. */
async function settledAt(settled: bigint, mark = fingerprint(record(settled, "same"))): Promise<Opened> {
  const table = await createTable(
    memoryStore(),
    { schema: tableSchema(TEXT_SCHEMA.fields, [], true) },
    signal,
  );
  const lab = {
    v: 1,
    app: "lab",
    generation: 3,
    partitions: [{ topic: "t", partition: 0, fingerprint: mark }],
  };
  const result = await table.commit(
    {
      readSnapshot: await table.latest(signal),
      operation: "STREAMING UPDATE",
      txns: [{ appId: "lab/t-0", version: settled }],
      info: { lab },
    },
    signal,
  );
  assert.equal(result.kind, "committed");
  return { table, snapshot: await table.latest(signal) };
}

function input(more: Partial<ResumeInput> & { low?: bigint; high?: bigint } = {}): ResumeInput {
  const { low = 0n, high = 100n, ...rest } = more;
  return {
    options: { topic: "t", app: "lab", start: { kind: "earliest" }, onTopicReset: "fail" },
    partitions: [0],
    rows: null,
    letters: null,
    admin: {
      watermarks: async () => new Map([[0, { low, high }]]),
      offsetsAt: async () => new Map([[0, 42n]]),
      recordAt: async ({ nextOffset }) => record(nextOffset, "same"),
    },
    rowReader: {
      ...{ hasRowsOf: async () => false, otherTopic: async () => null },
      letteredRecords: async () => new Set(),
      rowsFrom: async () => [],
    },
    routed: createRoutedTables("memory://t", async () => memoryStore(), {}),
    before: null,
    signal,
    ...rest,
  };
}

const fails = (code: Parameters<typeof isLabError>[1] & string, hint: RegExp) => (error: unknown) => {
  assert.ok(isLabError(error, code), String(error));
  assert.match(error.hint ?? "", hint);
  return true;
};

test("goes on one behind the last settled offset, also at 0", async () => {
  for (const settled of [0n, 41n]) {
    const resume = await readResume(input({ rows: await settledAt(settled) }));
    assert.deepEqual(resume.next, new Map([[0, settled + 1n]]));
    assert.equal(resume.recordGeneration, 3);
  }
});

test("without a position: from the start, the end, a time or an offset, as asked", async () => {
  const at = async (start: ResumeInput["options"]["start"]) => {
    const base = input({ low: 5n });
    return (await readResume({ ...base, options: { ...base.options, start } })).next.get(0);
  };
  assert.equal(await at({ kind: "earliest" }), 5n);
  assert.equal(await at({ kind: "latest" }), 100n);
  assert.equal(await at({ kind: "time", timestampMs: 1 }), 42n);
  assert.equal(await at({ kind: "offsets", next: new Map([[0, 7n]]) }), 7n);
  await assert.rejects(at({ kind: "offsets", next: new Map([[0, 101n]]) }), fails("USAGE", /from 5 to 100/));
});

test("explicit offsets that would skip or double are refused, and those where the table is are not", async () => {
  const rows = await settledAt(41n);
  const at = (offset: bigint, partition = 0, before: ResumeInput["before"] = null) => {
    const base = input({ rows, before });
    const start = { kind: "offsets" as const, next: new Map([[partition, offset]]) };
    return readResume({ ...base, options: { ...base.options, start } });
  };
  const says = (what: RegExp) => (error: unknown) => isLabError(error, "USAGE") && what.test(error.message);
  await assert.rejects(at(50n), fails("USAGE", /--app/));
  await assert.rejects(at(50n), says(/would skip/));
  await assert.rejects(at(30n), says(/would double/));
  await assert.rejects(at(0n, 7), says(/no partition 7/));
  assert.equal((await at(42n)).next.get(0), 42n);
  // The same process later on: the table is where its own commits brought it.
  assert.equal((await at(30n, 0, new Map())).next.get(0), 42n);
});

test("latest is one end for all partitions, found once: not where the table knows the topic, nor anew in a process that found it", async () => {
  const latest = { kind: "latest" as const };
  const read = (more: Parameters<typeof input>[0]) => {
    const base = input(more);
    return readResume({ ...base, options: { ...base.options, start: latest } });
  };
  const two = {
    ...input().admin,
    watermarks: async () => new Map([0, 1].map((n) => [n, { low: 5n, high: 100n }])),
  };
  const first = await read({ admin: two });
  assert.deepEqual([first.next, first.begun], [new Map([[0, 100n]]), new Map([0, 1].map((n) => [n, 100n]))]);
  const again = await read({ admin: two, before: new Map([[0, 90n]]) });
  assert.deepEqual(
    [...again.begun],
    [
      [0, 90n],
      [1, 100n],
    ],
  );
  const added = await read({ admin: two, partitions: [0, 1], rows: await settledAt(41n) });
  assert.deepEqual(
    [...added.next],
    [
      [0, 42n],
      [1, 5n],
    ],
  );
  assert.equal(added.begun.size, 0);
});

test("a position that retention has passed is never a silent reset", async () => {
  await assert.rejects(
    readResume(input({ rows: await settledAt(10n), low: 12n })),
    fails("OFFSET_EXPIRED", /--on-topic-reset/),
  );
});

test("a topic made anew is recognised: by its end, and by another record at the same offset", async () => {
  await assert.rejects(readResume(input({ rows: await settledAt(200n) })), fails("TOPIC_RESET", /restart/));
  const other = input({ rows: await settledAt(10n) });
  const admin = { ...other.admin, recordAt: async () => record(10n, "another") };
  await assert.rejects(readResume({ ...other, admin }), fails("TOPIC_RESET", /skip/));
});

test("a record that compaction removed proves nothing", async () => {
  const base = input({ rows: await settledAt(10n) });
  const admin = { ...base.admin, recordAt: async () => record(15n, "later") };
  assert.equal((await readResume({ ...base, admin })).next.get(0), 11n);
});

test("after a reset: restart begins anew in a new generation, skip goes on at the end", async () => {
  const base = input({ rows: await settledAt(200n) });
  const as = (onTopicReset: "restart" | "skip") =>
    readResume({ ...base, options: { ...base.options, onTopicReset } });
  const restart = await as("restart");
  assert.deepEqual([restart.next.get(0), restart.recordGeneration], [0n, 4]);
  const skip = await as("skip");
  // At the end of the new topic there may be offsets that the table has rows of.
  assert.deepEqual([skip.next.get(0), skip.recordGeneration], [100n, 4]);
});

test("rows of a partition without a position are refused, not read again", async () => {
  const table = await createTable(
    memoryStore(),
    { schema: tableSchema(TEXT_SCHEMA.fields, [], true) },
    signal,
  );
  const rows = { table, snapshot: await table.latest(signal) };
  const rowReader = { ...input().rowReader, hasRowsOf: async () => true };
  await assert.rejects(readResume(input({ rows, rowReader })), fails("OFFSETS_MISSING", /--app/));
});

test("letters ahead of the rows are verdicts", async () => {
  const table = await createTable(memoryStore(), { schema: letterSchema }, signal);
  const txns = [{ appId: "lab/t-0", version: 50n }];
  await table.commit(
    { readSnapshot: await table.latest(signal), operation: "STREAMING UPDATE", txns },
    signal,
  );
  const letters = { table, snapshot: await table.latest(signal) };
  const rowReader = { ...input().rowReader, letteredRecords: async () => new Set(["45@1000"]) };
  const resume = await readResume(input({ rows: await settledAt(41n), letters, rowReader }));
  assert.deepEqual(resume.verdicts, new Map([[0, new Set(["45@1000"])]]));
});

/** A table as kafka-delta-ingest leaves it: positions without a topic, and no word of ours in any commit. */
async function foreignTable(): Promise<Opened> {
  const table = await createTable(memoryStore(), { schema: TEXT_SCHEMA }, signal);
  const txns = [{ appId: "lab-0", version: 41n }];
  const readSnapshot = await table.latest(signal);
  await table.commit({ readSnapshot, operation: "WRITE", txns }, signal);
  return { table, snapshot: await table.latest(signal) };
}

test("a table of kafka-delta-ingest's is taken over at its exact offset, only on demand, and only of this topic", async () => {
  const base = input({ rows: await foreignTable() });
  const options = { ...base.options, appIdForm: "kdi" } as const;
  const resume = await readResume({ ...base, options });
  assert.deepEqual([resume.appIdForm, resume.next.get(0)], ["kdi", 42n]);
  await assert.rejects(readResume(base), fails("OFFSETS_FOREIGN", /--app-id-form kdi/));
  const rowReader = { ...base.rowReader, otherTopic: async () => "u" };
  await assert.rejects(
    readResume({ ...base, options, rowReader }),
    fails("OFFSETS_FOREIGN", /another table/),
  );
});

test("a partition that was not read before is of the generation that the others are", async () => {
  const resume = await readResume(input({ rows: await settledAt(4n), partitions: [1] }));
  assert.equal(resume.recordGeneration, 3);
});
