/** CRC-32C, the checksum of record batches (RFC 3720, appendix B.4). */

const POLYNOMIAL = 0x82f63b78;

/** Eight tables of 256: the n-th says what a byte does to the sum when n more bytes follow it. */
const TABLES = Array.from({ length: 8 }, () => new Int32Array(256));
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1;
  TABLES[0]![byte] = sum;
}
for (let byte = 0; byte < 256; byte++) {
  for (let n = 1; n < 8; n++) {
    const shorter = TABLES[n - 1]![byte]!;
    TABLES[n]![byte] = TABLES[0]![shorter & 0xff]! ^ (shorter >>> 8);
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

/** The checksum of `bytes` from `start` to `end`, which is exclusive, as an unsigned number. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let sum = -1;
  let at = start;
  for (const whole = end - 7; at < whole; at += 8) {
    const low = sum ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    sum =
      T7[low & 0xff]! ^
      T6[(low >>> 8) & 0xff]! ^
      T5[(low >>> 16) & 0xff]! ^
      T4[low >>> 24]! ^
      T3[bytes[at + 4]!]! ^
      T2[bytes[at + 5]!]! ^
      T1[bytes[at + 6]!]! ^
      T0[bytes[at + 7]!]!;
  }
  for (; at < end; at++) sum = T0[(sum ^ bytes[at]!) & 0xff]! ^ (sum >>> 8);
  return ~sum >>> 0;
}
