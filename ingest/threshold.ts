/** When too many of the last records are bad: a wrong format or a broken producer must not fill the dead letters without end. */

import { LabError } from "../core/errors.ts";
import type { Kind } from "../core/setting-kinds.ts";
import type { Letter } from "./chunk.ts";

/** More than `most` bad ones among the last `window` records are too many. */
export type BadLimit = { most: number; window: number };

export type Threshold = {
  /**
   * Takes in what became of the next records; true: there are too many bad ones. Those that are told together count as evenly
   * mixed, so that one among many is no burst.
   */
  observe(good: number, bad: number): boolean;
  /** Forgets everything: what was observed will come again. */
  reset(): void;
};

/** Pure: no clock, and nothing is kept anywhere else. Until `window` records have come, those that have are all there is. */
export function createThreshold({ most, window }: BadLimit): Threshold {
  /** Oldest first; together at most `window` records. Parts of records come from the even mix. */
  let seen: { records: number; bad: number }[] = [];
  let records = 0;
  let bad = 0;

  function forget(excess: number): void {
    while (excess > 0) {
      const oldest = seen[0]!;
      const gone = Math.min(excess, oldest.records);
      const share = gone / oldest.records;
      bad -= oldest.bad * share;
      records -= gone;
      oldest.bad -= oldest.bad * share;
      oldest.records -= gone;
      excess -= gone;
      if (oldest.records === 0) seen.shift();
    }
  }

  return {
    observe(good, newBad) {
      const added = good + newBad;
      if (added === 0) return false;
      const fits = Math.min(1, window / added);
      seen.push({ records: added * fits, bad: newBad * fits });
      records += added * fits;
      bad += newBad * fits;
      forget(records - window);
      // Parts that were added and taken away again leave a little behind.
      return bad > most + 1e-6;
    },
    reset() {
      seen = [];
      records = 0;
      bad = 0;
    },
  };
}

/** `100/1000`: more than 100 of the last 1000; `50%/1000`: more than half of them; `off`. */
export const badLimit: Kind<BadLimit | "off"> = {
  placeholder: "count|share%/n",
  show: (limit) => (limit === "off" ? limit : `${limit.most}/${limit.window}`),
  parse(text) {
    if (text === "off") return text;
    const [, amount, percent, of] = /^(\d+(?:\.\d+)?)(%?)\/(\d+)$/.exec(text.replaceAll(" ", "")) ?? [];
    if (amount === undefined) throw new Error("is neither off nor of the form 100/1000 or 50%/1000");
    const window = Number(of);
    const most = percent === "%" ? Math.floor((window * Number(amount)) / 100) : Number(amount);
    if (!Number.isSafeInteger(window) || window < 1) throw new Error("looks at no records");
    if (!Number.isInteger(most)) throw new Error("is a part of a record");
    if (most >= window) throw new Error("can never be exceeded: it allows all of them");
    return { most, window };
  },
};

/** TOO_MANY_BAD. Nothing of what was just observed may be committed then: the next start reads it again. */
export function tooManyBad(limit: BadLimit, newest: readonly Letter[]): LabError {
  const last = newest.at(-1);
  const example = last
    ? `, such as ${last.topic}-${last.partition} offset ${last.offset}: ${last.message} (${last.stage}, ${last.code})`
    : "";
  return new LabError(
    "TOO_MANY_BAD",
    `more than ${limit.most} of the last ${limit.window} records are bad${example}`,
    {
      hint: "the last of them are not written yet: set --format, --schema or --transform right and start again, or let them be dead letters with --max-bad off",
      details: { most: limit.most, window: limit.window },
    },
  );
}
