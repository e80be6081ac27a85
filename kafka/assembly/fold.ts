/**
 * The inner loop of `../crc32c-fold.ts`, which says why it is right, and holds this compiled. Memory begins with the DEGREE vectors that stand
 * before the input, as they became.
 */

const DEGREE: usize = 209;
const VECTOR: usize = 16;
const INPUT: usize = DEGREE * VECTOR;

/** Folds `count` vectors of the input; the last DEGREE of all are then those that stand before. */
export function fold(count: usize): void {
  const end = INPUT + count * VECTOR;
  for (let at = INPUT; at < end; at += VECTOR) {
    const near = v128.xor(before(at, 65), before(at, 155));
    const far = v128.xor(v128.xor(before(at, 170), before(at, 195)), before(at, DEGREE));
    v128.store(at, v128.xor(v128.load(at), v128.xor(near, far)));
  }
  memory.copy(0, count * VECTOR, INPUT);
}

/** Adds to DEGREE vectors of the input, the last that there are, what those before add to them. */
export function finish(): void {
  for (let n: usize = 0; n < DEGREE; n++) {
    const at = INPUT + n * VECTOR;
    let sum = v128.xor(v128.load(at), before(at, DEGREE));
    if (n < 65) sum = v128.xor(sum, before(at, 65));
    if (n < 155) sum = v128.xor(sum, before(at, 155));
    if (n < 170) sum = v128.xor(sum, before(at, 170));
    if (n < 195) sum = v128.xor(sum, before(at, 195));
    v128.store(at, sum);
  }
}

function before(at: usize, vectors: usize): v128 {
  return v128.load(at - vectors * VECTOR);
}
