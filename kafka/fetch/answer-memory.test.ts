import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerMemory } from "./answer-memory.ts";

const PIECE = 1 << 20;

test("memory that was given back is taken again, for an answer of another size, too", () => {
  const memory = createAnswerMemory(PIECE);
  const first = memory.take(PIECE);
  memory.giveBack(first.subarray(100, 200));
  const second = memory.take(PIECE / 2);
  assert.equal(second.buffer, first.buffer);
  assert.equal(second.length, PIECE / 2);
});

test("what was not given back is nobody else's, and giving back twice gives it to one", () => {
  const memory = createAnswerMemory(PIECE);
  const kept = memory.take(PIECE);
  const back = memory.take(PIECE);
  memory.giveBack(back);
  memory.giveBack(back);
  const others = [memory.take(PIECE), memory.take(PIECE)];
  assert.equal(new Set([kept, ...others].map(({ buffer }) => buffer)).size, 3);
});

test("few wait to be taken: who had many at once does not keep them all", () => {
  const memory = createAnswerMemory(PIECE);
  const many = Array.from({ length: 10 }, () => memory.take(PIECE));
  for (const one of many) memory.giveBack(one);
  const again = Array.from({ length: 10 }, () => memory.take(PIECE));
  const before = new Set(many.map(({ buffer }) => buffer));
  assert.equal(again.filter(({ buffer }) => before.has(buffer)).length, 2);
});

test("small answers and those that are larger than a piece get memory of their own, as large as they are", () => {
  const memory = createAnswerMemory(PIECE);
  for (const size of [0, 4, 1000, PIECE + 1]) {
    const answer = memory.take(size);
    assert.equal(answer.length, size);
    assert.equal(answer.buffer.byteLength, size);
    memory.giveBack(answer);
    assert.notEqual(memory.take(size).buffer, answer.buffer);
  }
});

test("memory that is another's is not taken over", () => {
  const memory = createAnswerMemory(PIECE);
  const foreign = Buffer.alloc(PIECE);
  memory.giveBack(foreign);
  assert.notEqual(memory.take(PIECE).buffer, foreign.buffer);
});
