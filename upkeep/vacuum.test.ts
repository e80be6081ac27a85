import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { collect, commit, committed, file, quick, removal, schema, signal } from "../delta/table.fixture.ts";
import { vacuum } from "./vacuum.ts";

const DAY = 86_400_000;
const START = Date.parse("2026-01-01T12:00:00Z");

/** A table over the memory store whose clock is turned by hand. */
async function table(t: TestContext, over: Partial<Parameters<typeof createTable>[1]> = {}) {
  let nowMs = START;
  const now = () => nowMs;
  const store = memoryStore({ name: t.name, now });
  const made = await createTable(store, { schema, ...over }, signal, { ...quick, now });
  const put = (path: string) => store.put(path, Buffer.from("1234567890"), signal);
  const paths = async () =>
    (await collect(store.list("", { signal })))
      .map(({ path }) => path)
      .filter((path) => !/_delta_log/.test(path));
  return {
    store,
    now,
    made,
    put,
    paths,
    pass: (ms: number) => {
      nowMs += ms;
    },
    async write(add: string | undefined, remove?: string, info?: Record<string, unknown>) {
      if (add !== undefined) await put(add);
      committed(
        await commit(made, {
          ...(add === undefined ? {} : { adds: [file(add)] }),
          ...(remove === undefined ? {} : { removes: [removal(remove, { deletionTimestamp: nowMs })] }),
          ...(info ? { info } : {}),
        }),
      );
    },
  };
}

test("vacuum deletes what was removed before the retention, and keeps what is live or removed within it", async (t) => {
  const { made, write, pass, paths, now } = await table(t);
  await write("live");
  await write("old");
  await write(undefined, "old");
  pass(6 * DAY);
  await write("late");
  await write(undefined, "late");
  pass(2 * DAY);
  const dry = await vacuum(made, { isDryRun: true, now }, signal);
  assert.deepEqual(
    dry.deleted.map(({ path }) => path),
    ["old"],
  );
  assert.deepEqual(await paths(), ["late", "live", "old"], "a dry run deletes nothing");
  const done = await vacuum(made, { now }, signal);
  assert.deepEqual([done.deleted.map(({ path }) => path), done.bytes], [["old"], 10]);
  assert.deepEqual(await paths(), ["late", "live"]);
});

test("files that no version names stay while they are younger than the retention: their commit may be under way", async (t) => {
  const { made, put, pass, paths, now } = await table(t);
  await put("stray");
  pass(8 * DAY);
  await put("in-flight");
  const done = await vacuum(made, { now }, signal);
  assert.deepEqual(done.young, { files: 1, bytes: 10 });
  assert.deepEqual(await paths(), ["in-flight"]);
});

test("a retention below the table's own is refused with the reason, and taken when it is meant", async (t) => {
  const { made, write, pass, paths, now } = await table(t);
  await write("a");
  await write(undefined, "a");
  pass(DAY);
  await assert.rejects(
    vacuum(made, { retainMs: DAY / 24, now }, signal),
    (error) => isLabError(error, "RETENTION_TOO_SHORT") && /1 h .*168 h.*not committed/.test(error.message),
  );
  assert.deepEqual(await paths(), ["a"]);
  await vacuum(made, { retainMs: DAY / 24, allowShort: true, now }, signal);
  assert.deepEqual(await paths(), []);
});

test("the table's own retention counts, and its own shorter one is not refused", async (t) => {
  const configuration = { "delta.deletedFileRetentionDuration": "interval 1 hour" };
  const { made, write, pass, paths, now } = await table(t, { configuration });
  await write("a");
  await write(undefined, "a");
  pass(DAY);
  await vacuum(made, { retainMs: DAY / 24, now }, signal);
  assert.deepEqual(await paths(), []);
});

test("a longer retention keeps what was removed within it, also where the log has dropped the tombstone", async (t) => {
  const { made, store, write, pass, paths, now } = await table(t);
  await write("a");
  pass(30 * DAY);
  await write("b", "a");
  pass(10 * DAY);
  // The checkpoint drops the tombstone, which is older than the table's seven days.
  await made.checkpoint(await made.latest(signal), signal);
  const fresh = await openTable(store, signal, quick);
  assert.deepEqual([...(await fresh.latest(signal)).tombstones()], []);
  await vacuum(fresh, { retainMs: 20 * DAY, now }, signal);
  assert.deepEqual(await paths(), ["a", "b"]);
});

test("hidden names stay, but those of partition columns and of change data do not hide", async (t) => {
  const { made, put, pass, paths, now } = await table(t, {
    schema: {
      type: "struct",
      fields: [...schema.fields, { name: "_p", type: "string", nullable: true, metadata: {} }],
    },
    partitionColumns: ["_p"],
  });
  for (const path of [
    "_mine/x",
    ".mine",
    "a/_b/x",
    "a/.x.crc",
    "_p=1/x",
    "_change_data/x",
    "a/x",
    "_delta_index/x",
  ])
    await put(path);
  pass(8 * DAY);
  await vacuum(made, { now }, signal);
  assert.deepEqual(await paths(), [".mine", "_mine/x", "a/.x.crc", "a/_b/x"]);
});

test("encoded, unencoded and absolute paths of the log keep their files, and so does another name of the folder", async (t) => {
  const { made, store, put, pass, paths, now } = await table(t);
  const named = ["p=a b/x", "raw%41", "absolute", "linked/x"];
  for (const path of named) await put(path);
  const paths_ = ["p=a%20b/x", "raw%41", `${store.root}/absolute`, "file:///elsewhere/linked/x"];
  committed(await commit(made, { adds: paths_.map((path) => file(path)) }));
  pass(8 * DAY);
  await vacuum(made, { now }, signal);
  assert.deepEqual(await paths(), [...named].sort());
});

test("the files of deletion vectors stay with those that need them, and go with them", async (t) => {
  const vector = (pathOrInlineDv: string) => ({
    storageType: "u" as const,
    pathOrInlineDv,
    offset: 1,
    sizeInBytes: 10,
    cardinality: 1n,
  });
  const [first, second] = ["vBn[lx{q8@P<9BNH/isA", "ab^-aqEH.-t@S}K{vb[*k^"];
  const { made, put, pass, paths, now } = await table(t);
  const firstFile = "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin";
  const secondFile = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
  for (const path of ["data", firstFile, secondFile]) await put(path);
  committed(await commit(made, { adds: [file("data", { deletionVector: vector(first!) })] }));
  committed(
    await commit(made, {
      removes: [removal("data", { deletionVector: vector(first!) })],
      adds: [file("data", { deletionVector: vector(second!) })],
    }),
  );
  pass(8 * DAY);
  const { ended } = await vacuum(made, { now }, signal);
  assert.deepEqual(await paths(), [secondFile, "data"]);
  assert.deepEqual(
    ended?.map(({ from, to }) => [from, to]),
    [[1, 1]],
  );
});

test("the versions that end are told with their times and Kafka offsets, each once", async (t) => {
  const { made, write, pass, now } = await table(t);
  const lab = (first: string, last: string) => ({
    lab: { v: 1, app: "lab", generation: 0, partitions: [{ topic: "t", partition: 0, first, last }] },
  });
  await write("a", undefined, lab("0", "4"));
  await write("b", undefined, lab("5", "9"));
  await write("ab", "a", lab("10", "19"));
  await write(undefined, "b");
  pass(8 * DAY);
  const dry = await vacuum(made, { isDryRun: true, now }, signal);
  assert.deepEqual(dry.ended, [
    {
      from: 1,
      to: 3,
      fromMs: START + 1,
      toMs: START + 3,
      offsets: [{ topic: "t", partition: 0, first: "0", last: "19" }],
    },
  ]);
  assert.deepEqual((await vacuum(made, { now }, signal)).ended, dry.ended);
  assert.deepEqual((await vacuum(made, { now }, signal)).ended, [], "they do not end twice");
});

test("what a restore brings back while vacuum looks is not deleted", async (t) => {
  const { made, store, write, pass, paths, now } = await table(t);
  await write("a");
  await write(undefined, "a");
  pass(8 * DAY);
  const racing: Store = {
    ...store,
    async *list(prefix, options) {
      yield* store.list(prefix, options);
      if (prefix === "" && options.startAfter !== undefined)
        committed(await commit(made, { adds: [file("a")] }));
    },
  };
  const reader = await openTable(racing, signal, quick);
  const done = await vacuum(reader, { now, explain: false }, signal);
  assert.deepEqual([done.deleted, await paths()], [[], ["a"]]);
});

test("a table that must not be written is not vacuumed", async (t) => {
  const { made, write, pass, paths, now, store } = await table(t);
  await write("a");
  await write(undefined, "a");
  const protocol = { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ["icebergCompatV2"] };
  await store.put(
    "_delta_log/00000000000000000003.json",
    Buffer.from(`${JSON.stringify({ protocol })}\n`),
    signal,
  );
  pass(8 * DAY);
  await assert.rejects(vacuum(made, { now }, signal), (error) => isLabError(error, "UNSUPPORTED_FEATURE"));
  assert.deepEqual(await paths(), ["a"]);
});

test("history shows a vacuum, and one that finds nothing leaves no trace", async (t) => {
  const { made, write, pass, now } = await table(t);
  const operations = async () =>
    (await collect(made.history({ signal }))).map(({ operation }) => operation).slice(0, 2);
  await write("a");
  await vacuum(made, { now }, signal);
  assert.deepEqual(await operations(), ["WRITE", "CREATE TABLE"]);
  await write(undefined, "a");
  pass(8 * DAY);
  await vacuum(made, { now }, signal);
  assert.deepEqual(await operations(), ["VACUUM END", "VACUUM START"]);
});

test("a signal ends a vacuum between two deletes", async (t) => {
  const { made, put, pass, paths, now } = await table(t);
  for (let i = 0; i < 100; i++) await put(`stray-${i}`);
  pass(8 * DAY);
  const stop = new AbortController();
  const onProgress = (step: string, done: number) => {
    if (step === "deleting" && done === 20) stop.abort(new Error("stopped"));
  };
  await assert.rejects(vacuum(made, { now, onProgress }, stop.signal), /stopped/);
  const left = (await paths()).length;
  assert.ok(left > 0 && left <= 80, `${left} are left`);
});

test("folders that are empty afterwards go from a local disk, and a writer that comes in between is not disturbed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "vacuum-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const store = localStore(folder);
  const made = await createTable(store, { schema }, signal, quick);
  const old = new Date(Date.now() - 8 * DAY);
  for (const path of ["p=1/q=2/x", "p=2/x", "p=2/y"]) {
    await store.put(path, Buffer.from("x"), signal);
    if (path !== "p=2/y") await utimes(join(folder, path), old, old);
  }
  const done = await vacuum(made, {}, signal);
  assert.deepEqual([done.deleted.length, done.folders], [2, 2]);
  assert.deepEqual((await readdir(folder)).sort(), ["_delta_log", "p=2"]);

  // The store made this folder before and remembers it: gone, it is made again.
  await store.put("p=1/q=2/x", Buffer.from("new"), signal);
  assert.equal(Buffer.from(await store.get("p=1/q=2/x", signal)).toString(), "new");
});
