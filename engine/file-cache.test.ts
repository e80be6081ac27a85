import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { type FileCache, openFileCache, type RemoteFile } from "./file-cache.ts";

const signal = new AbortController().signal;

async function setUp(t: TestContext, options: { maxBytes?: number } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "cache-"));
  const store = memoryStore();
  const fetched: string[] = [];
  const counting: Store = {
    ...store,
    async getRange(path, start, length, waiting) {
      fetched.push(path);
      return store.getRange(path, start, length, waiting);
    },
  };
  const open = () => openFileCache({ folder, maxBytes: options.maxBytes ?? 1_000_000 });
  const caches: FileCache[] = [];
  t.after(async () => {
    for (const cache of caches) await cache.close();
    await rm(folder, { recursive: true });
  });
  return {
    folder,
    fetched,
    store: counting,
    async open() {
      const cache = await open();
      caches.push(cache);
      return cache;
    },
    async put(path: string, bytes: Uint8Array): Promise<RemoteFile> {
      await store.put(path, bytes, signal);
      return { path, size: bytes.length, modificationTime: 1 };
    },
    kept: async () => (await readdir(join(folder, "files"))).length,
  };
}

test("a file is fetched once, byte for byte, however many ask and whatever its size", async (t) => {
  const { open, put, store, fetched } = await setUp(t, { maxBytes: 100_000_000 });
  const cache = await open();
  const contents = [randomBytes(10), randomBytes(0), randomBytes(16 * 1024 * 1024), randomBytes(33_000_001)];
  const files = await Promise.all(contents.map((bytes, index) => put(`f ${index}%.parquet`, bytes)));
  const leases = await Promise.all([1, 2, 3].map(() => cache.lease(store, files, signal)));
  for (const lease of leases) {
    for (const [index, path] of lease.paths.entries())
      assert.ok((await readFile(path)).equals(contents[index]!));
  }
  assert.equal(fetched.filter((path) => path === "f 0%.parquet").length, 1);
  assert.equal(fetched.filter((path) => path === "f 3%.parquet").length, 2);
  await (await cache.lease(store, files, signal)).close();
  assert.equal(fetched.filter((path) => path === "f 0%.parquet").length, 1);
});

test("the least recently used go first, and what is leased lives on for its reader", async (t) => {
  const { open, put, store, kept, fetched } = await setUp(t, { maxBytes: 25 });
  const cache = await open();
  const files = await Promise.all(["a", "b", "c"].map((name) => put(name, Buffer.from(name.repeat(10)))));
  const [a, b, c] = files as [RemoteFile, RemoteFile, RemoteFile];
  const first = await cache.lease(store, [a], signal);
  await (await cache.lease(store, [b], signal)).close();
  const past = new Date(Date.now() - 60_000);
  await utimes(first.paths[0]!, past, past);
  await (await cache.lease(store, [c], signal)).close();
  assert.equal(await kept(), 2);
  assert.equal(await readFile(first.paths[0]!, "utf8"), "a".repeat(10));
  await (await cache.lease(store, [b, c], signal)).close();
  assert.deepEqual(fetched, ["a", "b", "c"]);
  await (await cache.lease(store, [a], signal)).close();
  assert.deepEqual(fetched, ["a", "b", "c", "a"]);
  await first.close();
});

test("a lease larger than the cache is served all the same", async (t) => {
  const { open, put, store, kept } = await setUp(t, { maxBytes: 5 });
  const cache = await open();
  const files = await Promise.all(["a", "b"].map((name) => put(name, Buffer.from(name.repeat(10)))));
  const lease = await cache.lease(store, files, signal);
  assert.equal(await kept(), 0);
  assert.deepEqual(await Promise.all(lease.paths.map((path) => readFile(path, "utf8"))), [
    "aaaaaaaaaa",
    "bbbbbbbbbb",
  ]);
  await lease.close();
  await assert.rejects(readFile(lease.paths[0]!), /ENOENT/);
});

test("two processes' caches in one folder do not take files from each other's readers", async (t) => {
  const { open, put, store } = await setUp(t, { maxBytes: 15 });
  const [one, other] = [await open(), await open()];
  const a = await put("a", Buffer.from("a".repeat(10)));
  const b = await put("b", Buffer.from("b".repeat(10)));
  for (let round = 0; round < 20; round++) {
    const leases = await Promise.all([one.lease(store, [a, b], signal), other.lease(store, [b, a], signal)]);
    for (const { paths, close } of leases) {
      assert.equal(
        (await Promise.all(paths.map((path) => readFile(path, "utf8")))).sort().join(),
        `${"a".repeat(10)},${"b".repeat(10)}`,
      );
      await close();
    }
  }
});

test("a file that is gone is named, and nothing half-written stays", async (t) => {
  const { open, put, store, folder, kept } = await setUp(t);
  const cache = await open();
  const there = await put("there", Buffer.from("x"));
  const gone = { path: "gone.parquet", size: 1, modificationTime: 1 };
  await assert.rejects(cache.lease(store, [there, gone], signal), (error) => {
    return isLabError(error, "DATA_FILE_MISSING") && error.message.includes("gone.parquet");
  });
  assert.equal(await kept(), 1);
  assert.deepEqual(await readdir(join(folder, "leases")), []);
});

test("an abort of one reader does not end the fetch that another waits for", async (t) => {
  const { open, put, store } = await setUp(t);
  const cache = await open();
  const file = await put("slow", Buffer.from("slow"));
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Store = {
    ...store,
    async getRange(path, start, length, waiting) {
      await gate;
      waiting.throwIfAborted();
      return store.getRange(path, start, length, waiting);
    },
  };
  const impatient = new AbortController();
  const left = cache.lease(slow, [file], impatient.signal);
  const stays = cache.lease(slow, [file], signal);
  impatient.abort(new Error("gave up"));
  await assert.rejects(left, /gave up/);
  release();
  assert.equal(await readFile((await stays).paths[0]!, "utf8"), "slow");
});

test("the same name with another size or time is another file", async (t) => {
  const { open, put, store } = await setUp(t);
  const cache = await open();
  const old = await put("x", Buffer.from("old"));
  await (await cache.lease(store, [old], signal)).close();
  const young = { ...(await put("x", Buffer.from("young"))), modificationTime: 2 };
  const lease = await cache.lease(store, [young], signal);
  assert.equal(await readFile(lease.paths[0]!, "utf8"), "young");
});
