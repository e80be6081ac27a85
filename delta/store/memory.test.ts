import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "./memory.ts";
import { listed, storeSuite } from "./store.suite.ts";

storeSuite("memory", async () => {
  const store = memoryStore();
  return async () => store;
});

test("the times of a memory store's objects come from the clock it is given", async () => {
  const { signal } = new AbortController();
  let time = 1000;
  const store = memoryStore({ name: "clock", now: () => time });
  await store.put("a", new Uint8Array(1), signal);
  time = 2000;
  await store.put("b", new Uint8Array(1), signal);
  const times = (await listed(store)).map((object) => object.modifiedMs);
  assert.deepEqual(times, [1000, 2000]);
  assert.equal(store.root, "memory://clock");
});
