import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { lockFolder, lockOwner, requireNoLab } from "./folder-lock.ts";

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lock-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A process that takes the lock of `path` when it is told to, says whether it got it, and stays. */
async function rival(t: TestContext, path: string) {
  const script = `
    import { lockFolder } from ${JSON.stringify(new URL("./folder-lock.ts", import.meta.url).href)};
    process.stdout.write("ready\\n");
    process.stdin.once("data", () => {
      lockFolder(${JSON.stringify(path)}).then(() => console.log("got"), (error) => console.log(error.code ?? error));
    });`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const answer = async () => {
    const [bytes] = (await once(child.stdout, "data")) as [Buffer];
    return bytes.toString().trim();
  };
  return { child, answer, go: () => child.stdin.write("go\n") };
}

const staleLock = (pid: number) =>
  JSON.stringify({ pid, startedAt: "", command: "node bin/lab.js up", token: "x" });

test("a data folder that is a file, or is to lie in one, is refused with its name and a way out", async (t) => {
  const file = join(await folder(t), "file");
  await writeFile(file, "");
  for (const path of [file, join(file, "data")])
    await assert.rejects(
      lockFolder(path),
      (error) =>
        isLabError(error, "STORE_DENIED") &&
        error.message.includes(`${path} cannot be used: a file stands`) &&
        /--data/.test(error.hint ?? ""),
    );
});

const NOBODY = 65_534;

/** Root may write anywhere, so meanwhile this process is somebody else. */
async function withoutRights(work: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid!(NOBODY);
  try {
    await work();
  } finally {
    process.seteuid!(0);
  }
}

test("a data folder that may not be written to is refused with its name and a way out", async (t) => {
  const path = await folder(t);
  await chmod(path, 0o500);
  await withoutRights(async () => {
    for (const dataDir of [path, join(path, "data")])
      await assert.rejects(
        lockFolder(dataDir),
        (error) =>
          isLabError(error, "STORE_DENIED") &&
          error.message.includes(
            `${dataDir} cannot be used: it cannot be made, or not be written to (EACCES)`,
          ),
      );
  });
});

test("the second lab on a folder is refused and told the pid of the first; a released lock is free", async (t) => {
  const path = await folder(t);
  const lock = await lockFolder(path);
  assert.equal((await lockOwner(path))?.pid, process.pid);
  for (const attempt of [() => lockFolder(path), () => requireNoLab(path)]) {
    await assert.rejects(
      attempt(),
      (error) => isLabError(error, "LAB_RUNNING") && error.message.includes(`pid ${process.pid}`),
    );
  }
  await lock.release();
  assert.equal(await lockOwner(path), null);
  await (await lockFolder(path)).release();
  assert.deepEqual(await readdir(path), []);
});

test("the lock of a process that was killed heals", async (t) => {
  const path = await folder(t);
  const owner = await rival(t, path);
  owner.go();
  assert.equal(await owner.answer(), "got");
  await assert.rejects(lockFolder(path), (error) => isLabError(error, "LAB_RUNNING"));
  owner.child.kill("SIGKILL");
  await once(owner.child, "exit");
  await (await lockFolder(path)).release();
});

test("a pid that is now another process's does not keep the lock, nor does a file that is no lock", async (t) => {
  const path = await folder(t);
  for (const content of [staleLock(process.ppid), "", "{", "[]", '{"pid":"1"}']) {
    await writeFile(join(path, "lab.lock"), content);
    await (await lockFolder(path)).release();
  }
});

test("of many that find the same stale lock at once exactly one gets it", async (t) => {
  const path = await folder(t);
  await writeFile(join(path, "lab.lock"), staleLock(999_999_999));
  const rivals = await Promise.all(Array.from({ length: 5 }, () => rival(t, path)));
  const answers = rivals.map((one) => one.answer());
  for (const one of rivals) one.go();
  const got = (await Promise.all(answers)).sort();
  assert.deepEqual(got, ["LAB_RUNNING", "LAB_RUNNING", "LAB_RUNNING", "LAB_RUNNING", "got"]);
});
