/** The `lab-seq` header: which producer a message is from, and its place in what that producer sent. Imports nothing. */

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
