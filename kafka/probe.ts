/** What a broker's port speaks, found out without a secret: the client tells a wrong protocol only as silence or a closed connection. */

import { connect as connectPlain, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { Tls } from "./ports.ts";

export type Listener = {
  isTls: boolean;
  /** SASL mechanisms it offers; null where it takes no SASL, undefined where it would not say. */
  mechanisms: readonly string[] | null | undefined;
};

const LIMIT_MS = 2_000;
const ILLEGAL_SASL_STATE = 34;

/** Null where nothing answers at `HOST:PORT`. A client certificate is shown where there is one: some brokers answer nobody without. */
export async function probeListener(address: string, client: Tls["client"]): Promise<Listener | null> {
  const at = address.lastIndexOf(":");
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, "$1");
  const port = Number(address.slice(at + 1));
  const plain = await ask((ready) => {
    const socket = connectPlain({ host, port }, () => ready(socket));
    return socket;
  });
  if (plain.answer !== undefined) return { isTls: false, mechanisms: plain.answer };
  if (!plain.isConnected) return null;
  const tls = await ask((ready) => {
    // Nothing is told to whoever this is, so it need not be trusted.
    const socket = connectTls({ host, port, rejectUnauthorized: false, ...client }, () => ready(socket));
    return socket;
  });
  return tls.isConnected ? { isTls: true, mechanisms: tls.answer } : null;
}

type Asked = { isConnected: boolean; answer: readonly string[] | null | undefined };

/** Asks for the mechanisms once the connection stands. */
async function ask(open: (ready: (socket: Socket) => void) => Socket): Promise<Asked> {
  const found: Asked = { isConnected: false, answer: undefined };
  let socket: Socket | null = null;
  const asked = new Promise<void>((resolve) => {
    let received = Buffer.alloc(0);
    socket = open((ready) => {
      found.isConnected = true;
      ready.write(HANDSHAKE);
    });
    socket.on("data", (part: Buffer) => {
      received = Buffer.concat([received, part]);
      const answer = readAnswer(received);
      if (answer === "more") return;
      found.answer = answer;
      resolve();
    });
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
  });
  const timer = new AbortController();
  await Promise.race([asked, delay(LIMIT_MS, undefined, { signal: timer.signal }).catch(() => {})]);
  timer.abort();
  (socket as Socket | null)?.destroy();
  return found;
}

const CORRELATION = 1;
/** SaslHandshake, version 1, of a mechanism that nobody has: the answer lists those that there are. */
const HANDSHAKE = request(17, 1, "lab", "?");

function request(apiKey: number, version: number, clientId: string, mechanism: string): Buffer {
  const text = (value: string) => {
    const length = Buffer.alloc(2);
    length.writeInt16BE(value.length);
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const head = Buffer.alloc(8);
  head.writeInt16BE(apiKey, 0);
  head.writeInt16BE(version, 2);
  head.writeInt32BE(CORRELATION, 4);
  const body = Buffer.concat([head, text(clientId), text(mechanism)]);
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}

const LONGEST_ANSWER = 4096;

/** Undefined for what is no Kafka answer, such as a TLS alert. */
function readAnswer(bytes: Buffer): readonly string[] | null | undefined | "more" {
  if (bytes.length < 8) return "more";
  const size = bytes.readInt32BE(0);
  if (size < 10 || size > LONGEST_ANSWER || bytes.readInt32BE(4) !== CORRELATION) return undefined;
  if (bytes.length < 4 + size) return "more";
  if (bytes.readInt16BE(8) === ILLEGAL_SASL_STATE) return null;
  const mechanisms: string[] = [];
  let at = 14;
  for (let left = bytes.readInt32BE(10); left > 0 && at + 2 <= bytes.length; left--) {
    const end = at + 2 + bytes.readInt16BE(at);
    mechanisms.push(bytes.toString("utf8", at + 2, end));
    at = end;
  }
  return mechanisms;
}
