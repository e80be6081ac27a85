import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fsPromises, { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isLabError } from "../../core/errors.ts";
import { type Disk, localStore } from "./local.ts";
import { listed, storeSuite } from "./store.suite.ts";

const { signal } = new AbortController();
const body = new TextEncoder().encode("content");

const base = await mkdtemp(join(tmpdir(), "local-store-"));
after(() => rm(base, { recursive: true }));
const emptyFolder = (): Promise<string> => mkdtemp(join(base, "t-"));

storeSuite("local", async () => {
  const folder = join(await emptyFolder(), "not", "yet made");
  return async () => localStore(folder);
});

/** The real disk, writing down each change and sync, relative to `from`; `fail` may throw instead of a call. */
function watchedDisk(
  from: string,
  fail: (call: string, path: string) => void = () => {},
): Disk & { calls: string[] } {
  const calls: string[] = [];
  const note = (call: string, path: string) => {
    const name = relative(from, path).replace(/[0-9a-f-]{36}/, "UUID") || ".";
    fail(call, name);
    calls.push(`${call} ${name}`);
  };
  return {
    ...fsPromises,
    calls,
    open: async (...args: Parameters<Disk["open"]>) => {
      const path = String(args[0]);
      if (args[1] === "wx") note("create", path);
      const handle = await fsPromises.open(...args);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        note("sync", path);
        return sync();
      };
      return handle;
    },
    link: async (...args: Parameters<Disk["link"]>) => {
      note("link", String(args[1]));
      return fsPromises.link(...args);
    },
    rename: async (...args: Parameters<Disk["rename"]>) => {
      note("rename", String(args[1]));
      return fsPromises.rename(...args);
    },
  };
}

const systemError = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });

test("bytes are synced before they get their name, and each new folder after, up to the one that was there", async () => {
  const folder = await emptyFolder();
  const disk = watchedDisk(folder);
  const store = localStore(join(folder, "tables/orders"), { disk });
  await store.putIfAbsent("_delta_log/0.json", body, signal);
  assert.deepEqual(disk.calls, [
    "sync tables/orders",
    "sync tables",
    "sync .",
    "create tables/orders/_delta_log/.UUID.tmp",
    "sync tables/orders/_delta_log/.UUID.tmp",
    "link tables/orders/_delta_log/0.json",
    "sync tables/orders/_delta_log",
  ]);
  disk.calls.length = 0;
  await store.put("date=1/part.parquet", body, signal);
  assert.deepEqual(disk.calls, [
    "sync tables/orders",
    "create tables/orders/date=1/.UUID.tmp",
    "sync tables/orders/date=1/.UUID.tmp",
    "rename tables/orders/date=1/part.parquet",
    "sync tables/orders/date=1",
  ]);
});

test("a folder somebody else has just made is synced into its parents before the first object in it", async () => {
  const folder = await emptyFolder();
  await fsPromises.mkdir(join(folder, "a/b"), { recursive: true });
  const disk = watchedDisk(folder);
  await localStore(folder, { disk }).putIfAbsent("a/b/x", body, signal);
  assert.deepEqual(disk.calls.slice(0, 2), ["sync a", "sync ."]);
});

test("a put file is synced, moved and its folder synced", async () => {
  const folder = await emptyFolder();
  const source = join(folder, "staged.parquet");
  await writeFile(source, body);
  const disk = watchedDisk(folder);
  await localStore(join(folder, "t"), { disk }).put("p=1/x.parquet", { file: source }, signal);
  assert.deepEqual(disk.calls.slice(-3), ["sync staged.parquet", "rename t/p=1/x.parquet", "sync t/p=1"]);
  await assert.rejects(readFile(source), { code: "ENOENT" });
});

test("a file on another file system is copied, whole and synced, before it gets its name", async () => {
  const folder = await emptyFolder();
  const source = join(folder, "staged.parquet");
  await writeFile(source, body);
  let isFirst = true;
  const disk = watchedDisk(folder, (call) => {
    if (call !== "rename" || !isFirst) return;
    isFirst = false;
    throw systemError("EXDEV", "rename");
  });
  const store = localStore(join(folder, "t"), { disk });
  await store.put("x.parquet", { file: source }, signal);
  assert.deepEqual(disk.calls.slice(-3), ["sync t/.UUID.tmp", "rename t/x.parquet", "sync t"]);
  assert.deepEqual(
    (await listed(store)).map((object) => object.path),
    ["x.parquet"],
  );
});

for (const [system, call, code] of [
  ["ENOSPC", "create", "STORE_FULL"],
  ["ENOSPC", "sync", "STORE_FULL"],
  ["EDQUOT", "create", "STORE_FULL"],
  ["EACCES", "create", "STORE_DENIED"],
  ["EROFS", "create", "STORE_DENIED"],
  ["EIO", "sync", "STORE_UNREACHABLE"],
  ["EPERM", "link", "STORE_NOT_ATOMIC"],
] as const) {
  test(`${system} at ${call} is ${code}, and neither an object nor a temporary file is left`, async () => {
    const folder = await emptyFolder();
    const disk = watchedDisk(folder, (name, path) => {
      if (name === call && path !== "." && path !== "log") throw systemError(system, name);
    });
    const store = localStore(folder, { disk });
    await assert.rejects(store.putIfAbsent("log/0.json", body, signal), (error) => {
      assert.ok(isLabError(error, code), String(error));
      assert.match(error.message, new RegExp(`log/0.json .*${system}`));
      return true;
    });
    assert.deepEqual(await listed(store), []);
  });
}

test("a created object whose folder could not be synced is unclear, for it is there to be read", async () => {
  const folder = await emptyFolder();
  const store = localStore(folder, {
    disk: watchedDisk(folder, (call, path) => {
      if (call === "sync" && path === "log") throw systemError("EIO", "fsync");
    }),
  });
  assert.equal(await store.putIfAbsent("log/0.json", body, signal), "unclear");
  assert.deepEqual(await store.get("log/0.json", signal), body);
});

test("a file where a folder is needed is an error that says so", async () => {
  const folder = await emptyFolder();
  const store = localStore(folder);
  await store.put("taken", body, signal);
  await assert.rejects(store.put("taken/x", body, signal), (error) => isLabError(error, "STORE_DENIED"));
});

test("a store whose own place is a file is no empty store", async () => {
  const file = join(await emptyFolder(), "afile");
  await writeFile(file, "");
  await assert.rejects(listed(localStore(file), ""), (error) => isLabError(error, "STORE_DENIED"));
});

test("a file to put that does not exist is named in the error", async () => {
  const folder = await emptyFolder();
  const gone = join(folder, "gone.parquet");
  await assert.rejects(localStore(folder).put("x", { file: gone }, signal), (error) => {
    assert.ok(isLabError(error, "OBJECT_MISSING"));
    assert.match(error.message, /gone\.parquet/);
    return true;
  });
});

test("a link to a folder outside is not followed by a listing, and one that leads nowhere is left out", async () => {
  const folder = await emptyFolder();
  const store = localStore(folder);
  await store.put("x", body, signal);
  await symlink(base, join(folder, "loop"));
  await symlink(join(folder, "nowhere"), join(folder, "broken"));
  assert.deepEqual(
    (await listed(store)).map((object) => object.path),
    ["x"],
  );
});

test("the root is a percent-encoded file URI, and localPath is where an object lies", async () => {
  const folder = join(await emptyFolder(), "my tables#1");
  const store = localStore(`${folder}/`);
  assert.equal(store.root, `file://${folder.replace(" ", "%20").replace("#", "%23")}`);
  assert.equal(store.localPath?.("p=1/x"), join(folder, "p=1/x"));
  assert.throws(
    () => store.localPath?.("../x"),
    (error) => isLabError(error, "PATH_REFUSED"),
  );
});

test("of 25 writers in 5 processes exactly one creates each version, and what it wrote is there", async () => {
  const folder = await emptyFolder();
  const script = fileURLToPath(new URL("../../test/support/race-child.ts", import.meta.url));
  const versions = 20;
  const children = Array.from({ length: 5 }, () =>
    spawn(process.execPath, ["--import", "tsx", script, folder, String(versions), "5"], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const outputs = children.map(() => "");
  await Promise.all(
    children.map(async (child, i) => {
      child.stdout.setEncoding("utf8");
      const [first] = await once(child.stdout, "data");
      assert.equal(first, "ready\n");
      child.stdout.on("data", (chunk: string) => {
        outputs[i] += chunk;
      });
    }),
  );
  const exits = children.map((child) => once(child, "close"));
  for (const child of children) child.stdin.end();
  for (const [status] of await Promise.all(exits)) assert.equal(status, 0);

  const wins = outputs.map((output) => JSON.parse(output) as Record<string, string>);
  for (let version = 0; version < versions; version++) {
    const winners = wins.flatMap((won) => won[version] ?? []);
    assert.equal(winners.length, 1, `version ${version} has ${winners.length} winners`);
    assert.equal(await readFile(join(folder, `_delta_log/${version}.json`), "utf8"), winners[0]);
  }
});

test("a put outlives that its folder is removed between its making and its use", async () => {
  const folder = await emptyFolder();
  for (const source of [body, { file: join(folder, "staged") }]) {
    await writeFile(join(folder, "staged"), body);
    let removals = 0;
    const removeOnce = async (path: string) => {
      if (removals++ === 0) await rm(dirname(path), { recursive: true });
    };
    const disk: Disk = {
      ...fsPromises,
      open: (async (path: string, flags: string) => {
        if (flags === "wx") await removeOnce(path);
        return fsPromises.open(path, flags);
      }) as Disk["open"],
      rename: async (from, to) => {
        if (String(from).endsWith("staged")) await removeOnce(String(to));
        return fsPromises.rename(from, to);
      },
    };
    const store = localStore(join(folder, "table"), { disk });
    await store.put("p=1/x", source, signal);
    assert.deepEqual(await store.get("p=1/x", signal), body);
    assert.equal(removals, 2, "once removed, and tried again");
  }
});
