/** Going from one old version to the next reads what lies between them, not the table. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { createTable } from "./create.ts";
import { beforeVersion, commitPath } from "./log-names.ts";
import { openTable, readVersion } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { commit, committed, file, quick, removal, schema, signal } from "./table.fixture.ts";
import type { Snapshot } from "./table.ts";

const VERSIONS = 120;
const CHECKPOINT_EVERY = 50;

/** Each version adds a file of three rows; each tenth takes one away. */
async function longLog(): Promise<Store> {
  // Commits within the same moment would be told apart by what was read before them.
  let nowMs = 1_700_000_000_000;
  const store = memoryStore({ name: "t", now: () => nowMs++ });
  const table = await createTable(store, { schema }, signal, quick);
  for (let version = 1; version <= VERSIONS; version++) {
    const adds = [file(`f${version}`, { stats: '{"numRecords":3}' })];
    const removes = version % 10 === 0 ? [removal(`f${version - 5}`)] : [];
    const done = committed(await commit(table, { adds, removes }));
    if (version % CHECKPOINT_EVERY === 0) await table.checkpoint(done.snapshot, signal);
  }
  return store;
}

function counting(store: Store): { store: Store; reads: string[]; listings: () => number } {
  const reads: string[] = [];
  let listings = 0;
  return {
    reads,
    listings: () => listings,
    store: {
      ...store,
      get(path, waiting) {
        reads.push(path);
        return store.get(path, waiting);
      },
      list(prefix, options) {
        // Who looks for new commits lists the end of the log.
        if (options.startAfter === beforeVersion(0)) listings++;
        return store.list(prefix, options);
      },
    },
  };
}

const facts = (snapshot: Snapshot) => ({
  version: snapshot.version,
  timestampMs: snapshot.timestampMs,
  numFiles: snapshot.numFiles,
  sizeBytes: snapshot.sizeBytes,
  rows: snapshot.liveRows(),
  files: [...snapshot.files()].map(({ path }) => path).sort(),
});

test("a version that was passed on the way to another costs nothing, the next one its commit", async () => {
  const { store, reads, listings } = counting(await longLog());
  const table = await openTable(store, signal, quick);
  reads.length = 0;
  await table.at({ version: 90 }, signal);
  assert.equal(reads.filter((path) => path.endsWith(".parquet")).length, 1);
  const listed = listings();
  reads.length = 0;
  for (let version = 89; version > CHECKPOINT_EVERY; version--) await table.at({ version }, signal);
  assert.deepEqual(reads, []);
  for (let version = 91; version <= 95; version++) await table.at({ version }, signal);
  assert.deepEqual(
    reads,
    [91, 92, 93, 94, 95].map((version) => commitPath(version)),
  );
  assert.equal(listings(), listed);
});

test("who asks for the same version at the same time shares one reading", async () => {
  const { store, reads } = counting(await longLog());
  const table = await openTable(store, signal, quick);
  reads.length = 0;
  const found = await Promise.all([1, 2, 3].map(() => table.at({ version: 60 }, signal)));
  assert.deepEqual(
    found.map(({ version }) => version),
    [60, 60, 60],
  );
  assert.equal(new Set(reads).size, reads.length);
});

test("in whatever order versions are asked for, each is as if it were read alone", async () => {
  const store = await longLog();
  const version = fc.integer({ min: 0, max: VERSIONS });
  await fc.assert(
    fc.asyncProperty(fc.array(version, { minLength: 1, maxLength: 12 }), async (versions) => {
      const table = await openTable(store, signal, quick);
      for (const one of versions) {
        assert.deepEqual(
          facts(await table.at({ version: one }, signal)),
          facts(await readVersion(store, one, signal)),
        );
      }
    }),
    { numRuns: 20 },
  );
});

test("what was cleaned up since the log was listed is found to be gone, and what is left can still be read", async () => {
  const store = await longLog();
  const table = await openTable(store, signal, quick);
  await table.at({ version: 110 }, signal);
  for (let version = 0; version < CHECKPOINT_EVERY; version++)
    await store.delete(commitPath(version), signal);
  await assert.rejects(table.at({ version: 20 }, signal), (error) => isLabError(error, "VERSION_NOT_FOUND"));
  const found = await table.at({ version: 70 }, signal);
  assert.deepEqual(facts(found), facts(await readVersion(store, 70, signal)));
});
