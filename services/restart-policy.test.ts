import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ErrorCode } from "../core/errors.ts";
import { afterEnding, describeEnding } from "./restart-policy.ts";

const killed = { code: null, signal: "SIGKILL", ranMs: 5_000 };

test("a part that is killed comes back soon, and later each time it happens again", () => {
  assert.deepEqual(afterEnding(killed, 0, false), { kind: "restart", afterMs: 200, failures: 1 });
  assert.deepEqual(afterEnding(killed, 1, false), { kind: "restart", afterMs: 400, failures: 2 });
  assert.deepEqual(afterEnding(killed, 9, false), { kind: "restart", afterMs: 10_000, failures: 10 });
});

test("a part that was well for half a minute starts with a clean sheet", () => {
  assert.deepEqual(afterEnding({ ...killed, ranMs: 30_000 }, 9, false), {
    kind: "restart",
    afterMs: 200,
    failures: 1,
  });
});

test("a finite part is done at status 0; a service that ends politely comes back", () => {
  const ended = { code: 0, signal: null, ranMs: 10 };
  assert.deepEqual(afterEnding(ended, 0, true), { kind: "done" });
  assert.equal(afterEnding(ended, 0, false).kind, "restart");
  assert.equal(afterEnding({ ...ended, code: 1 }, 0, true).kind, "restart");
});

test("refused settings are not tried again", () => {
  assert.equal(afterEnding({ code: 2, signal: null, ranMs: 90_000 }, 0, false).kind, "give-up");
});

test("a part that never comes up is given up after a bounded number of tries", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ code: fc.constantFrom(1, 137, null), ranMs: fc.nat(29_999) }), { minLength: 11 }),
      (endings) => {
        let failures = 0;
        for (const { code, ranMs } of endings) {
          const decision = afterEnding(
            { code, signal: code === null ? "SIGSEGV" : null, ranMs },
            failures,
            false,
          );
          if (decision.kind !== "restart") return decision.kind === "give-up";
          assert.ok(decision.afterMs >= 200 && decision.afterMs <= 10_000);
          failures = decision.failures;
        }
        return false;
      },
    ),
  );
});

test("what only a person can put right is tried three times, what a restart may mend as often as ever", () => {
  const ended = (code: ErrorCode) => ({
    code: 1,
    signal: null,
    ranMs: 900,
    problem: { code, message: "no" },
  });
  assert.equal(afterEnding(ended("TOPIC_RESET"), 0, false).kind, "restart");
  assert.equal(afterEnding(ended("TOPIC_RESET"), 1, false).kind, "restart");
  assert.deepEqual(afterEnding(ended("TOPIC_RESET"), 2, false), {
    kind: "give-up",
    why: "it ended so 3 times in a row",
  });
  for (const code of ["BROKER_UNREACHABLE", "INTERNAL", "NO_PROGRESS", "SERVICE_FAILED"] as const)
    assert.equal(afterEnding(ended(code), 9, false).kind, "restart", code);
});

test("an ending is told in words", () => {
  const problem = { code: "TOPIC_RESET", message: "the topic was made anew" } as const;
  assert.equal(
    describeEnding({ code: 1, signal: null, problem }),
    "exit 1, TOPIC_RESET: the topic was made anew",
  );
  assert.equal(describeEnding({ code: 1, signal: null }), "exit 1");
  assert.equal(describeEnding({ code: null, signal: "SIGKILL" }), "killed by SIGKILL");
});
