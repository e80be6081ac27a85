/** How letters look: lists for people, documents for programs, bytes as text or as a dump. */

import type { LetterContent, LetterKind, LetterLine } from "../letters/list.ts";
import type { ReplayResult } from "../letters/replay.ts";
import { momentText } from "../query/dates.ts";
import { count, listing, moment, plural, size } from "./lines.ts";
import type { Screen } from "./screen.ts";

/** What `lab dlq list --json` prints for a letter. */
export function letterDocument(letter: LetterLine): object {
  const time = (ms: number | null) => (ms === null ? null : momentText(ms));
  return {
    topic: letter.topic,
    partition: letter.partition,
    offset: letter.offset.toString(),
    timestamp: time(letter.timestampMs),
    stage: letter.stage,
    code: letter.code,
    message: letter.message,
    attempt: letter.attempt,
    firstAt: time(letter.firstAtMs),
    lastAt: time(letter.lastAtMs),
    state: letter.state,
    version: letter.version?.toString() ?? null,
    stateAt: time(letter.stateAtMs),
  };
}

/** The same with key, value and headers; bytes as base64. */
export function contentDocument(letter: LetterContent): object {
  const base64 = (bytes: Uint8Array | null) =>
    bytes === null ? null : Buffer.from(bytes).toString("base64");
  return {
    ...letterDocument(letter),
    key: base64(letter.key),
    value: base64(letter.value),
    headers: letter.headers.map(([key, value]) => ({ key, value: base64(value) })),
  };
}

export function lettersPage(letters: readonly LetterLine[], screen: Screen): string {
  const heads = [
    { name: "record" },
    { name: "since" },
    { name: "attempt", right: true },
    { name: "stage" },
    { name: "code" },
    { name: letters.some(({ state }) => state !== "open") ? "state" : "" },
    { name: "message" },
  ];
  const rows = letters.map((letter) => [
    `${letter.topic}-${letter.partition}:${letter.offset}`,
    moment(momentText(letter.firstAtMs)),
    count(letter.attempt),
    letter.stage,
    letter.code,
    heads[5]!.name === "" ? "" : letter.state,
    letter.message,
  ]);
  return listing({ heads, rows }, screen);
}

export function kindsPage(kinds: readonly LetterKind[], screen: Screen): string {
  const heads = [
    { name: "letters", right: true },
    { name: "topic" },
    { name: "stage" },
    { name: "code" },
    { name: "state" },
  ];
  const rows = kinds.map((kind) => [count(kind.letters), kind.topic, kind.stage, kind.code, kind.state]);
  return listing({ heads, rows }, screen);
}

export function contentPage(letter: LetterContent, screen: Screen): string {
  const { bold } = screen.outColors;
  const time = (ms: number | null) => (ms === null ? "none that can be stored" : momentText(ms));
  const state =
    letter.state === "open"
      ? "open"
      : `${letter.state}${letter.version === null ? "" : ` in version ${count(letter.version)}`}, ${time(letter.stateAtMs)}`;
  const lines = [
    bold(`${letter.topic}-${letter.partition} offset ${letter.offset}`),
    `state    ${state}`,
    `error    ${letter.message} (${letter.stage}, ${letter.code})`,
    `attempt  ${letter.attempt}, ${time(letter.lastAtMs)}; the first ${time(letter.firstAtMs)}`,
    `time     ${time(letter.timestampMs)}`,
    `key      ${inline(letter.key)}`,
    ...letter.headers.map(([name, value]) => `header   ${printable(name)}: ${inline(value)}`),
    `value    ${letter.value === null ? "null" : size(letter.value.length)}`,
    ...(letter.value === null ? [] : bytesLines(letter.value)),
  ];
  return lines.join("\n");
}

export function replayPage(name: string, result: ReplayResult, isDryRun: boolean, screen: Screen): string {
  const { version, replayed, rows, present, filtered, bad, pending, reasons } = result;
  const would = isDryRun ? "would be " : "";
  const parts = [
    `${plural(replayed, "letter")} ${would}replayed as ${plural(rows, "row")}${version === null ? "" : `, version ${count(version)}`}`,
  ];
  if (present > 0) parts.push(`${count(present)} in the table already`);
  if (filtered > 0)
    parts.push(`${count(filtered)} left out (by the transform, or without a value) and ${would}dropped`);
  if (bad > 0) parts.push(`${count(bad)} still bad`);
  if (pending > 0)
    parts.push(`${count(pending)} not settled yet: their ingester (--app) has to run once more before`);
  const lines = [`${name}: ${parts.join("; ")}`];
  if (reasons.length > 0) {
    const heads = [
      { name: "letters", right: true },
      { name: "stage" },
      { name: "code" },
      { name: "such as" },
    ];
    const shown = reasons.map((one) => [count(one.letters), one.stage, one.code, one.example]);
    lines.push(listing({ heads, rows: shown }, screen));
  }
  return lines.join("\n");
}

const MOST_BYTES = 4096;
const PER_LINE = 16;

/** Text where it is text, else a dump; the first 4 KiB of it. */
export function bytesLines(bytes: Uint8Array): string[] {
  const shown = bytes.subarray(0, MOST_BYTES);
  const text = textOf(shown);
  const lines = text === null ? dump(shown) : text.split("\n").map(printable);
  const left = bytes.length - shown.length;
  return left > 0 ? [...lines, `+${size(left)} more: --json has them all`] : lines;
}

function inline(bytes: Uint8Array | null): string {
  if (bytes === null) return "null";
  const text = textOf(bytes);
  return text === null ? `0x${Buffer.from(bytes).toString("hex")}` : printable(text);
}

/** Null for what is no UTF-8; a character that was cut at the end is left out. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: bytes.length === MOST_BYTES,
    });
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** A terminal must not obey what a message says. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (char) =>
    char === "\t" ? char : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}

function dump(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += PER_LINE) {
    const some = Buffer.from(bytes.subarray(at, at + PER_LINE));
    const hex = [...some].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = some.toString("latin1").replaceAll(/[^\x20-\x7e]/g, ".");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(PER_LINE * 3 - 1)}  ${text}`);
  }
  return lines;
}
