import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { Registry } from "prom-client";
import { serveOps } from "../core/ops.ts";
import { until } from "../test/support/until.ts";
import { processOrders } from "./process-orders.ts";

const ON = { LAB_CHAOS: "1", LAB_CHAOS_TOKEN: "secret" };

async function served(t: TestContext, env: NodeJS.ProcessEnv, pid?: number) {
  const told = processOrders(env, pid);
  const source = { isHealthy: () => true, isReady: () => true, state: () => ({}), registry: new Registry() };
  const server = await serveOps({ ...source, ...told }, 0);
  t.after(() => server.close());
  const post = async (order: string, body: unknown, token = "secret") => {
    const reply = await fetch(`http://127.0.0.1:${server.port}/do/${order}`, {
      method: "POST",
      headers: { "x-lab-token": token },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status: reply.status, text: await reply.text() };
  };
  return { told, post };
}

test("where chaos is off, or has no token, nothing can be told", async (t) => {
  for (const env of [{}, { LAB_CHAOS: "1" }, { LAB_CHAOS_TOKEN: "secret" }, { ...ON, LAB_CHAOS: "0" }]) {
    const { told, post } = await served(t, env);
    assert.equal((await post("arm", { step: "after-upload" })).status, 404);
    assert.equal(told.isArmed("after-upload"), false);
  }
});

test("a failpoint is armed by whom has the token, and only one that there is", async (t) => {
  const { told, post } = await served(t, ON);
  assert.equal((await post("arm", { step: "after-upload" }, "wrong")).status, 403);
  const bad = await post("arm", { step: "never" });
  assert.deepEqual([bad.status, JSON.parse(bad.text).code], [400, "REQUEST_INVALID"]);
  assert.equal((await post("arm", "{")).status, 400);
  assert.equal((await post("explode", {})).status, 400);
  assert.equal(told.isArmed("after-upload"), false);
  const done = await post("arm", { step: "after-upload" });
  assert.deepEqual([done.status, JSON.parse(done.text)], [200, { pid: process.pid }]);
  assert.deepEqual([told.isArmed("after-upload"), told.isArmed("after-commit")], [true, false]);
});

test("a frozen process stands still and goes on by itself", async (t) => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  const { post } = await served(t, ON, child.pid);
  const state = async () => (await readFile(`/proc/${child.pid}/stat`, "utf8")).split(") ")[1]?.[0];
  await post("freeze", { seconds: 1 });
  await until("frozen", async () => (await state()) === "T", { everyMs: 20 });
  await until("thawed", async () => (await state()) !== "T");
});
