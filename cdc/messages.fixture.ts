/** Messages in, and what a decoder makes of them, in a form that reads well in a test. */

import type { Change } from "./change.ts";
import type { ChangeDecoder, DecodedChange } from "./decoder.ts";

export type Told = {
  key?: unknown;
  value?: unknown;
  headers?: Record<string, string>;
  partition?: number;
  offset?: number;
};

const bytes = (value: unknown) =>
  value === null || value === undefined
    ? null
    : Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

/** Texts are sent as they are, everything else as JSON. */
export function decodeWith(
  decoder: ChangeDecoder,
  { key, value, headers = {}, partition = 0, offset = 0 }: Told,
): DecodedChange {
  return decoder.decode({
    ...{
      partition,
      offset: BigInt(offset),
      generation: 0,
      timestampMs: 0,
      key: bytes(key),
      value: bytes(value),
    },
    headers: Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)] as const),
  });
}

/** `upsert [1] {"id":1}`, with what is absent; or why it is no change. */
export function shown(decoded: DecodedChange): string[] {
  if ("skipped" in decoded) return [`skipped: ${decoded.skipped}`];
  if ("bad" in decoded) return [`${decoded.bad.code}: ${decoded.bad.message}`];
  if ("truncate" in decoded) return [`truncate ${positionText(decoded.truncate.position)}`];
  return decoded.changes.map(
    ({ kind, key, row, absent }) =>
      `${kind} ${key} ${Buffer.from(row).toString()}${absent.length > 0 ? ` without ${absent.join(",")}` : ""}`,
  );
}

/** `SOURCE HI LO SUB`, with the time in µs and whether it is of a snapshot. */
export function positionText(position: Change["position"]): string {
  if (position === null) return "nowhere";
  const { source, hi, lo, sub, timeMicros, isSnapshot } = position;
  return [source, hi, lo, sub, `@${timeMicros}`, ...(isSnapshot ? ["snapshot"] : [])].join(" ");
}

export function positionsOf(decoded: DecodedChange): string[] {
  return "changes" in decoded ? decoded.changes.map(({ position }) => positionText(position)) : [];
}
