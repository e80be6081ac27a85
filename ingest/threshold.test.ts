import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { badLimit, createThreshold, tooManyBad } from "./threshold.ts";

test("one record more than the limit is too many, as soon as it is there", () => {
  const threshold = createThreshold({ most: 3, window: 10 });
  assert.equal(threshold.observe(0, 3), false);
  assert.equal(threshold.observe(0, 1), true);
});

test("a limit of none stops at the first bad record", () => {
  const threshold = createThreshold({ most: 0, window: 10 });
  assert.equal(threshold.observe(1_000, 0), false);
  assert.equal(threshold.observe(0, 1), true);
});

test("what is older than the window is forgotten", () => {
  const threshold = createThreshold({ most: 3, window: 10 });
  assert.equal(threshold.observe(0, 3), false);
  assert.equal(threshold.observe(10, 0), false);
  assert.equal(threshold.observe(0, 3), false);
});

test("many records told at once are judged by their share, not by their number", () => {
  const threshold = createThreshold({ most: 500, window: 1_000 });
  assert.equal(threshold.observe(99_400, 600), false);
  assert.equal(threshold.observe(40_000, 60_000), true);
});

test("what comes again after a reset is not counted twice", () => {
  const threshold = createThreshold({ most: 3, window: 10 });
  for (let n = 0; n < 5; n++) {
    assert.equal(threshold.observe(1, 3), false);
    threshold.reset();
  }
});

test("records told one by one: too many exactly when the last ones hold more bad ones than the limit", () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 200 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 19 }),
      (records, window, most) => {
        const threshold = createThreshold({ most, window });
        records.forEach((isBad, n) => {
          const last = records.slice(Math.max(0, n + 1 - window), n + 1);
          const expected = last.filter(Boolean).length > most;
          assert.equal(threshold.observe(isBad ? 0 : 1, isBad ? 1 : 0), expected);
        });
      },
    ),
  );
});

test("however records are told, never more than all of a window are bad, and only good ones never are too many", () => {
  const counts = fc.array(fc.tuple(fc.nat(5_000), fc.nat(5_000)), { maxLength: 50 });
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 1_000 }), (observed, window) => {
      const never = createThreshold({ most: window, window });
      const none = createThreshold({ most: 0, window });
      for (const [good, bad] of observed) {
        assert.equal(never.observe(good, bad), false);
        assert.equal(none.observe(good + bad, 0), false);
      }
    }),
  );
});

test("the setting: counts and shares of the last records, or off", () => {
  assert.deepEqual(badLimit.parse("100/1000"), { most: 100, window: 1_000 });
  assert.deepEqual(badLimit.parse("50%/1000"), { most: 500, window: 1_000 });
  assert.deepEqual(badLimit.parse("0.1%/500"), { most: 0, window: 500 });
  assert.equal(badLimit.parse("off"), "off");
  assert.equal(badLimit.show(badLimit.parse("50%/1000")), "500/1000");
  for (const wrong of ["", "50%", "100", "1.5/10", "10/10", "100%/10", "5/0", "-1/10"])
    assert.throws(() => badLimit.parse(wrong), Error, wrong);
});

test("the error tells an example and both ways out", () => {
  const letter = {
    topic: "t",
    partition: 2,
    offset: 7n,
    timestampMs: 0,
    key: null,
    value: null,
    headers: [],
  };
  const why = { stage: "decode", code: "MALFORMED_JSON", message: "no JSON" } as const;
  const error = tooManyBad({ most: 3, window: 10 }, [{ ...letter, ...why }]);
  assert.ok(isLabError(error, "TOO_MANY_BAD"));
  assert.match(
    error.message,
    /more than 3 of the last 10 .*t-2 offset 7: no JSON \(decode, MALFORMED_JSON\)/,
  );
  assert.match(error.hint ?? "", /--transform.*--max-bad off/);
});
