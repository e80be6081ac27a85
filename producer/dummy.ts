/** The tutorial's four messages, over and over: three fixed texts and the time. */

import type { Message, MessageSource } from "./source.ts";

const ROUND = 4;

/** Keys Key1 to Key4; the fourth value is the time of sending as text. A round of four, then 10 s of rest unless a rate is given. */
export function dummySource(now: () => number): MessageSource {
  function message(index: number): Message {
    const values = ["One!", "Two!", "three!", new Date(now()).toString()];
    return { key: `Key${(index % ROUND) + 1}`, value: values[index % ROUND] ?? null };
  }
  return {
    name: "dummy",
    isEndless: true,
    pace: { every: ROUND, pauseMs: 10_000 },
    *messages(from) {
      for (let index = from - (from % ROUND); ; index++) yield message(index);
    },
  };
}
