/** Memory for answers that is used again: a new buffer of several MiB for each would be most of the garbage there is. */

export type AnswerMemory = {
  /** Exactly so many bytes, of any content. They are the caller's until `giveBack`; who never calls it may keep them. */
  take(size: number): Buffer;
  /** `bytes` is what `take` gave, or a part of it. Nobody may read them any more: they come to hold another answer. */
  giveBack(bytes: Buffer): void;
};

/** Smaller ones cost next to nothing, and are mostly those that nobody gives back. */
const LEAST_BYTES = 64 << 10;
/** Of what is given back so much waits to be taken; the rest is let go. One answer is read from while the next one comes. */
const MOST_KEPT = 2;

/** Keeps buffers of `pieceBytes`; answers that are larger get memory of their own. */
export function createAnswerMemory(pieceBytes: number): AnswerMemory {
  const free: ArrayBuffer[] = [];
  const lent = new WeakSet<ArrayBufferLike>();
  return {
    take(size) {
      if (size < LEAST_BYTES || size > pieceBytes) return Buffer.allocUnsafeSlow(size);
      const piece = free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes).buffer;
      lent.add(piece);
      return Buffer.from(piece, 0, size);
    },
    giveBack({ buffer }) {
      if (!lent.delete(buffer) || free.length >= MOST_KEPT) return;
      free.push(buffer as ArrayBuffer);
    },
  };
}
