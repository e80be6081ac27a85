/** CRC-64-AVRO, the fingerprint of single-object encoding ("Schema Fingerprints" of the specification). */

const EMPTY = 0xc15d213aa4d7a795n;

/** Of a text in UTF-8, as an unsigned number; messages carry it in little-endian order. */
export function fingerprint(canonicalForm: string): bigint {
  let value = EMPTY;
  for (const byte of Buffer.from(canonicalForm))
    value = (value >> 8n) ^ tableEntry(Number((value ^ BigInt(byte)) & 0xffn));
  return value;
}

/** As the specification's table has it. */
function tableEntry(index: number): bigint {
  let value = BigInt(index);
  for (let bit = 0; bit < 8; bit++) value = (value >> 1n) ^ (value & 1n ? EMPTY : 0n);
  return value;
}
