import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { parseInterval } from "./interval.ts";

test("intervals are milliseconds, parts add up, and the word itself may be missing", () => {
  assert.equal(parseInterval("interval 7 days"), 604_800_000);
  assert.equal(parseInterval("interval 1 week"), 604_800_000);
  assert.equal(parseInterval("INTERVAL 1 day 12 hours"), 129_600_000);
  assert.equal(parseInterval("30 minutes 5 seconds 2 milliseconds"), 1_805_002);
  assert.equal(parseInterval("interval 0 hours"), 0);
});

test("months, years and nonsense are CONFIG_INVALID", () => {
  for (const text of [
    "interval 1 month",
    "interval 2 years",
    "7",
    "interval",
    "",
    "days 7",
    "interval 1 day x",
  ])
    assert.throws(
      () => parseInterval(text),
      (error) => isLabError(error, "CONFIG_INVALID"),
      text,
    );
});
