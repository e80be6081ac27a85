import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { LabError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { fakeLab } from "../test/support/fake-lab.ts";
import { until } from "../test/support/until.ts";
import type { TopicReader } from "./control.ts";
import { watchLedger } from "./ledger-watch.ts";
import type { TablePositions } from "./tables.ts";

/** Ten records of `orders`, and a table that has those in `rows`. */
function watched(t: TestContext) {
  const broker = { isGone: false };
  const store = { isGone: false, rows: [{ first: 0n, last: 9n }] };
  const readTopic = (_: string, reader: TopicReader, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const gone = () => new LabError("BROKER_UNREACHABLE", "no broker answers");
      if (broker.isGone) return reject(gone());
      const timer = setInterval(() => broker.isGone && reject(gone()), 20);
      const end = () => {
        clearInterval(timer);
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
      reader.begins(0, 0n);
      const records = Array.from({ length: 10 }, (_, n) => ({ offset: BigInt(n), timestampMs: 0 }));
      reader.took({ partition: 0, nextOffset: 10n, records });
    });
  const read = async (name: string): Promise<TablePositions | null> => {
    if (store.isGone) throw new LabError("STORE_UNREACHABLE", "the store does not answer");
    if (name !== "orders") return null;
    const alike = { topic: "orders", partition: 0, generation: 0, mark: "" };
    return {
      ...{ version: 1, id: "one", nameless: 0n, isMerged: false, commits: [] },
      ranges: store.rows.map((range) => ({ ...alike, ...range })),
      txns: new Map([["lab/orders-0", 9n]]),
    };
  };
  const stop = new AbortController();
  const watch = watchLedger({
    control: {
      ...fakeLab().control,
      streams: () => [{ topic: "orders", table: "orders", isRouted: false }],
      readTopic,
    },
    positions: { read, routed: async () => [] },
    ...{ log: silentLog, now: Date.now, signal: stop.signal },
  });
  t.after(async () => {
    stop.abort();
    await watch.ended;
  });
  const says = (verdict: string, why: RegExp) =>
    until(`${verdict}, ${why}`, () => {
      const [ledger] = watch.ledgers();
      return ledger?.verdict === verdict && why.test(String(ledger.why));
    });
  return { broker, store, watch, says };
}

test("a verdict needs both sides: without the broker or the store it is unknown, says why, and comes back", async (t) => {
  const { broker, store, says } = watched(t);
  await says("whole", /null/);
  broker.isGone = true;
  await says("unknown", /no broker answers \(BROKER_UNREACHABLE\)/);
  broker.isGone = false;
  await says("whole", /null/);
  store.isGone = true;
  await says("unknown", /STORE_UNREACHABLE/);
  store.isGone = false;
  await says("whole", /null/);
});

test("who listens hears of a loss at the next look, and of nothing once it stopped listening", async (t) => {
  const { store, watch } = watched(t);
  const heard: string[] = [];
  const unlisten = watch.listen(([ledger]) => heard.push(`${ledger?.verdict} ${ledger?.lines[0]?.lost}`));
  await until("the first look", () => heard.includes("whole 0"));
  store.rows = [{ first: 0n, last: 6n }];
  await until("the loss", () => heard.includes("broken 3"));
  unlisten();
  const before = heard.length;
  store.rows = [{ first: 0n, last: 9n }];
  await until("the next look", () => watch.ledgers()[0]?.verdict === "whole");
  assert.equal(heard.length, before);
});
