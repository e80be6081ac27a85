import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type CpuProfile, PARTS, profileTable, secondsByPart, type ThreadSeconds } from "./profile-parts.ts";

const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
  ...{ id, callFrame: { functionName, url }, children },
});
const file = (path: string) => `file:///somewhere/${path}`;

/** One second of each of `tops`. */
const profile = (nodes: CpuProfile["nodes"], tops: number[]): CpuProfile => ({
  ...{ nodes, samples: [...tops, 1], timeDeltas: [0, ...tops.map(() => 1e6)] },
});

const PROFILE = profile(
  [
    node(1, "(root)", "", [2, 3, 4, 5, 10, 13]),
    node(2, "(idle)", ""),
    node(3, "(garbage collector)", ""),
    node(4, "(program)", ""),
    node(5, "onStreamRead", "node:internal/stream_base_commons", [6]),
    node(6, "onData", file("kafka/fetch/connection.js"), [7, 8]),
    node(7, "copy", "node:buffer"),
    node(8, "append", file("engine/raw-batch.js"), [9]),
    node(9, "set", "node:buffer"),
    node(10, "run", "node:internal/modules/esm/module_job", [11]),
    node(11, "", file("kafka/client.js"), [12]),
    node(12, "require", "node:vm"),
    node(13, "processTicks", "node:internal/process/task_queues", [14, 15]),
    node(14, "commit", file("delta/transaction.js")),
    node(15, "build", file("columnar/json-builder.js")),
  ],
  [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
);

test("time counts for the nearest caller that is of a part, all below the loader for start-up, idle time for none", () => {
  assert.deepEqual(Object.fromEntries(secondsByPart(PROFILE)), {
    ...{ garbage: 1, loop: 1, fetch: 3, copy: 2, startUp: 3, other: 1, commit: 1, decode: 1 },
  });
});

const seconds = fc.double({ min: 0, max: 1000, noNaN: true });
const threads = fc
  .record({
    main: seconds,
    v8: seconds,
    profiler: seconds,
    workers: seconds,
    native: seconds,
    ended: seconds,
  })
  .map(({ ended, ...kinds }): ThreadSeconds => {
    const total = Object.values(kinds).reduce((sum, one) => sum + one, ended);
    return { ...kinds, total };
  });

test("the table adds up to what the process used, whatever its threads did", () => {
  fc.assert(
    fc.property(threads, fc.integer({ min: 0, max: 2 }), (used, workers) => {
      const table = profileTable(PROFILE, Array(workers).fill(PROFILE), used);
      assert.deepEqual([...table.keys()], Object.keys(PARTS));
      const sum = [...table.values()].reduce((total, one) => total + one, 0);
      assert.ok(Math.abs(sum - used.total) < 1e-6, `${sum} of ${used.total}`);
    }),
  );
});

test("samples of the main thread are scaled to its CPU time; workers that have ended take the rest", () => {
  const used = { main: 6.5, v8: 1, profiler: 2, workers: 0, native: 4, total: 26.5 };
  const alone = profileTable(PROFILE, [], used);
  assert.deepEqual([alone.get("fetch"), alone.get("rest"), alone.get("native")], [1.5, 13, 4]);
  const withWorker = profileTable(PROFILE, [PROFILE], used);
  assert.deepEqual([withWorker.get("fetch"), withWorker.get("rest")], [4.5, 0]);
});
