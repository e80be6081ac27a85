import assert from "node:assert/strict";
import { test } from "node:test";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { commit, committed, file, schema, signal } from "../delta/table.fixture.ts";
import { type Chore, createTurns, type ScheduleOptions, turnId } from "./schedule.ts";

const HOUR = 3_600_000;

function scheduleOf(store: Store, clock: { ms: number }, over: Partial<ScheduleOptions> = {}) {
  const done: Chore[] = [];
  const options: ScheduleOptions = {
    openTable: () => openTable(store, signal, { now: () => clock.ms }),
    app: "lab",
    intervals: { optimize: HOUR, vacuum: 24 * HOUR },
    perform: async (chore) => void done.push(chore),
    onFailure: (error) => assert.fail(String(error)),
    now: () => clock.ms,
    random: () => 0,
    ...over,
  };
  return { done, turns: createTurns(options) };
}

async function smallTable(clock: { ms: number }) {
  const now = () => clock.ms;
  const store = memoryStore({ now });
  const table = await createTable(store, { schema }, signal, { now });
  for (const name of ["a", "b", "c"]) committed(await commit(table, { adds: [file(name)] }));
  return { store, table };
}

test("a chore is done once in its interval, the first time an interval after the table was made", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { store } = await smallTable(clock);
  const { done, turns } = scheduleOf(store, clock);
  assert.equal(await turns(signal), HOUR);
  assert.deepEqual(done, []);
  clock.ms += HOUR;
  await turns(signal);
  assert.deepEqual(done, ["optimize"]);
  clock.ms += HOUR / 2;
  assert.equal(await turns(signal), HOUR / 2);
  clock.ms += 24 * HOUR;
  await turns(signal);
  assert.deepEqual(done, ["optimize", "optimize", "vacuum"]);
});

test("a roll-up is a chore of tables that speak to an audit, and of no others", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { store, table } = await smallTable(clock);
  const { done, turns } = scheduleOf(store, clock, { intervals: { rollup: HOUR } });
  clock.ms += HOUR;
  await turns(signal);
  assert.deepEqual(done, []);
  assert.equal((await table.latest(signal)).version, 3);
  const audit = [{ topic: "t", origin: "o", epoch: 1, windows: [] }];
  const lab = { v: 1, app: "lab", generation: 0, partitions: [], audit };
  const readSnapshot = await table.latest(signal);
  await table.commit({ readSnapshot, operation: "STREAMING UPDATE", info: { lab } }, signal);
  clock.ms += HOUR;
  await turns(signal);
  assert.deepEqual(done, ["rollup"]);
});

test("of several workers one takes each turn", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { store } = await smallTable(clock);
  const workers = Array.from({ length: 5 }, () => scheduleOf(store, clock));
  clock.ms += HOUR;
  await Promise.all(workers.map(({ turns }) => turns(signal)));
  assert.deepEqual(
    workers.flatMap(({ done }) => done),
    ["optimize"],
  );
});

test("a turn is remembered by the table, so that a restart does not repeat it", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { store, table } = await smallTable(clock);
  clock.ms += HOUR;
  await scheduleOf(store, clock).turns(signal);
  const again = scheduleOf(store, clock);
  await again.turns(signal);
  assert.deepEqual(again.done, []);
  assert.equal((await table.latest(signal)).txn(turnId("lab", "optimize")), BigInt(clock.ms));
});

test("a table with nothing to join gets no version of it", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const store = memoryStore({ now: () => clock.ms });
  const table = await createTable(store, { schema }, signal, { now: () => clock.ms });
  committed(await commit(table, { adds: [file("a")] }));
  clock.ms += HOUR;
  const { done, turns } = scheduleOf(store, clock);
  await turns(signal);
  assert.deepEqual(done, []);
  assert.equal((await table.latest(signal)).version, 1);
});

test("a clock that was ahead does not stop upkeep for as long as it was ahead", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { store } = await smallTable(clock);
  clock.ms += 10_000 * HOUR;
  await scheduleOf(store, clock).turns(signal);
  clock.ms -= 9_000 * HOUR;
  const { done, turns } = scheduleOf(store, clock, { intervals: { optimize: HOUR } });
  await turns(signal);
  assert.deepEqual(done, ["optimize"]);
});

test("a chore that fails is said, and done at the next turn", async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { store } = await smallTable(clock);
  const failures: unknown[] = [];
  let calls = 0;
  const { turns } = scheduleOf(store, clock, {
    intervals: { optimize: HOUR },
    perform: async () => {
      if (++calls === 1) throw new Error("disk");
    },
    onFailure: (error) => failures.push(error),
  });
  clock.ms += HOUR;
  await turns(signal);
  clock.ms += HOUR;
  await turns(signal);
  assert.equal(calls, 2);
  assert.equal(failures.length, 1);
});
