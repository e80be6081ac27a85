/**
 * Sockets that hand over whole answers: what is left of one is read straight into the memory that it will stand in. The client's own sockets
 * make a buffer of every 64 KiB, and copy them into one when the last is there.
 */

import { connect as connectNet, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ISocketFactory } from "kafkajs";
import { type AnswerMemory, createAnswerMemory } from "./answer-memory.ts";

const READ_BYTES = 64 * 1024;
const LENGTH_BYTES = 4;
const KEEP_ALIVE_MS = 60_000;

/** What the client takes as `socketFactory`. Everything that a broker sends has its length before it, parts of a SASL exchange too. */
export function socketsWith(memory: AnswerMemory): ISocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    const assembler = answerAssembler((answer) => void socket.emit("data", answer), memory);
    const onread: OnReadOpts = {
      buffer: assembler.room,
      callback(bytesRead) {
        assembler.took(bytesRead);
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
}

/** The same, each answer in memory of its own. */
export const wholeAnswers: ISocketFactory = socketsWith(createAnswerMemory(0));

export type AnswerAssembler = {
  /** Where what comes next is to be put; as much of it as comes. */
  room(): Buffer;
  /** So many bytes were put there. */
  took(size: number): void;
};

/** Puts together what comes on a connection, and gives on each answer when it is whole, its length before it. */
export function answerAssembler(give: (answer: Buffer) => void, memory: AnswerMemory): AnswerAssembler {
  const read = Buffer.allocUnsafeSlow(READ_BYTES);
  const length = Buffer.alloc(LENGTH_BYTES);
  let answer: Buffer = length;
  let filled = 0;
  let isStraight = false;

  function copyIn(end: number): void {
    for (let at = 0; at < end; ) {
      const part = Math.min(end - at, answer.length - filled);
      read.copy(answer, filled, at, at + part);
      at += part;
      filled += part;
      if (filled === answer.length) next();
    }
  }

  /** The length is whole, or the answer behind it. */
  function next(): void {
    const size = answer === length ? length.readInt32BE(0) : 0;
    if (size > 0) {
      answer = memory.take(LENGTH_BYTES + size);
      length.copy(answer);
      return;
    }
    const whole = answer === length ? Buffer.from(length) : answer;
    answer = length;
    filled = 0;
    give(whole);
  }

  return {
    room() {
      isStraight = answer.length - filled >= READ_BYTES;
      return isStraight ? answer.subarray(filled) : read;
    },
    took(size) {
      if (!isStraight) return copyIn(size);
      filled += size;
      if (filled === answer.length) next();
    },
  };
}
