import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { spawnGuarded } from "./guard.ts";

const GUARD = new URL("./guard.ts", import.meta.url).href;
const TSX = import.meta.resolve("tsx");

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "guard-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

async function until(what: string, isTrue: () => boolean, ms = 15_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, `not within ${ms} ms: ${what}`);
    await delay(20);
  }
}

/** A parent that guards `script` (a shell script), prints its pid, and waits to be killed. */
async function parentOf(t: TestContext, script: string, termMs: number) {
  const parent = spawn(
    process.execPath,
    [
      "--import",
      TSX,
      "--input-type=module",
      "-e",
      `import { spawnGuarded } from ${JSON.stringify(GUARD)};
       const service = spawnGuarded({ command: "sh", args: ["-c", ${JSON.stringify(script)}], termMs: ${termMs} });
       console.log(service.pid);
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  t.after(() => parent.kill("SIGKILL"));
  let printed = "";
  parent.stdout.on("data", (bytes: Buffer) => {
    printed += bytes.toString();
  });
  await until("the parent prints a pid", () => printed.includes("\n"));
  return { parent, pid: Number(printed) };
}

test("kill -9 of the parent ends the service by SIGTERM", async (t) => {
  const file = join(folder(t), "seen");
  const { parent, pid } = await parentOf(
    t,
    `trap 'echo term > ${file}; exit 0' TERM; while :; do sleep 0.05; done`,
    10_000,
  );
  assert.ok(isAlive(pid));
  parent.kill("SIGKILL");
  await until("the service is gone", () => !isAlive(pid));
  assert.equal(readFileSync(file, "utf8"), "term\n");
});

test("kill -9 of the parent ends a service that ignores SIGTERM, by SIGKILL", async (t) => {
  const { parent, pid } = await parentOf(t, "trap '' TERM; while :; do sleep 0.05; done", 300);
  parent.kill("SIGKILL");
  await until("the service is gone", () => !isAlive(pid));
});

test("kill -9 of the parent ends a frozen service", async (t) => {
  const { parent, pid } = await parentOf(t, "while :; do sleep 0.05; done", 300);
  process.kill(pid, "SIGSTOP");
  parent.kill("SIGKILL");
  await until("the service is gone", () => !isAlive(pid));
});

test("stop ends the service and tells how it ended; output goes to the log", async (t) => {
  const logFile = join(folder(t), "logs", "service.log");
  const service = spawnGuarded({
    command: "sh",
    args: ["-c", "trap 'exit 7' TERM; echo out; echo err >&2; while :; do sleep 0.05; done"],
    logFile,
  });
  await until("both lines", () => readFileSync(logFile, "utf8") === "out\nerr\n");
  assert.deepEqual(await service.stop(), { code: 7, signal: null });
  assert.deepEqual(await service.stop(), { code: 7, signal: null });
});

test("stop kills a service that does not end in time", async () => {
  const service = spawnGuarded({ command: "sh", args: ["-c", "trap '' TERM; while :; do sleep 0.05; done"] });
  await delay(200);
  assert.deepEqual(await service.stop(200), { code: null, signal: "SIGKILL" });
});

test("the signal stops the service, and a signal that fired already starts none", async () => {
  const controller = new AbortController();
  const service = spawnGuarded({ command: "sleep", args: ["60"], signal: controller.signal });
  controller.abort(new Error("enough"));
  assert.deepEqual(await service.exited, { code: null, signal: "SIGTERM" });
  assert.throws(() => spawnGuarded({ command: "sleep", args: ["60"], signal: controller.signal }), /enough/);
});

test("the pid is the service's own, and a watcher does not stay behind when it ends by itself", async (t) => {
  const logFile = join(folder(t), "log");
  const service = spawnGuarded({
    command: "sh",
    args: ["-c", "echo $$; ps -o pid= --ppid $$ | tr -d ' ' | head -1"],
    logFile,
  });
  await service.exited;
  const [own, watcher] = readFileSync(logFile, "utf8").trim().split("\n").map(Number);
  assert.equal(own, service.pid);
  await until("the watcher is gone", () => !isAlive(watcher as number));
});

test("a command that does not exist ends with status 127", async () => {
  assert.equal((await spawnGuarded({ command: "/no/such/program" }).exited).code, 127);
});
