/** Verdicts that must stay what they were. */

import assert from "node:assert/strict";
import type { ReadRecord } from "../../support/independent-reader.ts";
import type { Verdict } from "../../support/ledger.ts";
import type { Scenario } from "../scenario.ts";

const changed: Scenario = {
  name: "transform-changed",
  injects:
    "SIGKILL between letters and rows (a named step), and a restart with a transform that takes what was bad and drops others",
  expects:
    "what has a letter stays a letter, though it would be a row now; what is dropped is counted as skipped",
  isBounded: true,
  async run(bench) {
    const message = (id: number) =>
      JSON.stringify({ id, text: `message ${id}`, n: id % 10 === 7 ? "seven" : String(id % 10) });
    const feed = await bench.feed({ partitions: 2, perSecond: 250, message });
    const strict = "SELECT id, text, CAST(n AS BIGINT) AS n, _kafka FROM messages";
    const first = bench.worker({ args: ["--transform", strict], env: { LAB_FAILPOINT: "after-letters" } });
    const { signal } = await first.ended;
    assert.equal(signal, "SIGKILL", first.stderr().slice(-3000));
    bench.fault("SIGKILL between letters and rows");
    await feed.end();
    const lenient = "SELECT id, text, TRY_CAST(n AS BIGINT) AS n, _kafka FROM messages WHERE id % 5 <> 0";
    const settled = await bench.letters();
    assert.ok(settled.size > 0, "there were letters without rows");
    await bench.drain({ args: ["--transform", lenient] });
    const verdict = ({ partition, offset, value }: ReadRecord): Verdict => {
      if (settled.has(`${partition}:${offset}`)) return "letter";
      const { id, text } = JSON.parse(String(value)) as { id: number; text: string };
      return id % 5 === 0 ? "skipped" : { row: `${id}\t${text}` };
    };
    const ledger = await bench.ledger({ verdict });
    assert.equal(await bench.skippedByLog(), ledger.skipped, "the log counts what was skipped");
  },
};

export const letters: readonly Scenario[] = [changed];
