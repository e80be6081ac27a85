/**
 * What our producers say of each message, in its headers: `lab-seq`, its place in what the producer sent, and `lab-audit`, by which windows of
 * event time are counted. Imports nothing of ours.
 */

import { crc32 } from "node:zlib";

export const SEQUENCE_HEADER = "lab-seq";

export type Sequence = { origin: string; n: number };

/** `origin:n`; `origin` may hold anything but a line break. */
export function encodeSequence({ origin, n }: Sequence): string {
  return `${origin}:${n}`;
}

/** Null for text that is no such header. */
export function decodeSequence(text: string): Sequence | null {
  const match = /^(.+):(\d{1,15})$/.exec(text);
  return match?.[1] === undefined ? null : { origin: match[1], n: Number(match[2]) };
}

export const AUDIT_HEADER = "lab-audit";

/** Windows of event time that are counted: tumbling, in UTC, from `k * WINDOW_MS` inclusive to the next exclusive. In ms. */
export const WINDOW_MS = 5 * 60_000;

/** Start of the window that an event time is in, in ms. */
export const windowOf = (eventTimeMs: number) => Math.floor(eventTimeMs / WINDOW_MS) * WINDOW_MS;

/** What a message says of itself. */
export type Stamp = {
  /** Who sends, across restarts. */
  origin: string;
  /** When this run of the origin began, in ms: a restart counts anew. */
  epoch: number;
  host: string;
  eventTimeMs: number;
  /** Place in what the run sends to the topic, from 0. */
  sequence: number;
  /** Place in what it sends of the event's window, from 0. */
  windowSequence: number;
};

/** The run that messages without a stamp are of. */
export const UNSTAMPED: Pick<Stamp, "origin" | "epoch"> = { origin: "", epoch: 0 };

/** Version 1 of the header's schema. It never changes: another version has another fingerprint. */
export const STAMP_SCHEMA = {
  type: "record",
  name: "Stamp",
  namespace: "lab.audit.v1",
  fields: [
    { name: "origin", type: "string" },
    { name: "epoch", type: "long" },
    { name: "host", type: "string" },
    { name: "eventTime", type: "long" },
    { name: "sequence", type: "long" },
    { name: "windowSequence", type: "long" },
  ],
} as const;

/** Marker of Avro's single-object encoding, and the CRC-64-AVRO of `STAMP_SCHEMA`, little-endian. */
export const STAMP_PREFIX = Buffer.from("c301aae61f0eec83b047", "hex");

/** The header's value: Avro's single-object encoding of `STAMP_SCHEMA` ("Single-object encoding" of the specification). */
export function encodeStamp(stamp: Stamp): Buffer {
  const bytes = [...STAMP_PREFIX];
  pushRun(bytes, stamp);
  pushText(bytes, stamp.host);
  pushLong(bytes, stamp.eventTimeMs);
  pushLong(bytes, stamp.sequence);
  pushLong(bytes, stamp.windowSequence);
  return Buffer.from(bytes);
}

/** The bytes that all stamps of a run begin with, and those of no other run. */
export function encodeRun(run: Pick<Stamp, "origin" | "epoch">): Buffer {
  const bytes = [...STAMP_PREFIX];
  pushRun(bytes, run);
  return Buffer.from(bytes);
}

function pushRun(bytes: number[], { origin, epoch }: Pick<Stamp, "origin" | "epoch">): void {
  pushText(bytes, origin);
  pushLong(bytes, epoch);
}

function pushLong(bytes: number[], value: number): void {
  // Zigzag without 32-bit operators: times are beyond them.
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

function pushText(bytes: number[], value: string): void {
  const encoded = Buffer.from(value);
  pushLong(bytes, encoded.length);
  bytes.push(...encoded);
}

/** Null for bytes that are no such header, or of a version that is not known here. */
export function decodeStamp(bytes: Uint8Array): Stamp | null {
  for (let i = 0; i < STAMP_PREFIX.length; i++) if (bytes[i] !== STAMP_PREFIX[i]) return null;
  let at = STAMP_PREFIX.length;
  const origin = text();
  const epoch = long();
  const host = text();
  const stamp = { origin, epoch, host, eventTimeMs: long(), sequence: long(), windowSequence: long() };
  // A number that ran over the end is NaN, and so is what came after it.
  const isWhole = at === bytes.length && origin !== "" && Number.isSafeInteger(stamp.windowSequence);
  return isWhole && stamp.sequence >= 0 && stamp.windowSequence >= 0 ? stamp : null;

  function long(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? Number.NaN;
      value += (byte % 128) * scale;
      if (!(byte > 127)) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }

  function text(): string {
    const length = long();
    if (!(length >= 0 && at + length <= bytes.length)) {
      at = Number.NaN;
      return "";
    }
    const found = Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString();
    at += length;
    return found;
  }
}

/** Checksums of messages are added up modulo this. */
const CHECKSUM_MODULUS = 2 ** 52;

/** What a message adds to its window's checksum: content and place, so that two that swap their places show. */
export function messageChecksum(windowSequence: number, value: Uint8Array | string | null): number {
  const seed = windowSequence % 2 ** 32;
  // No value is not the same as one without bytes.
  return value === null ? crc32("null", seed) : crc32(value, seed);
}

/** The sum of two checksums; in any order it is the same. */
export const addChecksums = (a: number, b: number) => (a + b) % CHECKSUM_MODULUS;

/** What added to it gives 0. */
export const negativeChecksum = (checksum: number) => (CHECKSUM_MODULUS - checksum) % CHECKSUM_MODULUS;
