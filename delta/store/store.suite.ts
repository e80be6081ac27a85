/** What every store promises, as tests: run on memory, on a local folder and on S3, so that none of them drifts. */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../../core/errors.ts";
import { compareUtf8 } from "./path.ts";
import type { Store, StoredObject } from "./store.ts";

/** Opens a store on a place that is empty the first time; each further call of the returned function opens the same place. */
export type StoreFactory = () => Promise<() => Promise<Store>>;

const { signal } = new AbortController();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

/** All that a listing yields. */
export async function listed(
  store: Store,
  prefix = "",
  startAfter?: string,
  until: AbortSignal = signal,
): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  const options = startAfter === undefined ? { signal: until } : { signal: until, startAfter };
  for await (const object of store.list(prefix, options)) objects.push(object);
  return objects;
}

async function paths(store: Store, prefix?: string, startAfter?: string): Promise<string[]> {
  return (await listed(store, prefix, startAfter)).map((object) => object.path);
}

/** Registers the tests. `runs` bounds the random ones: fewer where each call goes over a network. */
export function storeSuite(name: string, factory: StoreFactory, options: { runs?: number } = {}): void {
  const open = async (): Promise<Store> => (await factory())();
  const it = (promise: string, body: () => Promise<void>) => test(`${name}: ${promise}`, body);

  it("what was put is read back, by another opener too, and the last put wins", async () => {
    const reopen = await factory();
    const store = await reopen();
    await store.put("a/b.txt", bytes("one"), signal);
    await store.put("a/b.txt", bytes("second"), signal);
    assert.equal(text(await (await reopen()).get("a/b.txt", signal)), "second");
  });

  it("an empty object and one of every byte value are kept exactly", async () => {
    const store = await open();
    const every = Uint8Array.from({ length: 256 }, (_, i) => i);
    await store.put("empty", new Uint8Array(), signal);
    await store.put("every", every, signal);
    assert.equal((await store.get("empty", signal)).length, 0);
    assert.deepEqual([...(await store.get("every", signal))], [...every]);
  });

  it("a buffer changed after put, or after get, changes nothing stored", async () => {
    const store = await open();
    const given = Buffer.from("stay");
    await store.put("x", given, signal);
    given.fill(0);
    (await store.get("x", signal)).fill(0);
    assert.equal(text(await store.get("x", signal)), "stay");
  });

  it("a put file is stored with its content, small and large", async (): Promise<void> => {
    const store = await open();
    const folder = await mkdtemp(join(tmpdir(), "store-suite-"));
    try {
      for (const size of [0, 5, 17 * 1024 * 1024 + 3]) {
        const content = Buffer.alloc(size, "0123456789abcdef");
        const file = join(folder, `source-${size}`);
        await writeFile(file, content);
        await store.put(`files/p=1/${size}.bin`, { file }, signal);
        const back = await store.get(`files/p=1/${size}.bin`, signal);
        assert.ok(content.equals(back), `${size} bytes differ`);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("a range is the bytes asked for, and shorter only at the end", async () => {
    const store = await open();
    await store.put("digits", bytes("0123456789"), signal);
    await store.put("empty", new Uint8Array(), signal);
    const range = async (start: number, length: number, path = "digits") =>
      text(await store.getRange(path, start, length, signal));
    assert.equal(await range(0, 4), "0123");
    assert.equal(await range(3, 2), "34");
    assert.equal(await range(8, 5), "89");
    assert.equal(await range(10, 5), "");
    assert.equal(await range(40, 5), "");
    assert.equal(await range(2, 0), "");
    assert.equal(await range(-4, 4), "6789");
    assert.equal(await range(-4, 2), "67");
    assert.equal(await range(-40, 3), "012");
    assert.equal(await range(0, 5, "empty"), "");
    assert.equal(await range(-8, 8, "empty"), "");
  });

  it("what does not exist is OBJECT_MISSING to read and nothing to delete", async () => {
    const store = await open();
    await store.put("file", bytes("x"), signal);
    await store.put("folder/file", bytes("x"), signal);
    for (const path of ["none", "none/at/all", "file/below", "folder"]) {
      await assert.rejects(store.get(path, signal), (error) => isLabError(error, "OBJECT_MISSING"), path);
      await assert.rejects(store.getRange(path, 0, 0, signal), (error) =>
        isLabError(error, "OBJECT_MISSING"),
      );
      await assert.rejects(store.getRange(path, -8, 8, signal), (error) =>
        isLabError(error, "OBJECT_MISSING"),
      );
      await store.delete(path, signal);
    }
    assert.deepEqual(await paths(store), ["file", "folder/file"]);
  });

  it("a deleted object is gone, and its path can be created again", async () => {
    const store = await open();
    await store.put("d/x", bytes("1"), signal);
    await store.delete("d/x", signal);
    assert.deepEqual(await paths(store), []);
    assert.equal(await store.putIfAbsent("d/x", bytes("2"), signal), "created");
    assert.equal(text(await store.get("d/x", signal)), "2");
  });

  it("a listing goes through folders in the order of UTF-8 bytes", async () => {
    const store = await open();
    const unsorted = [
      "b",
      "a/z",
      "a.b",
      "a/b/c",
      "a-",
      "A",
      "ä",
      "\u{1F600}",
      "\uFF5E",
      "a b",
      "p=%20/x",
      "a+b",
      "a%2Fb",
    ];
    for (const path of unsorted) await store.put(path, bytes(path), signal);
    const sorted = [...unsorted].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
    assert.deepEqual(await paths(store), sorted);
    for (const path of sorted) assert.equal(text(await store.get(path, signal)), path);
  });

  it("a listing takes a prefix of the path, whole folders or not, and starts after a path", async () => {
    const store = await open();
    for (const path of [
      "_delta_log/01.json",
      "_delta_log/02.json",
      "_delta_log/02/x",
      "_delta_log2/01",
      "data/1",
    ]) {
      await store.put(path, bytes("x"), signal);
    }
    assert.deepEqual(await paths(store, "_delta_log/0"), [
      "_delta_log/01.json",
      "_delta_log/02.json",
      "_delta_log/02/x",
    ]);
    assert.deepEqual(await paths(store, "_delta_log/", "_delta_log/01.json"), [
      "_delta_log/02.json",
      "_delta_log/02/x",
    ]);
    assert.deepEqual(await paths(store, "_delta_log/", "_delta_log/02"), [
      "_delta_log/02.json",
      "_delta_log/02/x",
    ]);
    assert.deepEqual(await paths(store, "_delta_log/", "_delta_log/02/a"), ["_delta_log/02/x"]);
    assert.deepEqual(await paths(store, "", "_delta_log/03"), ["_delta_log2/01", "data/1"]);
    assert.deepEqual(await paths(store, "data/1"), ["data/1"]);
    assert.deepEqual(await paths(store, "data/1/"), []);
    assert.deepEqual(await paths(store, "nothing/here/"), []);
    assert.deepEqual(await paths(store, "", "zzz"), []);
  });

  it("any set of paths is listed as a sorted list would be, from any point and for any prefix", async () => {
    const part = fc.string({
      unit: fc.constantFrom("a", "b", ".", "-", "0", "é", "\u{10000}", "\uE000"),
      minLength: 1,
      maxLength: 2,
    });
    const path = fc
      .array(
        part.filter((value) => value !== "." && value !== ".."),
        { minLength: 1, maxLength: 3 },
      )
      .map((parts) => parts.join("/"));
    const query = fc.record({
      paths: fc.uniqueArray(path, { maxLength: 8 }),
      prefix: fc.option(path),
      after: fc.option(path),
    });
    await fc.assert(
      fc.asyncProperty(query, async ({ paths: all, prefix, after }) => {
        // A path cannot be both a file and a folder on a disk.
        const kept = all.filter((one) => !all.some((other) => other.startsWith(`${one}/`)));
        const store = await open();
        for (const one of kept) await store.put(one, bytes(one), signal);
        const expected = kept
          .filter((one) => one.startsWith(prefix ?? "") && (after === null || compareUtf8(one, after) > 0))
          .sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
        assert.deepEqual(await paths(store, prefix ?? "", after ?? undefined), expected);
      }),
      { numRuns: options.runs ?? 100 },
    );
  });

  it("a listing says size and time of each object, in whole milliseconds", async () => {
    const store = await open();
    const before = Date.now();
    await store.put("x", bytes("12345"), signal);
    const [object] = await listed(store);
    assert.equal(object?.size, 5);
    assert.ok(Number.isInteger(object.modifiedMs));
    // S3 counts in seconds, and a server's clock is its own.
    assert.ok(Math.abs(object.modifiedMs - before) < 60_000, `${object.modifiedMs} is not near ${before}`);
  });

  it("folders are named once, in order, by what lies right below the root", async () => {
    const store = await open();
    const found = async () => {
      const names: string[] = [];
      for await (const name of store.folders(signal)) names.push(name);
      return names;
    };
    assert.deepEqual(await found(), []);
    for (const path of ["b/1", "a/z/deep/1", "a/b", "file", "a.b/x", "a b+%/x", "\uFF5E/x", "\u{1F600}/x"])
      await store.put(path, bytes("x"), signal);
    assert.deepEqual(await found(), ["a", "a b+%", "a.b", "b", "\uFF5E", "\u{1F600}"]);
    const reason = new Error("enough");
    const aborted = store.folders(AbortSignal.abort(reason));
    await assert.rejects(aborted[Symbol.asyncIterator]().next(), (error: unknown) => error === reason);
  });

  it("put-if-absent creates once and never replaces", async () => {
    const store = await open();
    assert.equal(await store.putIfAbsent("log/0.json", bytes("first"), signal), "created");
    assert.equal(await store.putIfAbsent("log/0.json", bytes("other"), signal), "exists");
    assert.equal(text(await store.get("log/0.json", signal)), "first");
    assert.deepEqual(await paths(store), ["log/0.json"]);
  });

  it("of 24 writers who race to create one path exactly one wins, and its bytes are what is stored", async () => {
    const reopen = await factory();
    const writers = await Promise.all(Array.from({ length: 24 }, reopen));
    for (let version = 0; version < 5; version++) {
      const path = `_delta_log/${version}.json`;
      const contents = writers.map((_, i) => bytes(`writer ${i} ${"x".repeat(i * 100)}`));
      const results = await Promise.all(
        writers.map(async (writer, i) => {
          const result = await writer.putIfAbsent(path, contents[i]!, signal);
          // A loser may read at once: what is there is whole.
          const seen = text(await writer.get(path, signal));
          assert.ok(contents.some((content) => text(content) === seen));
          return result;
        }),
      );
      const winners = results.flatMap((result, i) => (result === "created" ? [i] : []));
      assert.equal(winners.length, 1, `winners of version ${version}: ${winners}; ${results}`);
      assert.ok(results.every((result) => result !== "unclear"));
      assert.equal(text(await writers[0]!.get(path, signal)), text(contents[winners[0]!]!));
    }
    assert.equal((await paths(writers[0]!)).length, 5);
  });

  it("paths that lead out of the store are refused by every function", async () => {
    const store = await open();
    const bad = ["", "/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "a/", "..", "a\0b", "\ud800"];
    const isRefused = (error: unknown) => isLabError(error, "PATH_REFUSED");
    for (const path of bad) {
      await assert.rejects(async () => store.get(path, signal), isRefused, path);
      await assert.rejects(async () => store.getRange(path, 0, 1, signal), isRefused, path);
      await assert.rejects(async () => store.put(path, bytes("x"), signal), isRefused, path);
      await assert.rejects(async () => store.putIfAbsent(path, bytes("x"), signal), isRefused, path);
      await assert.rejects(async () => store.delete(path, signal), isRefused, path);
    }
    for (const prefix of ["/etc/", "../", "a/../b", "a\0"])
      await assert.rejects(paths(store, prefix), isRefused, prefix);
    assert.deepEqual(await paths(store), []);
  });

  it("an aborted signal rejects every call with its reason and stores nothing", async () => {
    const store = await open();
    await store.put("x", bytes("x"), signal);
    const reason = new Error("enough");
    const aborted = AbortSignal.abort(reason);
    const isReason = (error: unknown) => error === reason;
    await assert.rejects(store.get("x", aborted), isReason);
    await assert.rejects(store.getRange("x", 0, 1, aborted), isReason);
    await assert.rejects(store.put("y", bytes("y"), aborted), isReason);
    await assert.rejects(store.putIfAbsent("y", bytes("y"), aborted), isReason);
    await assert.rejects(store.delete("x", aborted), isReason);
    await assert.rejects(listed(store, "", undefined, aborted), isReason);
    assert.deepEqual(await paths(store), ["x"]);
  });

  it("the root is a canonical URI without a slash at its end", async () => {
    const reopen = await factory();
    const { root } = await reopen();
    assert.match(root, /^(file|s3|memory):\/\/.*[^/]$/);
    assert.equal(root, (await reopen()).root);
  });
}
