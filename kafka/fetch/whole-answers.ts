/**
 * Sockets that hand over whole answers: each is put together in one buffer of its size as it is read. The client's own sockets make a
 * buffer of every 64 KiB, and copy them into one when the last is there.
 */

import { connect as connectNet, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ISocketFactory } from "kafkajs";

const READ_BYTES = 256 * 1024;
const LENGTH_BYTES = 4;
const KEEP_ALIVE_MS = 60_000;

/** What the client takes as `socketFactory`. Everything that a broker sends has its length before it, parts of a SASL exchange too. */
export const wholeAnswers: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const take = answerAssembler((answer) => void socket.emit("data", answer));
  const onread: OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback(bytesRead, buffer) {
      take(buffer as Buffer, bytesRead);
      return true;
    },
  };
  const address = { host, port, onread };
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket: Socket = ssl
    ? connectTls({ ...address, ...name, ...ssl }, onConnect)
    : connectNet(address, onConnect);
  return socket.setKeepAlive(true, KEEP_ALIVE_MS);
};

/** Takes the bytes of a connection as they come, and gives on each answer when it is whole, its length before it. Copies what it takes. */
export function answerAssembler(give: (answer: Buffer) => void): (bytes: Buffer, end: number) => void {
  let answer = Buffer.alloc(LENGTH_BYTES);
  let filled = 0;
  return (bytes, end) => {
    for (let at = 0; at < end; ) {
      const part = Math.min(end - at, answer.length - filled);
      bytes.copy(answer, filled, at, at + part);
      at += part;
      filled += part;
      if (filled < answer.length) return;
      const length = filled === LENGTH_BYTES ? answer.readInt32BE(0) : 0;
      if (length > 0) {
        const whole = Buffer.allocUnsafeSlow(LENGTH_BYTES + length);
        answer.copy(whole);
        answer = whole;
      } else {
        give(answer);
        answer = Buffer.alloc(LENGTH_BYTES);
        filled = 0;
      }
    }
  };
}
