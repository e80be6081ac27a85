import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Action, Add, Metadata } from "./actions.ts";
import { applyCommit, emptyState, type LogState, trimmed } from "./log-state.ts";
import { file, removal } from "./table.fixture.ts";

const metadata: Metadata = {
  id: "i",
  format: { provider: "parquet", options: {} },
  schemaString: '{"type":"struct","fields":[]}',
  partitionColumns: [],
  configuration: {},
};
const ROOT = "file:///t";

function replay(commits: Action[][], from: LogState = emptyState(ROOT)): LogState {
  return commits.reduce(
    (state, actions) => applyCommit(state, { version: state.version + 1, actions, modifiedMs: 1000 }),
    from,
  );
}

const live = (state: LogState) => [...state.rows.files(state.version)];
const names = (state: LogState) => live(state).map((add) => add.path);
const gone = (state: LogState) => [...state.rows.tombstones(state.version)].map((remove) => remove.path);

test("the last word on a file counts, and a removed one is a tombstone", () => {
  const state = replay([
    [{ add: file("a") }, { add: file("b") }],
    [{ remove: removal("a") }],
    [{ add: file("c") }],
  ]);
  assert.deepEqual(names(state), ["b", "c"]);
  assert.deepEqual(gone(state), ["a"]);
  assert.deepEqual([state.numFiles, state.sizeBytes], [2, 20]);
});

test("a file that is added again is one file with the newer statistics", () => {
  const state = replay([[{ add: file("a", { size: 5 }) }], [{ add: file("a", { size: 7, stats: "{}" }) }]]);
  assert.deepEqual(live(state), [file("a", { size: 7, stats: "{}" })]);
  assert.deepEqual([state.numFiles, state.sizeBytes], [1, 7]);
});

test("a file that comes back is no tombstone any more", () => {
  const state = replay([[{ add: file("a") }], [{ remove: removal("a") }], [{ add: file("a") }]]);
  assert.deepEqual([names(state), gone(state)], [["a"], []]);
});

test("within a commit the order says nothing: add wins over remove", () => {
  for (const actions of [
    [{ add: file("a") }, { remove: removal("a") }],
    [{ remove: removal("a") }, { add: file("a") }],
  ])
    assert.deepEqual(names(replay([[{ add: file("a") }], actions])), ["a"]);
});

test("a deletion vector makes another file of the same path", () => {
  const vector = (pathOrInlineDv: string) => ({
    storageType: "u" as const,
    pathOrInlineDv,
    offset: 1,
    sizeInBytes: 3,
    cardinality: 2n,
  });
  const state = replay([
    [{ add: file("a") }],
    [{ remove: removal("a") }, { add: file("a", { deletionVector: vector("x") }) }],
    [
      { remove: removal("a", { deletionVector: vector("x") }) },
      { add: file("a", { deletionVector: vector("y") }) },
    ],
  ]);
  assert.deepEqual(live(state), [file("a", { deletionVector: vector("y") })]);
  assert.equal(state.numFiles, 1);
});

test("spellings of one path are one file", () => {
  const state = replay([
    [{ add: file("file:/t/a%20b") }, { add: file("c%2Bd") }],
    [{ remove: removal("a b") }, { remove: removal("file:///t/c+d") }],
  ]);
  assert.deepEqual(names(state), []);
});

test("txn and domain: the last per id, a version may fall, removed domains go", () => {
  const txn = (appId: string, version: bigint): Action => ({ txn: { appId, version } });
  const domain = (name: string, removed: boolean): Action => ({
    domainMetadata: { domain: name, configuration: "", removed },
  });
  const state = replay([
    [txn("a", 5n), txn("b", 1n), domain("d", false), domain("e", false)],
    [txn("a", 3n), domain("d", true)],
  ]);
  assert.deepEqual([state.txns.get("a")?.version, state.txns.get("b")?.version], [3n, 1n]);
  assert.deepEqual([...state.domains.keys()], ["e"]);
});

test("versions have strictly increasing times, by file or by commit", () => {
  assert.equal(replay([[], [], []]).timestampMs, 1002);
  const timed = { ...metadata, configuration: { "delta.enableInCommitTimestamps": "true" } };
  const state = replay([[{ metaData: timed }, { commitInfo: { inCommitTimestamp: 77 } }]]);
  assert.equal(state.timestampMs, 77);
});

test("rare fields and partition values come back with the file", () => {
  const full: Add = file("a", {
    partitionValues: { p: "x", q: null },
    tags: { t: "u" },
    baseRowId: 2n ** 60n,
    defaultRowCommitVersion: 3n,
    clusteringProvider: "c",
    stats: '{"numRecords":1,"minValues":{"s":"ä😀"}}',
  });
  assert.deepEqual(live(replay([[{ add: full }]])), [full]);
});

test("a partition filter is asked once per distinct partition", () => {
  const state = replay([
    Array.from({ length: 20 }, (_, n) => ({ add: file(`f${n}`, { partitionValues: { p: String(n % 2) } }) })),
  ]);
  let asked = 0;
  const found = [...state.rows.files(0, (values) => ++asked > 0 && values.p === "1")];
  assert.deepEqual([found.length, asked], [10, 2]);
});

/** Commits over few names, so that files come, go, come back and collide. */
const action = fc.oneof(
  fc
    .record({ name: fc.integer({ min: 0, max: 9 }), size: fc.nat(50) })
    .map(({ name, size }) => ({ add: file(`f${name}`, { size }) })),
  fc.integer({ min: 0, max: 9 }).map((name) => ({ remove: removal(`f${name}`) })),
);
const commits = fc.array(fc.array(action, { maxLength: 5 }), { maxLength: 25 });

/** Replay as the protocol words it, over a plain map. */
function model(history: Action[][]): Map<string, number> {
  const files = new Map<string, number>();
  for (const actions of history) {
    for (const item of actions) if ("remove" in item) files.delete(item.remove.path);
    for (const item of actions) if ("add" in item) files.set(item.add.path, item.add.size);
  }
  return files;
}

test("every version, asked for at any later time, is what replay from the start gives", () => {
  fc.assert(
    fc.property(commits, (history) => {
      const states: LogState[] = [];
      let state = emptyState(ROOT);
      for (const actions of history) {
        state = replay([actions], state);
        states.push(state);
      }
      for (const [version, then] of states.entries()) {
        const expected = model(history.slice(0, version + 1));
        assert.deepEqual(new Map(live(then).map((add) => [add.path, add.size])), expected);
        assert.deepEqual(
          [then.numFiles, then.sizeBytes],
          [expected.size, [...expected.values()].reduce((a, b) => a + b, 0)],
        );
      }
    }),
  );
});

test("rows are written afresh once they doubled; what older versions hold stays", () => {
  let state = emptyState(ROOT);
  const old: { state: LogState; files: string[] }[] = [];
  for (let version = 0; version < 60; version++) {
    const actions: Action[] = Array.from({ length: 200 }, (_, n) => ({ add: file(`f${version}-${n}`) }));
    if (version > 0)
      for (let n = 0; n < 199; n++)
        actions.push({ remove: removal(`f${version - 1}-${n}`, { deletionTimestamp: version }) });
    state = trimmed(replay([actions], state), 604_800_000 + version - 5);
    old.push({ state, files: names(state) });
  }
  assert.ok(state.rows.length < 12_000, `${state.rows.length} rows for ${state.numFiles} files`);
  for (const then of old) assert.deepEqual(names(then.state), then.files);
  assert.equal(state.numFiles, 259);
});

test("the newest files are the first of all when they are sorted by their time, in the order of the rest where it is the same", () => {
  const times = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 });
  fc.assert(
    fc.property(times, fc.nat(40), fc.nat(45), (written, removed, count) => {
      const adds = written.map((modificationTime, n) => ({ add: file(`f${n}`, { modificationTime }) }));
      const gone = removed < written.length ? [{ remove: removal(`f${removed}`) }] : [];
      const first = applyCommit(emptyState("memory://t"), { version: 0, actions: adds, modifiedMs: 0 });
      applyCommit(first, { version: 1, actions: gone, modifiedMs: 1 });
      for (const version of [0, 1]) {
        const all = [...first.rows.files(version)].sort((a, b) => b.modificationTime - a.modificationTime);
        assert.deepEqual(first.rows.newestFiles(version, count), all.slice(0, count));
      }
    }),
  );
});
