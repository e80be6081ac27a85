import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { createTable } from "./create.ts";
import { commitPath } from "./log-names.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { commit, committed, file, quick, schema, signal } from "./table.fixture.ts";
import type { CommitResult, Table } from "./table.ts";

async function append(table: Table, name: string, over: object = {}): Promise<CommitResult> {
  return commit(table, { adds: [file(name)], ...over });
}

/** A store whose commit puts go through `put`, told which attempt it is and how to do it for real. */
function withPut(
  store: Store,
  put: (
    attempt: number,
    real: () => Promise<"created" | "exists" | "unclear">,
  ) => Promise<"created" | "exists" | "unclear">,
): Store {
  let attempt = 0;
  return {
    ...store,
    putIfAbsent: (path, body, given) => put(++attempt, () => store.putIfAbsent(path, body, given)),
  };
}

test("an append becomes the next version and its snapshot holds the file and the transaction", async () => {
  const table = await createTable(memoryStore(), { schema }, signal);
  const result = committed(await append(table, "a", { txns: [{ appId: "app", version: 2n ** 60n }] }));
  assert.equal(result.version, 1);
  assert.equal(result.attempts, 1);
  assert.equal(result.snapshot.numFiles, 1);
  assert.equal(result.snapshot.sizeBytes, 10);
  assert.equal(result.snapshot.txn("app"), 2n ** 60n);
  assert.deepEqual(
    [...result.snapshot.files()].map((add) => add.path),
    ["a"],
  );
});

test("a commit says what, by whom, and on what it was decided", async () => {
  const table = await createTable(memoryStore({ now: () => 5 }), { schema }, signal, { now: () => 7 });
  await append(table, "a", { operationParameters: { mode: "Append" }, info: { lab: { v: 1 } }, txnId: "t" });
  const [first] = await table.commitActions(1, signal);
  assert.deepEqual(first, {
    commitInfo: {
      timestamp: 7,
      operation: "WRITE",
      operationParameters: { mode: "Append" },
      readVersion: 0,
      isolationLevel: "WriteSerializable",
      isBlindAppend: true,
      engineInfo: "delta-stream-lab/0.1.0",
      txnId: "t",
      lab: { v: 1 },
    },
  });
});

test("of two creators one makes version 0 and the other learns that the table exists", async () => {
  const store = memoryStore();
  const results = await Promise.allSettled([
    createTable(store, { schema }, signal),
    createTable(store, { schema }, signal),
  ]);
  const failed = results.filter((result) => result.status === "rejected");
  assert.equal(failed.length, 1);
  assert.ok(isLabError(failed[0]!.reason, "TABLE_EXISTS"));
});

test("opening a folder without a log is NOT_A_TABLE", async () => {
  await assert.rejects(openTable(memoryStore(), signal), (error) => isLabError(error, "NOT_A_TABLE"));
});

test("racing writers lose no append and every version is written once", async () => {
  const store = memoryStore();
  await createTable(store, { schema }, signal);
  const writers = await Promise.all(Array.from({ length: 8 }, () => openTable(store, signal)));
  const versions: number[] = [];
  await Promise.all(
    writers.map(async (table, writer) => {
      for (let n = 0; n < 10; n++) versions.push(committed(await append(table, `${writer}-${n}`)).version);
    }),
  );
  assert.deepEqual(
    versions.sort((a, b) => a - b),
    Array.from({ length: 80 }, (_, at) => at + 1),
  );
  const snapshot = await (await openTable(store, signal)).latest(signal);
  assert.equal(snapshot.numFiles, 80);
  assert.equal(new Set([...snapshot.files()].map((add) => add.path)).size, 80);
});

test("many committers on one table object lose no append", async () => {
  const table = await createTable(memoryStore(), { schema }, signal);
  const results = await Promise.all(Array.from({ length: 40 }, (_, n) => append(table, `f${n}`)));
  const versions = results.map((result) => committed(result).version).sort((a, b) => a - b);
  assert.deepEqual(
    versions,
    Array.from({ length: 40 }, (_, at) => at + 1),
  );
  assert.equal((await table.latest(signal)).numFiles, 40);
});

test("a lost race asks the store for the winner once", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const reads: string[] = [];
  const store: Store = {
    ...real,
    get(path, given) {
      reads.push(path);
      return real.get(path, given);
    },
  };
  const table = await openTable(store, signal, quick);
  const readSnapshot = await table.latest(signal);
  await append(await openTable(real, signal), "theirs");
  reads.length = 0;
  committed(await table.commit({ readSnapshot, operation: "WRITE", adds: [file("mine")] }, signal));
  assert.deepEqual(reads, [commitPath(1)]);
});

test("two writers of one transaction: the second learns that it moved", async () => {
  const store = memoryStore();
  const table = await createTable(store, { schema }, signal);
  const other = await openTable(store, signal);
  const readSnapshot = await table.latest(signal);
  await append(other, "b", { txns: [{ appId: "p0", version: 5n }] });
  const result = await table.commit(
    { readSnapshot, operation: "WRITE", adds: [file("a")], txns: [{ appId: "p0", version: 4n }] },
    signal,
  );
  assert.equal(result.kind, "conflict");
  assert.deepEqual(result.kind === "conflict" && [result.version, result.reason], [1, "txn"]);
});

test("a put that fails before it does anything is tried again when the store is back", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const store = withPut(real, async (attempt, put) => {
    if (attempt < 3) throw new LabError("STORE_UNREACHABLE", "down");
    return put();
  });
  const table = await openTable(store, signal, quick);
  assert.equal(committed(await append(table, "a")).version, 1);
});

for (const lost of ["outage", "unclear"] as const) {
  test(`a put that succeeds and loses its reply (${lost}) is found to be ours`, async () => {
    const real = memoryStore();
    await createTable(real, { schema }, signal);
    const store = withPut(real, async (_, put) => {
      await put();
      if (lost === "unclear") return "unclear";
      throw new LabError("STORE_UNREACHABLE", "cut");
    });
    const table = await openTable(store, signal, quick);
    const result = committed(await append(table, "a"));
    assert.equal(result.version, 1);
    assert.equal(result.attempts, 1);
    assert.equal((await (await openTable(real, signal)).latest(signal)).version, 1);
  });
}

test("an unclear reply with nothing stored is put again", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const store = withPut(real, async (attempt, put) => (attempt === 1 ? "unclear" : put()));
  const table = await openTable(store, signal, quick);
  assert.equal(committed(await append(table, "a")).version, 1);
});

test("an unclear reply with another's commit stored is a lost race, retried at the next version", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const store = withPut(real, async (attempt, put) => {
    if (attempt > 1) return put();
    await append(await openTable(real, signal), "theirs");
    return "unclear";
  });
  const result = committed(await append(await openTable(store, signal, quick), "mine"));
  assert.equal(result.version, 2);
  assert.equal(result.attempts, 2);
  assert.equal(result.snapshot.numFiles, 2);
});

test("winners that a listing does not show yet are read by name", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const stale: Store = {
    ...real,
    async *list(prefix, given) {
      for await (const object of real.list(prefix, given))
        if (!/[1-9]\.json$/.test(object.path)) yield object;
    },
  };
  const table = await openTable(stale, signal, quick);
  for (const name of ["a", "b"]) await append(await openTable(real, signal), name);
  const result = committed(await append(table, "c"));
  assert.deepEqual([result.version, result.snapshot.numFiles], [3, 3]);
});

test("a commit that stands is told as such even where the store is away afterwards", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  let outages = 0;
  const store: Store = {
    ...real,
    async putIfAbsent(path, body, given) {
      // Another commit behind ours makes the version one to load.
      const reply = await real.putIfAbsent(path, body, given);
      await append(await openTable(real, signal), "later");
      await table.latest(signal);
      outages = 3;
      return reply;
    },
    async get(path, given) {
      if (outages-- > 0) throw new LabError("STORE_UNREACHABLE", "down");
      return real.get(path, given);
    },
  };
  const table = await openTable(store, signal, quick);
  assert.equal(committed(await append(table, "a")).version, 1);
});

test("what is not understood of a table's properties stays through a change of others", async () => {
  const store = memoryStore();
  const configuration = {
    "delta.future": "x",
    "my.own": "y",
    "delta.logRetentionDuration": "interval 3 days",
  };
  const table = await createTable(store, { schema, configuration }, signal);
  const { metadata } = await table.latest(signal);
  const changed = { ...metadata.configuration, "delta.appendOnly": "true" };
  await commit(table, { metadata: { ...metadata, configuration: changed } });
  await table.checkpoint(await table.latest(signal), signal);
  for (const version of [0, 1]) await store.delete(commitPath(version), signal);
  const again = await (await openTable(store, signal)).latest(signal);
  assert.deepEqual(again.metadata.configuration, changed);
});

test("a series of attempts that is begun again finds the commit it made before", async () => {
  const store = memoryStore();
  const table = await createTable(store, { schema }, signal);
  const readSnapshot = await table.latest(signal);
  const request = {
    readSnapshot,
    operation: "WRITE",
    adds: [file("a")],
    txns: [{ appId: "x", version: 1n }],
    txnId: "series",
  };
  await table.commit(request, signal);
  const again = committed(await (await openTable(store, signal)).commit(request, signal));
  assert.equal(again.version, 1);
  assert.equal((await table.latest(signal)).numFiles, 1);
});

test("a commit that loses too often ends as a value", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const rival = await openTable(real, signal);
  const store = withPut(real, async (attempt, put) => {
    await append(rival, `rival-${attempt}`);
    return put();
  });
  const table = await openTable(store, signal, { ...quick, maxAttempts: 3 });
  const result = await append(table, "a");
  assert.deepEqual(result.kind === "conflict" && result.reason, "attempts");
});

test("an abort ends a commit that waits for the store", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const controller = new AbortController();
  const store = withPut(real, async () => {
    controller.abort(new Error("stop"));
    throw new LabError("STORE_UNREACHABLE", "down");
  });
  const table = await openTable(store, signal, quick);
  const readSnapshot = await table.latest(signal);
  await assert.rejects(table.commit({ readSnapshot, operation: "WRITE" }, controller.signal), /stop/);
});

test("removing rows from an append-only table is refused, rewriting files is not", async () => {
  const configuration = { "delta.appendOnly": "true" };
  const table = await createTable(memoryStore(), { schema, configuration, adds: [file("a")] }, signal);
  const readSnapshot = await table.latest(signal);
  const remove = { path: "a", dataChange: true, deletionTimestamp: 1 };
  await assert.rejects(
    table.commit({ readSnapshot, operation: "DELETE", removes: [remove] }, signal),
    (error) => isLabError(error, "APPEND_ONLY"),
  );
  const compact = { readSnapshot, operation: "OPTIMIZE", removes: [{ ...remove, dataChange: false }] };
  assert.equal(committed(await table.commit(compact, signal)).snapshot.numFiles, 0);
});
