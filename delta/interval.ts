/** Delta's intervals, such as `interval 7 days` or `interval 1 day 12 hours`, in milliseconds. */

import { LabError } from "../core/errors.ts";

const UNIT_MS: Record<string, number> = {
  week: 604_800_000,
  day: 86_400_000,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
  microsecond: 0.001,
};
const PAIR = /^([+-]?\d+(?:\.\d+)?)\s+([a-z]+?)s?(?:\s+|$)/;

/** Milliseconds of `text`; the word `interval` may be left out. CONFIG_INVALID for all else, months and years included. */
export function parseInterval(text: string): number {
  let rest = text
    .trim()
    .toLowerCase()
    .replace(/^interval\s+/, "");
  let total = rest === "" ? Number.NaN : 0;
  while (rest !== "") {
    const pair = PAIR.exec(rest);
    const unit = UNIT_MS[pair?.[2] ?? ""];
    if (!pair || unit === undefined) {
      total = Number.NaN;
      break;
    }
    total += Number(pair[1]) * unit;
    rest = rest.slice(pair[0].length);
  }
  if (!Number.isNaN(total)) return total;
  throw new LabError("CONFIG_INVALID", `"${text}" is not an interval`, {
    hint: "write it as: interval 7 days, or interval 1 day 12 hours (no months or years)",
    details: { interval: text },
  });
}
