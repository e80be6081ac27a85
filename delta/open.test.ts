import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError, LabError } from "../core/errors.ts";
import { createTable } from "./create.ts";
import { checkpointPath, commitPath, LAST_CHECKPOINT } from "./log-names.ts";
import { openTable, readVersion } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { commit, committed, file, removal, schema, signal } from "./table.fixture.ts";
import type { Snapshot, Table } from "./table.ts";

const facts = (snapshot: Snapshot) => ({
  version: snapshot.version,
  timestampMs: snapshot.timestampMs,
  numFiles: snapshot.numFiles,
  sizeBytes: snapshot.sizeBytes,
  files: [...snapshot.files()].map((add) => `${add.path} ${add.size}`).sort(),
  tombstones: [...snapshot.tombstones()].map((remove) => remove.path).sort(),
  txns: [...snapshot.txns().values()].map((txn) => `${txn.appId} ${txn.version}`).sort(),
  schema: snapshot.schema,
});

/** A table with a file per version; checkpoints where asked. */
async function grown(store: Store, versions: number, checkpoints: readonly number[] = []): Promise<Table> {
  const table = await createTable(store, { schema }, signal);
  for (let version = 1; version <= versions; version++) {
    const { snapshot } = committed(
      await commit(table, { adds: [file(`f${version}`)], txns: [{ appId: "a", version: BigInt(version) }] }),
    );
    if (checkpoints.includes(version)) await table.checkpoint(snapshot, signal);
  }
  return table;
}

/** The store, and the paths that are read from it. */
function recorded(real: Store): { store: Store; read: string[] } {
  const read: string[] = [];
  const get: Store["get"] = (path, given) => {
    read.push(path);
    return real.get(path, given);
  };
  return { store: { ...real, get }, read };
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), name: fc.nat(6), size: fc.nat(9) }),
  fc.record({ kind: fc.constant("remove" as const), name: fc.nat(6) }),
  fc.record({
    kind: fc.constant("txn" as const),
    name: fc.nat(2),
    version: fc.bigInt({ min: 0n, max: 2n ** 62n }),
  }),
  fc.record({ kind: fc.constant("checkpoint" as const) }),
  fc.record({ kind: fc.constant("look" as const) }),
);

test("a table that is followed by refreshing is what a fresh reader sees, at every version, with checkpoints anywhere", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      let clock = 1_800_000_000_000;
      const store = memoryStore({ now: () => ++clock });
      const now = () => clock;
      const writer = await createTable(store, { schema }, signal, { now });
      const follower = await openTable(store, signal, { now });
      const seen: { snapshot: Snapshot; facts: ReturnType<typeof facts> }[] = [];
      for (const { kind, ...given } of steps) {
        const { name, size, version } = given as { name: number; size: number; version: bigint };
        if (kind === "add") await commit(writer, { adds: [file(`f${name}`, { size })] });
        if (kind === "remove")
          await commit(writer, { removes: [removal(`f${name}`, { deletionTimestamp: clock })] });
        if (kind === "txn") await commit(writer, { txns: [{ appId: `a${name}`, version }] });
        if (kind === "checkpoint") await writer.checkpoint(await writer.latest(signal), signal);
        if (kind === "look") {
          const snapshot = await follower.latest(signal);
          seen.push({ snapshot, facts: facts(snapshot) });
        }
      }
      const latest = await follower.latest(signal);
      assert.deepEqual(facts(latest), facts(await (await openTable(store, signal)).latest(signal)));
      for (const then of seen) {
        assert.deepEqual(facts(then.snapshot), then.facts);
        assert.deepEqual(facts(await readVersion(store, then.snapshot.version, signal)), then.facts);
      }
    }),
    { numRuns: 40 },
  );
});

test("a refresh reads new commits only, and nothing where there is none", async () => {
  const real = memoryStore();
  const writer = await grown(real, 5);
  const { store, read } = recorded(real);
  const table = await openTable(store, signal);
  await commit(writer, { adds: [file("x")] });
  read.length = 0;
  await table.latest(signal);
  await table.latest(signal);
  assert.deepEqual(read, [commitPath(6)]);
});

test("opening reads a checkpoint and the commits after it", async () => {
  const real = memoryStore();
  await grown(real, 7, [5]);
  const { store, read } = recorded(real);
  const snapshot = await (await openTable(store, signal)).latest(signal);
  assert.deepEqual(read, [LAST_CHECKPOINT, checkpointPath(5), commitPath(6), commitPath(7)]);
  assert.equal(snapshot.numFiles, 7);
  assert.equal(snapshot.txn("a"), 7n);
});

const hints: [string, string | undefined][] = [
  ["missing", undefined],
  ["not JSON", "{"],
  ["of no version", '{"size":1}'],
  ["null", "null"],
  ["pointing at a checkpoint that is gone", '{"version":6,"size":9}'],
  ["pointing beyond the end", '{"version":99,"size":9}'],
  ["stale", '{"version":2,"size":9}'],
];
for (const [what, hint] of hints) {
  test(`a hint that is ${what} does not matter`, async () => {
    const store = memoryStore();
    await grown(store, 7, [2, 5]);
    if (hint === undefined) await store.delete(LAST_CHECKPOINT, signal);
    else await store.put(LAST_CHECKPOINT, Buffer.from(hint), signal);
    assert.equal((await (await openTable(store, signal)).latest(signal)).numFiles, 7);
  });
}

test("a damaged checkpoint gives way to an older one, or to the commits", async () => {
  const store = memoryStore();
  await grown(store, 7, [3, 5]);
  const whole = await store.get(checkpointPath(5), signal);
  await store.put(checkpointPath(5), whole.slice(0, whole.length / 2), signal);
  assert.equal((await (await openTable(store, signal)).latest(signal)).numFiles, 7);
  await store.put(checkpointPath(3), Buffer.from("x"), signal);
  assert.equal((await (await openTable(store, signal)).latest(signal)).numFiles, 7);
});

test("with the commits cleaned up a checkpoint is enough, and older versions are gone by name", async () => {
  const store = memoryStore();
  await grown(store, 7, [5]);
  for (let version = 0; version <= 5; version++) await store.delete(commitPath(version), signal);
  const table = await openTable(store, signal);
  assert.equal((await table.latest(signal)).numFiles, 7);
  assert.equal((await table.at({ version: 5 }, signal)).numFiles, 5);
  await assert.rejects(
    table.at({ version: 4 }, signal),
    (error) => isLabError(error, "VERSION_NOT_FOUND") && /5/.test(error.hint!),
  );
});

test("a follower whose next commits were cleaned up goes on from a checkpoint", async () => {
  const store = memoryStore();
  const writer = await grown(store, 3);
  let nowMs = 0;
  const follower = await openTable(store, signal, { now: () => nowMs });
  for (let n = 4; n <= 9; n++) await commit(writer, { adds: [file(`f${n}`)] });
  await writer.checkpoint(await writer.at({ version: 8 }, signal), signal);
  for (let version = 0; version <= 7; version++) await store.delete(commitPath(version), signal);
  nowMs += 10_000;
  const snapshot = await follower.latest(signal);
  assert.deepEqual([snapshot.version, snapshot.numFiles], [9, 9]);
});

test("a follower asks for the next commit by its name, and lists the log again after a while", async () => {
  const real = memoryStore();
  const writer = await grown(real, 3);
  let lists = 0;
  const store: Store = {
    ...real,
    list(prefix, given) {
      lists++;
      return real.list(prefix, given);
    },
  };
  let nowMs = 0;
  const follower = await openTable(store, signal, { now: () => nowMs });
  const opened = lists;
  for (let n = 0; n < 5; n++) assert.equal((await follower.latest(signal)).version, 3);
  assert.equal(lists, opened, "nothing is new");
  await commit(writer, { adds: [file("f4")] });
  assert.equal((await follower.latest(signal)).version, 4);
  const followed = lists;
  nowMs += 10_000;
  await follower.latest(signal);
  assert.ok(lists > followed);
});

test("a listing that shows a later commit before an earlier one is no damage", async () => {
  const real = memoryStore();
  const writer = await grown(real, 3, [2]);
  let hidden = "";
  const store: Store = {
    ...real,
    async *list(prefix, given) {
      const missing = hidden;
      hidden = "";
      for await (const object of real.list(prefix, given)) if (object.path !== missing) yield object;
    },
  };
  const { store: watched, read } = recorded(store);
  hidden = commitPath(1);
  const table = await openTable(watched, signal);
  for (const name of ["x", "y"]) await commit(writer, { adds: [file(name)] });
  hidden = commitPath(4);
  read.length = 0;
  assert.equal((await table.latest(signal)).numFiles, 5);
  assert.deepEqual(read, [commitPath(4), commitPath(5)]);
});

test("a gap in the log is CORRUPT_LOG", async () => {
  const store = memoryStore();
  await grown(store, 7);
  await store.delete(commitPath(4), signal);
  await assert.rejects(openTable(store, signal), (error) => isLabError(error, "CORRUPT_LOG"));
});

test("a log without a protocol or metadata is CORRUPT_LOG", async () => {
  const store = memoryStore();
  await store.put(
    commitPath(0),
    Buffer.from('{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}'),
    signal,
  );
  await assert.rejects(
    openTable(store, signal),
    (error) => isLabError(error, "CORRUPT_LOG") && /metaData/.test(error.message),
  );
});

test("what is not of the log is ignored", async () => {
  const store = memoryStore();
  await grown(store, 2);
  for (const name of [
    "00000000000000000003.json.tmp",
    ".00000000000000000003.json.crc",
    "00000000000000000003.crc",
    "readme",
  ])
    await store.put(`_delta_log/${name}`, Buffer.from("x"), signal);
  await store.put(commitPath(3), Buffer.alloc(0), signal);
  assert.equal((await (await openTable(store, signal)).latest(signal)).version, 2);
});

test("a version that does not exist is VERSION_NOT_FOUND", async () => {
  const table = await grown(memoryStore(), 2);
  for (const version of [3, -1, 1.5])
    await assert.rejects(
      table.at({ version }, signal),
      (error) => isLabError(error, "VERSION_NOT_FOUND"),
      String(version),
    );
});

test("a table that becomes unreadable is refused by name, its older versions are not", async () => {
  const store = memoryStore();
  const table = await grown(store, 1);
  const protocol = {
    minReaderVersion: 3,
    minWriterVersion: 7,
    readerFeatures: ["newThing"],
    writerFeatures: ["newThing"],
  };
  await store.put(commitPath(2), Buffer.from(JSON.stringify({ protocol })), signal);
  const isRefusal = (error: unknown) =>
    isLabError(error, "UNSUPPORTED_FEATURE") && /newThing/.test(error.message);
  await assert.rejects(table.latest(signal), isRefusal);
  await assert.rejects(table.latest(signal), isRefusal);
  await assert.rejects(openTable(store, signal), isRefusal);
  assert.equal((await readVersion(store, 1, signal)).numFiles, 1);
});

test("an outage while following passes on and the next call goes on from there", async () => {
  const real = memoryStore();
  const writer = await grown(real, 1);
  let isDown = false;
  const store: Store = {
    ...real,
    async get(path, given) {
      if (isDown && path === commitPath(3)) throw new LabError("STORE_UNREACHABLE", "down");
      return real.get(path, given);
    },
  };
  const table = await openTable(store, signal);
  for (const name of ["x", "y", "z"]) await commit(writer, { adds: [file(name)] });
  isDown = true;
  await assert.rejects(table.latest(signal), (error) => isLabError(error, "STORE_UNREACHABLE"));
  isDown = false;
  assert.deepEqual(facts(await table.latest(signal)), facts(await writer.latest(signal)));
});

test("a caller that aborts stops waiting for another's refresh", async () => {
  const real = memoryStore();
  await grown(real, 1);
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isSlow = false;
  const store: Store = {
    ...real,
    async *list(prefix, given) {
      if (isSlow) await gate;
      yield* real.list(prefix, given);
    },
  };
  const table = await openTable(store, signal);
  isSlow = true;
  const first = table.latest(signal);
  const controller = new AbortController();
  const second = table.latest(controller.signal);
  controller.abort(new Error("stop"));
  await assert.rejects(second, /stop/);
  release();
  assert.equal((await first).version, 1);
});
