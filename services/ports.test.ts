import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { parseBrokers, reachBrokers } from "./kafka-address.ts";
import { canConnect, freePort, isPortFree, portHolder, requireFreePort } from "./ports.ts";

const signal = new AbortController().signal;

async function listening(t: TestContext, host = "127.0.0.1"): Promise<number> {
  const server: Server = createServer((socket) => socket.destroy()).listen(0, host);
  t.after(() => server.close());
  await once(server, "listening");
  return (server.address() as { port: number }).port;
}

test("a free port is free, and a taken one is named with its holder", async (t) => {
  assert.ok(await isPortFree(await freePort()));
  const port = await listening(t);
  assert.equal(await isPortFree(port), false);
  assert.equal((await portHolder(port))?.pid, process.pid);
  await assert.rejects(
    requireFreePort(port, "stop it"),
    (error) =>
      isLabError(error, "PORT_TAKEN") &&
      error.message.startsWith(`port ${port} is in use by `) &&
      error.message.endsWith(`(pid ${process.pid})`) &&
      error.hint === "stop it",
  );
});

test("a port that is taken on all addresses is not free on loopback", async (t) => {
  assert.equal(await isPortFree(await listening(t, "0.0.0.0")), false);
});

test("a connection is tried within its time, and given up when the signal fires", async (t) => {
  assert.ok(await canConnect("127.0.0.1", await listening(t), 1000, signal));
  assert.equal(await canConnect("127.0.0.1", await freePort(), 1000, signal), false);
  const aborted = AbortSignal.abort(new Error("enough"));
  await assert.rejects(canConnect("127.0.0.1", 1, 1000, aborted), /enough/);
});

test("addresses of brokers are read, and what is none is refused by name", () => {
  assert.deepEqual(parseBrokers("localhost:9092, [::1]:19092"), [
    { host: "localhost", port: 9092 },
    { host: "::1", port: 19092 },
  ]);
  for (const wrong of [
    "localhost",
    "localhost:",
    "localhost:0",
    "localhost:70000",
    "http://a:1",
    "",
    "a:1,,b:2",
  ]) {
    assert.throws(
      () => parseBrokers(wrong),
      (error) => isLabError(error, "CONFIG_INVALID"),
      wrong,
    );
  }
});

test("an address counts as reached when one of its brokers answers", async (t) => {
  const open = `127.0.0.1:${await listening(t)}`;
  const shut = `127.0.0.1:${await freePort()}`;
  assert.deepEqual(await reachBrokers(`${shut},${open}`, 1000, signal), [shut, open]);
  await assert.rejects(
    reachBrokers(shut, 300, signal),
    (error) =>
      isLabError(error, "BROKER_UNREACHABLE") && error.message.includes(shut) && error.hint !== undefined,
  );
});
