/** Z85 (ZeroMQ RFC 32): five characters for four bytes. */

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
const DIGITS = new Map([...ALPHABET].map((char, digit) => [char, digit]));
/** The highest digit: no group of four bytes begins with it, so some writers fill the last group up with it in front. */
const FILL = "#";

/** Throws an Error where the text is none. A last group `#...` of k filling characters holds 4 - k bytes. */
export function decodeZ85(text: string): Buffer {
  if (text.length % 5 !== 0) throw new Error(`${text.length} characters are no Z85`);
  const groups: Buffer[] = [];
  for (let at = 0; at < text.length; at += 5) groups.push(decodeGroup(text.slice(at, at + 5)));
  return Buffer.concat(groups);
}

/** Bytes, a multiple of four, as text. */
export function encodeZ85(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let value = bytes.readUInt32BE(at);
    let group = "";
    for (let digit = 0; digit < 5; digit++) {
      group = ALPHABET[value % 85]! + group;
      value = Math.floor(value / 85);
    }
    text += group;
  }
  return text;
}

function decodeGroup(group: string): Buffer {
  let fill = 0;
  while (fill < 4 && group[fill] === FILL) fill++;
  let value = 0;
  for (const char of group.slice(fill)) {
    const digit = DIGITS.get(char);
    if (digit === undefined) throw new Error(`${JSON.stringify(char)} is no character of Z85`);
    value = value * 85 + digit;
  }
  const length = 4 - fill;
  if (value >= 2 ** (8 * length)) throw new Error(`${JSON.stringify(group)} stands for no bytes`);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.subarray(fill);
}
