import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { silentLog } from "../core/log.ts";
import { fakeLab } from "../test/support/fake-lab.ts";
import { until } from "../test/support/until.ts";
import { type ChaosControl, FAULT_NAMES } from "./chaos.ts";
import type { ChaosRun } from "./chaos-run.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { createDashboard } from "./server.ts";

test("without a page that watches a fault finds its ingester, is followed to its end, and then nobody looks any more", async (t) => {
  const lab = fakeLab();
  let looks = 0;
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const caused: (string | null)[] = [];
  const chaos: ChaosControl = {
    async refusals({ ingester }) {
      const refusal = ingester === null ? "no ingester reads this topic now" : null;
      return Object.fromEntries(FAULT_NAMES.map((name) => [name, refusal])) as Awaited<
        ReturnType<ChaosControl["refusals"]>
      >;
    },
    async cause(_, { ingester }) {
      caused.push(ingester);
      return { did: [`told ${ingester}`] };
    },
    async heal() {},
  };
  const ledger: LedgerWatch = {
    ledgers: () => [
      {
        ...{
          topic: "orders",
          table: "orders",
          verdict: "whole",
          why: null,
          version: 1,
          nameless: 0n,
          isMerged: false,
        },
        ...{ checkedAt: new Date(now()).toISOString(), lines: [], minutes: [], culprits: [] },
      },
    ],
    listen: () => () => {},
    ended: Promise.resolve(),
  };
  const app = createDashboard({
    ...{ tables: lab.tables, token: "secret", log: silentLog, allowedHosts: ["127.0.0.1"], ledger, now },
    control: {
      ...lab.control,
      chaos,
      parts: (signal) => {
        looks++;
        return lab.control.parts(signal);
      },
    },
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chaos`;
  const runs = async () => {
    const reply = await fetch(`${at}?table=orders`);
    return ((await reply.json()) as { runs: ChaosRun[] }).runs;
  };

  const reply = await fetch(`${at}/poison`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-lab-token": "secret" },
    body: JSON.stringify({ table: "orders" }),
  });
  assert.equal(reply.status, 200, await reply.text());
  assert.deepEqual(caused, ["ingest-1"]);
  assert.equal((await runs())[0]?.isOver, false);
  // A fault that shows nothing is waited for half a minute.
  aheadMs = 60_000;

  await until("the fault to be over", () => runs().then(([run]) => run?.isOver), { deadlineMs: 60_000 });
  const after = looks;
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  assert.ok(looks <= after + 1, `${looks - after} looks after it was over`);
});
