import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { watchLifecycle } from "./lifecycle.ts";

test("the echo of a signal, as npm passes it on, is one request with it", () => {
  const life = watchLifecycle();
  process.emit("SIGINT");
  process.emit("SIGINT");
  assert.ok(life.signal.aborted, "and this process is still here");
  life.close();
});

test("a second signal ends the process at once, with status 1", async (t) => {
  const module = new URL("./lifecycle.ts", import.meta.url).href;
  const script = `const { watchLifecycle } = await import(${JSON.stringify(module)}); watchLifecycle(); setInterval(() => {}, 1000); console.log("up");`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  child.kill("SIGINT");
  // Longer than an echo takes.
  setTimeout(() => child.kill("SIGINT"), 600);
  const [status] = (await once(child, "exit")) as [number | null];
  assert.equal(status, 1);
});
