/**
 * Takes most of a long run of bytes out of a CRC-32C. In polynomials over two elements, modulo that of CRC-32C,
 *
 *     x^209 + x^144 + x^54 + x^39 + x^14 + 1 = 0
 *
 * and so is the same in x^128, its 128th power. Hence of vectors of 128 bits, one behind the other, each may be added to those that stand 65, 155,
 * 170, 195 and 209 behind it, and is zero then: additions alone, until 209 vectors are left. No multiple of the polynomial with less
 * terms is as short.
 */

const VECTOR_BYTES = 16;
const LEFT_BYTES = 209 * VECTOR_BYTES;
/** What is folded at once; it stays in the processor's own memory. */
const BLOCK_BYTES = 32 << 10;
/** Fewer bytes are not worth it. */
export const LEAST_FOLDED = 4 * LEFT_BYTES;

type Fold = { memory: Uint8Array; fold(vectors: number): void; finish(): void };

/** What is used of the standard's namespace, which the types of Node do not have. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
};

/** `assembly/fold.ts`, compiled: a test says what to put here where the two are not the same. */
export const CODE =
  "AGFzbQEAAAABCAJgAX8AYAAAAwMCAAEFBAEBAQEHGgMEZm9sZAAABmZpbmlzaAABBm1lbW9yeQIACqUCAn4BAn8gAEEEdEGQGmoh" +
  "AkGQGiEBA0AgASACSQRAIAEgAf0ABAAgAUGQCGv9AAQAIAFBsBNr/QAEAP1RIAFBoBVr/QAEACABQbAYa/0ABAD9USABQZAaa/0A" +
  "BAD9Uf1R/VH9CwQAIAFBEGohAQwBCwtBACAAQQR0QZAa/AoAAAujAQIBewJ/A0AgAUHRAUkEQCABQQR0QZAaaiIC/QAEACACQZAa" +
  "a/0ABAD9USEAIAFBwQBJBEAgACACQZAIa/0ABAD9USEACyABQZsBSQRAIAAgAkGwE2v9AAQA/VEhAAsgAUGqAUkEQCAAIAJBoBVr" +
  "/QAEAP1RIQALIAIgAUHDAUkEeyAAIAJBsBhr/QAEAP1RBSAAC/0LBAAgAUEBaiEBDAELCws=";

let opened: Fold | undefined;

/**
 * Bytes whose remainder, from a checksum of zero on, is that of `bytes` from `start` (inclusive) to `end` (exclusive), from all ones on. They are
 * valid until the next call. At least LEAST_FOLDED bytes are taken.
 */
export function folded(bytes: Uint8Array, start: number, end: number): Uint8Array {
  opened ??= open();
  const { memory, fold, finish } = opened;
  const tail = (end - start) % VECTOR_BYTES;
  const left = end - tail - LEFT_BYTES;
  memory.fill(0, 0, LEFT_BYTES);
  for (let at = start; at < left; at += BLOCK_BYTES) {
    const to = Math.min(at + BLOCK_BYTES, left);
    memory.set(bytes.subarray(at, to), LEFT_BYTES);
    // As all checksums begin: with ones.
    if (at === start) for (let n = 0; n < 4; n++) memory[LEFT_BYTES + n]! ^= 0xff;
    fold((to - at) / VECTOR_BYTES);
  }
  memory.set(bytes.subarray(left, end), LEFT_BYTES);
  finish();
  return memory.subarray(LEFT_BYTES, 2 * LEFT_BYTES + tail);
}

function open(): Fold {
  const module = new WebAssembly.Module(Buffer.from(CODE, "base64"));
  const { memory, fold, finish } = new WebAssembly.Instance(module).exports as {
    memory: { buffer: ArrayBuffer };
  } & Pick<Fold, "fold" | "finish">;
  return { memory: new Uint8Array(memory.buffer), fold, finish };
}
