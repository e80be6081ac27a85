import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isLabError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { type ChildOptions, childPart } from "./child.ts";
import { isAlive } from "./process-identity.ts";
import { readRunFiles } from "./run-file.ts";
import { createSupervisor, type PartStatus } from "./supervisor.ts";

/** A part of the lab in plain JavaScript: serves /readyz, writes its run file, notes its end. */
const PART = `
  import { createServer } from "node:http";
  import { appendFileSync, writeFileSync } from "node:fs";
  const { LAB_RUN_FILE, NAME, NOTES, BEHAVIOUR } = process.env;
  const note = (what) => appendFileSync(NOTES, NAME + " " + what + "\\n");
  const file = { name: NAME, kind: "test", pid: process.pid, startedAt: new Date().toISOString(), opsPort: null };
  if (BEHAVIOUR === "refuses") {
    writeFileSync(LAB_RUN_FILE, JSON.stringify({ ...file, error: { code: "TOPIC_MISSING", message: "no topic x", hint: "make it" } }));
    process.exit(2);
  }
  if (BEHAVIOUR === "gives in") setTimeout(() => {
    writeFileSync(LAB_RUN_FILE, JSON.stringify({ ...file, error: { code: "TOPIC_RESET", message: "made anew", hint: "skip it" } }));
    process.exit(1);
  }, 300);
  if (BEHAVIOUR === "crashes") { console.error("what a mess"); process.exit(1); }
  if (BEHAVIOUR === "finishes") setTimeout(() => process.exit(0), 300);
  const server = createServer((_, reply) => reply.writeHead(BEHAVIOUR === "never ready" ? 503 : 200).end());
  server.listen(0, "127.0.0.1", () => {
    note("starts");
    writeFileSync(LAB_RUN_FILE, JSON.stringify({ ...file, opsPort: server.address().port, address: "here" }));
  });
  process.on("SIGTERM", () => {
    if (BEHAVIOUR === "stubborn") return;
    setTimeout(() => { note("ends"); process.exit(0); }, 100);
  });
  process.stdin.on("end", () => process.exit(0)).resume();
`;

async function lab(t: TestContext) {
  const dataDir = await mkdtemp(join(tmpdir(), "supervisor-"));
  const script = join(dataDir, "part.mjs");
  await writeFile(script, PART);
  const notes = join(dataDir, "notes");
  const changes: PartStatus[] = [];
  const supervisor = createSupervisor({ log: silentLog, onChange: (status) => changes.push(status) });
  t.after(async () => {
    await supervisor.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const part = (name: string, behaviour = "works", more: Partial<ChildOptions> = {}) =>
    childPart({
      ...{ name, kind: "test", command: process.execPath, args: [script], dataDir },
      env: { NAME: name, NOTES: notes, BEHAVIOUR: behaviour },
      ...more,
    });
  const readNotes = () => (existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : []);
  return { dataDir, script, notes, supervisor, part, changes, readNotes };
}

async function until(what: string, isTrue: () => boolean, ms = 20_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, `not within ${ms} ms: ${what}`);
    await delay(20);
  }
}

test("parts that belong together are asked to end at the same time, in their turn", async (t) => {
  const { supervisor, part, changes } = await lab(t);
  await supervisor.start(part("broker"));
  const many = ["a", "b", "c"].map((name) => part(name, "works", { together: "ingest" }));
  await Promise.all(many.map((one) => supervisor.start(one)));
  await supervisor.start(part("produce"));
  changes.length = 0;
  const after: string[] = [];
  await supervisor.stop(async (name) => void after.push(name));
  const told = changes.map(({ name, state }) => `${name} ${state}`);
  assert.deepEqual(told.slice(0, 2), ["produce stopping", "produce stopped"]);
  assert.deepEqual(told.slice(2, 5), ["c stopping", "b stopping", "a stopping"]);
  assert.deepEqual(told.slice(-2), ["broker stopping", "broker stopped"]);
  assert.deepEqual(after, ["produce", "c", "b", "a", "broker"]);
});

test("parts start in order, each ready before the next, and stop in reverse, each ended before the next", async (t) => {
  const { supervisor, part, readNotes, dataDir } = await lab(t);
  for (const name of ["broker", "ingest", "produce"]) {
    const running = await supervisor.start(part(name));
    assert.equal(running.address, "here");
    assert.ok(running.pid !== null && isAlive(running.pid));
  }
  assert.deepEqual(
    (await readRunFiles(dataDir)).map(({ name, pid }) => [name, pid]),
    supervisor.parts().map(({ name, pid }) => [name, pid]),
  );
  await supervisor.stop();
  const starts = ["broker starts", "ingest starts", "produce starts"];
  assert.deepEqual(readNotes(), [...starts, "produce ends", "ingest ends", "broker ends"]);
  assert.deepEqual(
    supervisor.parts().map(({ state, pid }) => [state, pid]),
    Array(3).fill(["stopped", null]),
  );
  assert.deepEqual(await readRunFiles(dataDir), []);
  assert.deepEqual((await readdir(join(dataDir, "logs"))).sort(), [
    "broker.log",
    "ingest.log",
    "produce.log",
  ]);
});

test("a child that is killed comes back with another pid, and the others stay", async (t) => {
  const { supervisor, part, changes } = await lab(t);
  const other = await supervisor.start(part("other"));
  const { pid } = await supervisor.start(part("victim"));
  process.kill(pid as number, "SIGKILL");
  const victim = () => supervisor.parts()[1] as PartStatus;
  await until("the victim is back", () => victim().state === "ready" && victim().pid !== pid);
  assert.equal(victim().restarts, 1);
  assert.equal(victim().lastEnd, "killed by SIGKILL");
  assert.equal(supervisor.parts()[0]?.pid, other.pid);
  const states = changes.filter(({ name }) => name === "victim").map(({ state }) => state);
  assert.deepEqual(states, ["starting", "ready", "restarting", "ready"]);
});

test("a part that is held ends and stays down until it is let go, then it is back; one that is removed is gone", async (t) => {
  const { supervisor, part, changes } = await lab(t);
  const before = await supervisor.start(part("a"));
  await supervisor.start(part("b"));
  const release = await supervisor.hold("a");
  const stateOf = (name: string) => supervisor.parts().find((one) => one.name === name)?.state;
  await until("held", () => stateOf("a") === "held");
  assert.equal(isAlive(before.pid!), false);
  await assert.rejects(supervisor.hold("a"), (error) => isLabError(error, "SERVICE_FAILED"));
  release();
  await until("ready again", () => stateOf("a") === "ready");
  const after = supervisor.parts()[0]!;
  assert.notEqual(after.pid, before.pid);
  assert.equal(after.restarts, 1);
  await supervisor.remove("b");
  assert.deepEqual(
    supervisor.parts().map(({ name }) => name),
    ["a"],
  );
  assert.equal(changes.filter(({ name, state }) => name === "b" && state === "restarting").length, 0);
  await supervisor.hold("a");
  // The test's end stops the supervisor: a part that is held must not stand in the way.
});

test("a child that does not end by SIGTERM is killed at its deadline", async (t) => {
  const { supervisor, part } = await lab(t);
  const { pid } = await supervisor.start(part("stubborn", "stubborn", { stopMs: 300 }));
  await supervisor.stop();
  assert.equal(isAlive(pid as number), false);
});

test("a finite part that ends with status 0 is done and stays away", async (t) => {
  const { supervisor, part } = await lab(t);
  await supervisor.start(part("producer", "finishes", { finite: true }));
  await until("it is done", () => supervisor.parts()[0]?.state === "done");
  await delay(500);
  assert.deepEqual(supervisor.parts()[0]?.restarts, 0);
});

test("a child that says why it ended, and that no restart mends, is soon given up with its reason and its hint", async (t) => {
  const { supervisor, part } = await lab(t);
  await supervisor.start(part("ingest", "gives in"));
  const status = () => supervisor.parts()[0] as PartStatus;
  await until("it is given up", () => status().state === "failed");
  assert.equal(status().restarts, 2);
  assert.match(status().lastEnd ?? "", /TOPIC_RESET: .*made anew; it ended so 3 times in a row$/);
  assert.equal(status().lastHint, "skip it");
});

test("the error of a child that cannot start is passed on with code and hint", async (t) => {
  const { supervisor, part } = await lab(t);
  await assert.rejects(supervisor.start(part("ingest", "refuses")), (error) => {
    assert.ok(isLabError(error, "TOPIC_MISSING"));
    assert.equal(error.message, "ingest: no topic x");
    assert.equal(error.hint, "make it");
    return true;
  });
});

test("a child that dies without a word, or is never ready, fails with the end of its log", async (t) => {
  const { supervisor, part, dataDir } = await lab(t);
  await assert.rejects(supervisor.start(part("crash", "crashes")), (error) => {
    assert.ok(isLabError(error, "SERVICE_FAILED"));
    assert.equal(error.message, "crash ended before it was ready (exit 1)");
    assert.deepEqual(error.details.log, ["what a mess"]);
    assert.ok(error.hint?.includes(join(dataDir, "logs", "crash.log")));
    return true;
  });
  await assert.rejects(
    supervisor.start(part("slow", "never ready", { readyMs: 500 })),
    (error) => isLabError(error, "SERVICE_FAILED") && error.message === "slow was not ready within 0.5 s",
  );
});

test("stop while a part starts gives the start up and leaves no process", async (t) => {
  const { supervisor, part, readNotes } = await lab(t);
  const starting = supervisor.start(part("slow", "never ready"));
  await until("it runs", () => readNotes().includes("slow starts"));
  void supervisor.stop();
  await assert.rejects(starting, /the lab stops/);
});

test("the signal of a start never reaches a part that is ready: it stops in its turn", async (t) => {
  const { supervisor, part } = await lab(t);
  let isAborted = false;
  let stopped = () => {};
  const exited = new Promise<{ code: number; signal: null }>((resolve) => {
    stopped = () => resolve({ code: 0, signal: null });
  });
  await supervisor.start({
    ...{ name: "broker", kind: "test", finite: false },
    async start(signal) {
      signal.addEventListener("abort", () => {
        isAborted = true;
      });
      return { pid: null, address: null, exited, stop: async () => stopped() };
    },
  });
  await supervisor.start(part("ingest"));
  let wasAborted: boolean | undefined;
  await supervisor.stop(async (name) => {
    if (name === "ingest") wasAborted = isAborted;
  });
  assert.deepEqual([wasAborted, isAborted], [false, false]);
});

test("kill -9 of the supervisor leaves no child behind, not even a frozen or a deaf one", async (t) => {
  const { dataDir, script, notes, readNotes } = await lab(t);
  const names = ["works", "frozen", "stubborn"];
  const source = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const script2 = `
    import { childPart } from ${source("./child.ts")};
    import { createSupervisor } from ${source("./supervisor.ts")};
    import { silentLog } from ${source("../core/log.ts")};
    const supervisor = createSupervisor({ log: silentLog });
    for (const name of ${JSON.stringify(names)}) {
      const env = { NAME: name, NOTES: ${JSON.stringify(notes)}, BEHAVIOUR: name };
      const where = { command: process.execPath, args: [${JSON.stringify(script)}], dataDir: ${JSON.stringify(dataDir)} };
      await supervisor.start(childPart({ name, kind: "test", env, stopMs: 1000, ...where }));
    }
    console.log(JSON.stringify(supervisor.parts().map((part) => part.pid)));`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", script2];
  const parent = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => parent.kill("SIGKILL"));
  const [printed] = (await once(parent.stdout, "data")) as [Buffer];
  const pids = JSON.parse(printed.toString()) as number[];
  assert.equal(readNotes().length, 3);
  process.kill(pids[1] as number, "SIGSTOP");
  parent.kill("SIGKILL");
  await until("all children are gone", () => !pids.some(isAlive));
});
