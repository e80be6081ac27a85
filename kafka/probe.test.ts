import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { findMisfit } from "./first-contact.ts";
import type { KafkaOptions, Sasl } from "./ports.ts";
import { probeListener } from "./probe.ts";

async function serverThat(
  t: TestContext,
  answer: (socket: Socket, request: Buffer) => void,
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.on("data", (request) => answer(socket, request));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The answer to a SaslHandshake, in two parts. */
function handshake(error: number, mechanisms: readonly string[]) {
  return (socket: Socket, request: Buffer) => {
    const texts = mechanisms.map((text) => Buffer.concat([Buffer.from([0, text.length]), Buffer.from(text)]));
    const body = Buffer.concat([
      request.subarray(8, 12),
      Buffer.from([0, error, 0, 0, 0, mechanisms.length]),
      ...texts,
    ]);
    socket.write(Buffer.from([0, 0, 0, body.length]));
    setImmediate(() => socket.write(body));
  };
}

test("a port in the clear tells the mechanisms it takes, or that it takes none", async (t) => {
  const sasl = await serverThat(t, handshake(33, ["PLAIN", "SCRAM-SHA-512"]));
  assert.deepEqual(await probeListener(sasl, undefined), {
    isTls: false,
    mechanisms: ["PLAIN", "SCRAM-SHA-512"],
  });
  const open = await serverThat(t, handshake(34, []));
  assert.deepEqual(await probeListener(open, undefined), { isTls: false, mechanisms: null });
});

test("what is no broker, hangs up, is silent or absent is taken for nothing", async (t) => {
  const http = await serverThat(t, (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const rude = await serverThat(t, (socket) => socket.destroy());
  const mute = await serverThat(t, () => {});
  const found = await Promise.all(
    [http, rude, mute, "127.0.0.1:1"].map((at) => probeListener(at, undefined)),
  );
  assert.deepEqual(found, [null, null, null, null]);
});

test("the first broker that answers tells what does not fit; what fits is no misfit", async (t) => {
  const at = await serverThat(t, handshake(33, ["PLAIN"]));
  const misfit = async (more: Partial<KafkaOptions>) => {
    const options = { brokers: ["127.0.0.1:1", at], clientId: "it", connectTimeoutMs: 1_000, ...more };
    return (await findMisfit(options))?.code ?? null;
  };
  const sasl = (mechanism: "PLAIN" | "SCRAM-SHA-512"): Sasl => ({ mechanism, username: "a", password: "b" });
  assert.equal(await misfit({ sasl: sasl("PLAIN") }), null);
  assert.equal(await misfit({ sasl: sasl("SCRAM-SHA-512") }), "KAFKA_DENIED");
  assert.equal(await misfit({}), "KAFKA_DENIED");
  assert.equal(await misfit({ sasl: sasl("PLAIN"), tls: { checkServerName: true } }), "KAFKA_TLS");
});
