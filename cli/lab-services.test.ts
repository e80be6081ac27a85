import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "../core/log.ts";
import { createSupervisor } from "../services/supervisor.ts";
import { kafkaPart } from "./lab-services.ts";

test("a lab on somebody else's broker stops, and leaves the broker alone", { timeout: 20_000 }, async (t) => {
  const data = await mkdtemp(join(tmpdir(), "lab-services-"));
  t.after(() => rm(data, { recursive: true, force: true }));
  const server = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const choice = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const supervisor = createSupervisor({ log: silentLog });
  const kafka = kafkaPart({ choice, data, port: null, connectTimeoutMs: 5_000, log: silentLog });
  const running = await supervisor.start(kafka.part);
  assert.equal(running.address, choice);
  await supervisor.stop();
  assert.equal(supervisor.parts()[0]?.state, "stopped");
  assert.ok(server.listening);
});
