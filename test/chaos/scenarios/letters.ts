/** Verdicts that must stay what they were. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { ReadRecord } from "../../support/independent-reader.ts";
import type { Verdict } from "../../support/ledger.ts";
import { until } from "../../support/until.ts";
import { PATIENCE_MS } from "../bench.ts";
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

const replays: Scenario = {
  name: "replays",
  injects:
    "two replays of the same letters at once, again and again while messages flow, one of them killed by SIGKILL at a random moment",
  expects: "each letter's record becomes one row, by whichever replay, and the ingester goes on beside them",
  async run(bench) {
    const strict = ["--transform", "SELECT id, text, CAST(n AS BIGINT) AS n, _kafka FROM messages"];
    const lenient = "SELECT id, text, TRY_CAST(n AS BIGINT) AS n, _kafka FROM messages";
    const replay = () => bench.command(["dlq", "replay", bench.tableUri, "--all", "--transform", lenient]);
    const message = (id: number) =>
      JSON.stringify({ id, text: `message ${id}`, n: id % 10 === 7 ? "seven" : String(id % 10) });
    const feed = await bench.feed({ partitions: 2, perSecond: 200, message });
    const worker = bench.worker({ args: strict });
    await until("there are letters", async () => (await bench.letters().catch(() => new Set())).size > 0, {
      deadlineMs: PATIENCE_MS,
    });
    for (let round = 0; round < 3; round++) {
      const [one, other] = [replay(), replay()];
      await delay(bench.between(1_000, 5_000));
      if (one.child.kill("SIGKILL")) bench.fault("SIGKILL of a replay");
      const { status } = await other.ended;
      assert.equal(status, 0, `a replay: ${other.stderr().slice(-3000)}`);
      bench.fault("replays at once");
    }
    await feed.end();
    await worker.stop();
    await bench.drain({ args: strict });
    const both = await Promise.all([replay(), replay()].map((run) => run.ended));
    assert.deepEqual(
      both.map(({ status }) => status),
      [0, 0],
    );
    const verdict = ({ value }: ReadRecord): Verdict => {
      const { id, text } = JSON.parse(String(value)) as { id: number; text: string };
      return { row: `${id}\t${text}` };
    };
    await bench.ledger({ verdict });
  },
};

export const letters: readonly Scenario[] = [changed, replays];
