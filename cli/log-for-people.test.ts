import assert from "node:assert/strict";
import { test } from "node:test";
import pc from "picocolors";
import { createLog } from "../core/log.ts";
import { logForPeople } from "./log-for-people.ts";

function fixture() {
  const written: string[] = [];
  const screen = { note: (line: string) => void written.push(line), noteColors: pc.createColors(false) };
  const to = logForPeople(screen, () => void written.push("(cleared)"));
  return { written, log: createLog("merge", { level: "warn", to }) };
}

test("someone at a terminal reads sentences: the topic, what happened, how many of which code, and never JSON", () => {
  const { written, log } = fixture();
  log.info("nothing that goes well");
  log
    .child({ topic: "people", table: "file:///t" })
    .warn(
      { event: "letters", codes: { CDC_KEY_MISSING: 1204, BAD_TIME: 1 } },
      "1205 messages became dead letters",
    );
  assert.deepEqual(written, [
    "(cleared)",
    "warning: people: 1205 messages became dead letters (CDC_KEY_MISSING 1,204, BAD_TIME 1)",
  ]);
});

test("the way out is told below an error", () => {
  const { written, log } = fixture();
  log.error({ topic: "orders", hint: "make it by producing" }, "the stream ended: no topic");
  assert.deepEqual(written.slice(1), [
    "error: orders: the stream ended: no topic",
    "  fix: make it by producing",
  ]);
});
