/** A streaming table over a long time, simulated: commits by the clock, files as names and sizes, log and upkeep as they are. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Add } from "../delta/actions.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { commit, committed, file, schema, signal } from "../delta/table.fixture.ts";
import { tombstoneOf } from "../delta/tombstone.ts";
import { packBins } from "./bins.ts";
import { cleanupLog } from "./cleanup.ts";
import { type Chore, createTurns } from "./schedule.ts";
import { vacuum } from "./vacuum.ts";

const COMMITS = 20_000;
const HOUR = 3_600_000;
/** One commit in so many seconds: the whole is ten days. */
const EVERY_MS = 43_200;
const MIB = 2 ** 20;

test(`after ${COMMITS} commits a table opens as fast, holds as few files and takes as little room as after 1,000`, async () => {
  const clock = { ms: Date.UTC(2030, 0, 1) };
  const now = () => clock.ms;
  const real = memoryStore({ now });
  const asked = { calls: 0 };
  const table = await createTable(
    real,
    {
      schema,
      configuration: {
        "delta.checkpointInterval": "100",
        "delta.logRetentionDuration": "interval 1 day",
        "delta.deletedFileRetentionDuration": "interval 12 hours",
      },
    },
    signal,
    { now },
  );
  let named = 0;
  const put = async (sizeMib: number, dataChange: boolean): Promise<Add> => {
    const path = `part-${named++}.parquet`;
    await real.put(path, new Uint8Array(1), signal);
    return file(path, { size: Math.round(sizeMib * MIB), modificationTime: clock.ms, dataChange });
  };
  const chores: Record<Chore, () => Promise<unknown>> = {
    async optimize() {
      const snapshot = await table.latest(signal);
      const bins = packBins(snapshot.files(), { targetBytes: 128 * MIB, rule: "tiered" });
      const adds = await Promise.all(
        bins.map((bin) => put(bin.reduce((sum, { size }) => sum + size, 0) / MIB, false)),
      );
      const removes = bins.flat().map((add) => tombstoneOf(add, { nowMs: clock.ms, dataChange: false }));
      committed(await commit(table, { adds, removes, operation: "OPTIMIZE" }));
    },
    vacuum: () => vacuum(table, { now, explain: false }, signal),
    cleanup: () => cleanupLog(table, { now }, signal),
    rollup: () => assert.fail("nobody audits the table"),
  };
  const turns = createTurns({
    openTable: async () => table,
    app: "lab",
    intervals: { optimize: HOUR, vacuum: 24 * HOUR, cleanup: 24 * HOUR },
    perform: async (chore) => void (await chores[chore]()),
    onFailure: (error) => assert.fail(String(error)),
    now,
    random: () => 0,
  });

  const measured: Measure[] = [];
  let dueMs = 0;
  for (let at = 1; at <= COMMITS; at++) {
    clock.ms += EVERY_MS;
    const { snapshot } = committed(await commit(table, { adds: [await put(0.5, true)] }));
    await table.maintain(snapshot, signal);
    if (clock.ms >= dueMs) dueMs = clock.ms + (await turns(signal));
    if (at >= 1000 && at % 1000 === 0) measured.push(await measure(counting(real, asked), asked));
  }
  const end = measured.at(-1)!;
  assert.equal(end.bytes, COMMITS * 0.5 * MIB, "not a byte of rows is lost");
  const full = (COMMITS * 0.5) / 96;
  assert.ok(end.files <= full + 100, `${end.files} live files`);
  for (const [name, most] of Object.entries({ calls: 250, objects: 12_000 } as const)) {
    const values = measured.map((one) => one[name as "calls"]);
    assert.ok(Math.max(...values) <= most, `${name}: ${values.join(" ")}`);
  }
});

type Measure = { files: number; bytes: number; calls: number; objects: number };

/** What a reader that comes anew has to fetch, and all that is stored. */
async function measure(store: Store, asked: { calls: number }): Promise<Measure> {
  asked.calls = 0;
  const { numFiles, sizeBytes } = await (await openTable(store, signal)).latest(signal);
  const { calls } = asked;
  let objects = 0;
  for await (const _ of store.list("", { signal })) objects++;
  return { files: numFiles, bytes: sizeBytes, calls, objects };
}

function counting(store: Store, asked: { calls: number }): Store {
  return {
    ...store,
    get(path, given) {
      asked.calls++;
      return store.get(path, given);
    },
  };
}
