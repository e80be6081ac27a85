/** Many writers on a store that fails at a seeded rate, before or after it did what it was asked. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LabError } from "../core/errors.ts";
import { createTable } from "./create.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { collect, file, quick, schema, signal } from "./table.fixture.ts";
import { dice, patiently } from "./writers.fixture.ts";

function failing(real: Store, random: () => number): Store {
  const down = () => new LabError("STORE_UNREACHABLE", "down");
  const outage = () => {
    if (random() < 0.15) throw down();
  };
  return {
    ...real,
    async get(path, given) {
      outage();
      return real.get(path, given);
    },
    async *list(prefix, given) {
      outage();
      yield* real.list(prefix, given);
    },
    async putIfAbsent(path, body, given) {
      if (random() < 0.15) throw down();
      if (random() < 0.1) return "unclear";
      const reply = await real.putIfAbsent(path, body, given);
      if (random() < 0.15) throw down();
      return random() < 0.15 ? "unclear" : reply;
    },
  };
}

test("whatever the store does, each append is in the log exactly once and each transaction moves once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const real = memoryStore();
      await createTable(real, { schema }, signal);
      const random = dice(seed);
      const outcomes = await Promise.all(
        Array.from({ length: 4 }, async (_, writer) => {
          const table = await patiently(() => openTable(failing(real, random), signal, quick));
          const done: { name: string; kind: string }[] = [];
          for (let n = 0; n < 5; n++) {
            const name = `${writer}-${n}`;
            const readSnapshot = await patiently(() => table.latest(signal));
            // Writers 0 and 1 contend for one transaction; the others only append.
            const txns = writer < 2 ? [{ appId: "shared", version: BigInt(n) }] : [];
            const { kind } = await table.commit(
              { readSnapshot, operation: "WRITE", adds: [file(name)], txns },
              signal,
            );
            done.push({ name, kind });
          }
          return done;
        }),
      );
      const wanted = outcomes.flat().filter(({ kind }) => kind === "committed");
      const table = await openTable(real, signal);
      const history = await collect(table.history({ signal }));
      const committed: string[] = [];
      for (const { version } of history) {
        for (const action of await table.commitActions(version, signal))
          if ("add" in action) committed.push(action.add.path);
      }
      assert.deepEqual(committed.sort(), wanted.map(({ name }) => name).sort());
      assert.equal((await table.latest(signal)).numFiles, wanted.length);
    }),
    { numRuns: 15 },
  );
});
