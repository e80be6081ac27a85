/**
 * Several writers do whatever writers do to one table, on a store that fails, lags and loses replies. What the log holds afterwards is
 * compared, version by version, with a model that is told only in which order the commits came.
 * `LAB_PROPERTY_RUNS` sets how many histories are tried.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError, LabError } from "../core/errors.ts";
import type { Txn } from "./actions.ts";
import { parseCommit } from "./commit-file.ts";
import { createTable } from "./create.ts";
import { listLog, segmentsTo } from "./log-list.ts";
import { commitPath, parseLogName } from "./log-names.ts";
import { openTable, readVersion } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store, StoredObject } from "./store/store.ts";
import { quick, schema, signal } from "./table.fixture.ts";
import type { CommitResult, Snapshot } from "./table.ts";
import {
  type Contents,
  dice,
  type Meaning,
  patiently,
  type Row,
  type Rows,
  rowsOf,
  writerOf,
} from "./writers.fixture.ts";

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 5);
const WRITERS = 4;
const STEPS = 12;
/** Commits that cleaning leaves: as many as a writer may lag behind. */
const LAG = 12;

const down = () => new LabError("STORE_UNREACHABLE", "down");

/** A store as seen by one writer, which may die in any call. */
function failing(
  real: Store,
  random: () => number,
  onCreated: (path: string, body: Uint8Array) => void,
): Store {
  /** Lets others go first, fails before the work, or after it. */
  const around = async <T>(rate: number, work: () => Promise<T>): Promise<T> => {
    for (let turns = Math.floor(random() * 4); turns > 0; turns--) await new Promise(setImmediate);
    if (random() < rate) throw down();
    const result = await work();
    if (random() < rate) throw down();
    return result;
  };
  return {
    ...real,
    get: (path, given) => around(0.05, () => real.get(path, given)),
    put: (path, body, given) => around(0.1, () => real.put(path, body, given)),
    delete: (path, given) => around(0.1, () => real.delete(path, given)),
    async *list(prefix, given) {
      const objects: StoredObject[] = [];
      await around(0.05, async () => {
        for await (const object of real.list(prefix, given)) objects.push(object);
      });
      // The newest commits are not listed yet.
      const lag = random() < 0.3 ? 1 + Math.floor(random() * 2) : 0;
      const commits = objects.filter(({ path }) => parseLogName(path)?.kind === "commit");
      const hidden = new Set(commits.slice(Math.max(1, commits.length - lag)));
      yield* objects.filter((object) => !hidden.has(object));
    },
    putIfAbsent: (path, body, given) =>
      around(0.1, async () => {
        if (random() < 0.1) return "unclear";
        const reply = await real.putIfAbsent(path, body, given);
        if (reply === "created") onCreated(path, body);
        return random() < 0.1 ? "unclear" : reply;
      }),
  };
}

type Attempt = {
  txnId: string;
  txns: readonly Txn[];
  readVersion: number;
  meaning: Meaning;
  outcome: CommitResult | "unknown" | "refused";
};

async function history(seed: number, isolation: string): Promise<void> {
  const real = memoryStore();
  const configuration = { "delta.isolationLevel": isolation, "delta.checkpointInterval": "5" };
  await createTable(real, { schema: partitioned, partitionColumns: ["p"], configuration }, signal);
  const contents: Contents = new Map();
  const created = new Map<number, string>();
  const expected: Rows[] = [new Map()];
  const seen = new Map<number, Rows>([[0, new Map()]]);
  const attempts: Attempt[] = [];
  const note = (snapshot: Snapshot) => {
    const rows = rowsOf(snapshot, contents);
    const before = seen.get(snapshot.version);
    if (before) assert.deepEqual(rows, before, `version ${snapshot.version} changed`);
    seen.set(snapshot.version, rows);
  };

  const writer = async (at: number) => {
    const random = dice(seed + at * 7919);
    const store = failing(real, random, (path, body) => {
      const info = parseCommit(body, path).find((action) => "commitInfo" in action)!.commitInfo;
      created.set((parseLogName(path) as { version: number }).version, info.txnId!);
    });
    const decide = writerOf(`w${at}`, contents, random, (version) => expected[version]!);
    const open = () => patiently(() => openTable(store, signal, quick));
    let table = await open();
    for (let step = 0; step < STEPS; step++) {
      if (random() < 0.15) await upkeep(store, real, await patiently(() => table.latest(signal)), random);
      if (random() < 0.1) await patiently(async () => table.checkpoint(await table.latest(signal), signal));
      const readSnapshot = await patiently(() => table.latest(signal));
      note(readSnapshot);
      const decision = await patiently(() => decide(readSnapshot, table));
      if (!decision) continue;
      const txnId = `w${at}-${step}`;
      const attempt: Attempt = {
        txnId,
        txns: decision.request.txns ?? [],
        readVersion: readSnapshot.version,
        meaning: decision.meaning,
        outcome: "unknown",
      };
      attempts.push(attempt);
      const dies = random() < 0.1;
      const life = new AbortController();
      if (dies) setTimeout(() => life.abort(new Error("killed")), random() * 4).unref();
      try {
        attempt.outcome = await table.commit({ ...decision.request, readSnapshot, txnId }, life.signal);
        if (attempt.outcome.kind === "committed") note(attempt.outcome.snapshot);
      } catch (error) {
        // What a writer that froze for long has to check against may have been cleaned up.
        if (isLabError(error, "VERSION_NOT_FOUND")) attempt.outcome = "refused";
        else if (!life.signal.aborted) throw error;
        table = await open();
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, at) => writer(at)));

  const byId = new Map(attempts.map((attempt) => [attempt.txnId, attempt]));
  const positions = new Map<string, bigint>();
  const newest = Math.max(0, ...created.keys());
  for (let version = 1; version <= newest; version++) {
    const { meaning, readVersion, txns } = byId.get(created.get(version)!)!;
    // Each stream commits each of its positions once, in order.
    for (const { appId, version: position } of txns) {
      assert.equal(position, (positions.get(appId) ?? 0n) + 1n, `${appId} in version ${version}`);
      positions.set(appId, position);
    }
    const since = new Map<string, Row>();
    for (let between = readVersion + 1; between < version; between++) {
      const winner = byId.get(created.get(between)!)!;
      if (winner.meaning.isBlind) for (const row of winner.meaning.added) since.set(row.name, row);
    }
    expected.push(meaning.after(expected[version - 1]!, since));
  }

  // Each acknowledged commit is there once, in its version; each refused one nowhere; a killed writer's at most once.
  const versionsOf = (txnId: string) =>
    [...created].filter(([, id]) => id === txnId).map(([version]) => version);
  for (const { txnId, outcome } of attempts) {
    if (outcome === "unknown") assert.ok(versionsOf(txnId).length <= 1, `${txnId} stands twice`);
    else if (outcome !== "refused" && outcome.kind === "committed")
      assert.deepEqual(versionsOf(txnId), [outcome.version], txnId);
    else assert.deepEqual(versionsOf(txnId), [], `${txnId} was refused`);
  }
  // Every version is what its writers meant, was so whenever somebody looked, and still is, read from scratch.
  for (const [version, rows] of seen)
    assert.deepEqual(names(rows), names(expected[version]!), `seen in ${version}`);
  const listing = await listLog(real, 0, signal);
  for (let version = 0; version <= newest; version++) {
    if (segmentsTo(listing, version) === undefined) continue;
    const snapshot = await readVersion(real, version, signal);
    assert.deepEqual(names(rowsOf(snapshot, contents)), names(expected[version]!), `version ${version}`);
  }
  const latest = await (await openTable(real, signal)).latest(signal);
  assert.equal(latest.version, newest);
}

const names = (rows: Rows) => [...rows.keys()].sort();

const partitioned = {
  type: "struct" as const,
  fields: [...schema.fields, { name: "p", type: "string" as const, nullable: true, metadata: {} }],
};

/** Removes commits below a checkpoint that is there, oldest first, and may be cut short in the middle. */
async function upkeep(store: Store, real: Store, latest: Snapshot, random: () => number): Promise<void> {
  const { commits, checkpoints } = await listLog(real, 0, signal);
  const checkpoint = checkpoints.find(({ version }) => version <= latest.version - LAG);
  if (!checkpoint) return;
  for (const { version } of commits) {
    if (version >= checkpoint.version || random() < 0.1) return;
    await patiently(() => store.delete(commitPath(version), signal));
  }
}

test("no acknowledged row is lost or doubled, and every version stays what its writers meant", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.constantFrom("WriteSerializable", "Serializable"), history),
    { numRuns: RUNS, endOnFailure: true, includeErrorInReport: true },
  );
});
