/** A store answers slowly against the time it takes to decide: there, whoever won once could win for ever. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createTable } from "./create.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { commit, committed, file, schema, signal } from "./table.fixture.ts";

const WRITERS = 8;
const COMMITS = 15;

function slow(real: Store): Store {
  const wait = () => delay(3 + Math.random() * 4);
  return {
    ...real,
    async get(path, given) {
      await wait();
      return real.get(path, given);
    },
    async *list(prefix, given) {
      await wait();
      yield* real.list(prefix, given);
    },
    async putIfAbsent(path, body, given) {
      await wait();
      const reply = await real.putIfAbsent(path, body, given);
      await wait();
      return reply;
    },
  };
}

test("of racing writers none is starved: each commits its share, in few attempts", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const attempts: number[] = [];
  const counts = Array.from({ length: WRITERS }, () => 0);
  let whenFirstEnded: number[] | undefined;
  await Promise.all(
    counts.map(async (_, writer) => {
      const table = await openTable(slow(real), signal);
      for (let n = 0; n < COMMITS; n++) {
        attempts.push(committed(await commit(table, { adds: [file(`${writer}-${n}`)] })).attempts);
        counts[writer]!++;
      }
      whenFirstEnded ??= [...counts];
    }),
  );
  assert.ok(Math.min(...whenFirstEnded!) > 0, `commits when the first had all of its own: ${whenFirstEnded}`);
  assert.ok(Math.max(...attempts) < 100, `most attempts: ${Math.max(...attempts)}`);
});
