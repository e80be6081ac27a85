import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../../core/errors.ts";
import { failing, faultyStore } from "../../test/support/faulty-store.ts";
import { memoryStore } from "./memory.ts";
import { probePutIfAbsent } from "./probe.ts";
import { listed } from "./store.suite.ts";
import type { Store } from "./store.ts";

const { signal } = new AbortController();
const isNotAtomic = (error: unknown) => isLabError(error, "STORE_NOT_ATOMIC");

/** A store that looks before it writes, with time for others in between: what some S3 servers do. */
function racyStore(): Store {
  const inner = memoryStore();
  return {
    ...inner,
    async putIfAbsent(path, body) {
      const isThere = (await listed(inner, path)).length > 0;
      await new Promise((resolve) => setImmediate(resolve));
      if (isThere) return "exists";
      await inner.put(path, body, signal);
      return "created";
    },
  };
}

test("a store where one writer wins passes, and nothing is left in it", async () => {
  const store = memoryStore();
  await probePutIfAbsent(store, signal);
  assert.deepEqual(await listed(store), []);
});

test("a store that lets several writers win is refused, and nothing is left in it", async () => {
  const store = racyStore();
  await assert.rejects(probePutIfAbsent(store, signal), isNotAtomic);
  assert.deepEqual(await listed(store), []);
});

test("a store that replaces what is there is refused", async () => {
  const inner = memoryStore();
  const store: Store = {
    ...inner,
    async putIfAbsent(path, body) {
      const first = await inner.putIfAbsent(path, body, signal);
      await inner.put(path, body, signal);
      return first;
    },
  };
  await assert.rejects(probePutIfAbsent(store, signal), isNotAtomic);
});

test("a store that says created and keeps nothing is refused", async () => {
  const inner = memoryStore();
  let isFirst = true;
  const store: Store = {
    ...inner,
    async putIfAbsent() {
      const result = isFirst ? "created" : "exists";
      isFirst = false;
      return result;
    },
  };
  await assert.rejects(probePutIfAbsent(store, signal), isNotAtomic);
});

test("a winner whose reply was lost is found by reading, and is no reason to refuse", async () => {
  await probePutIfAbsent(faultyStore(memoryStore(), failing("putIfAbsent", /probe/, "lose-reply")), signal);
});

test("a store that does not answer is unreachable, not untrustworthy", async () => {
  const store = faultyStore(memoryStore(), failing("putIfAbsent", /probe/, "lose-request", 100));
  await assert.rejects(probePutIfAbsent(store, signal), (error) => isLabError(error, "STORE_UNREACHABLE"));
});
