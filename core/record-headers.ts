/** Headers of a message in one piece of bytes, each as Kafka's records have it: length of the name, name, length of the value, value. */

const NONE: readonly (readonly [string, null])[] = [];

/**
 * Calls `visit` with the places of each header in `bytes` from `start` (inclusive) to `end` (exclusive), which must lie between two of
 * them. Ends are exclusive; a value that starts at -1 is null.
 */
export function eachHeader(
  bytes: Uint8Array,
  start: number,
  end: number,
  visit: (nameStart: number, nameEnd: number, valueStart: number, valueEnd: number) => void,
): void {
  let at = start;
  const length = () => {
    let raw = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      raw |= (byte & 0x7f) << shift;
      if (byte < 0x80 || shift > 28) return (raw >>> 1) ^ -(raw & 1);
    }
  };
  while (at < end) {
    const nameLength = length();
    const nameStart = at;
    at += nameLength;
    const valueLength = length();
    const valueStart = at;
    at += Math.max(valueLength, 0);
    visit(nameStart, nameStart + nameLength, valueLength < 0 ? -1 : valueStart, at);
  }
}

/** Whether one of the headers of the same place has this name, looked for without making anything of them. */
export function hasHeader(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  let isThere = false;
  eachHeader(bytes, start, end, (nameStart, nameEnd) => {
    if (isThere || nameEnd - nameStart !== name.length) return;
    let i = 0;
    while (i < name.length && bytes[nameStart + i] === name[i]) i++;
    isThere = i === name.length;
  });
  return isThere;
}

/** The headers of the same place: in order, a name perhaps more than once. Values are views, of the kind that `bytes` are. */
export function readHeaders<T extends Uint8Array>(
  bytes: T,
  start: number,
  end: number,
): readonly (readonly [name: string, value: T | null])[] {
  if (start === end) return NONE;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headers: (readonly [string, T | null])[] = [];
  eachHeader(bytes, start, end, (nameStart, nameEnd, valueStart, valueEnd) => {
    const value = valueStart < 0 ? null : (bytes.subarray(valueStart, valueEnd) as T);
    headers.push([text.toString("utf8", nameStart, nameEnd), value]);
  });
  return headers;
}

/** The bytes of headers that `readHeaders` reads back. Names that are no valid Unicode do not come back as they were. */
export function writeHeaders(
  headers: readonly (readonly [name: string, value: Uint8Array | null])[],
): Buffer {
  const pieces = headers.flatMap(([name, value]) => {
    const text = Buffer.from(name);
    return [varint(text.length), text, varint(value === null ? -1 : value.length), value ?? EMPTY];
  });
  return Buffer.concat(pieces);
}

const EMPTY = new Uint8Array();

/** A signed number in zigzag form, seven bits a byte, the low ones first. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
