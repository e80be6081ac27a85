/** What every way into Kafka must do: run on the fake in memory and on the adapter with a real broker. */

import { type TestContext, test } from "node:test";
import { adminPromises } from "./suite-admin.ts";
import type { Bench, Check } from "./suite-bench.ts";
import { memberPromises } from "./suite-members.ts";
import { positionPromises } from "./suite-positions.ts";
import { recordPromises } from "./suite-records.ts";
import { transactionPromises } from "./suite-transactions.ts";

export function kafkaSuite(name: string, openBench: (t: TestContext) => Promise<Bench>): void {
  const check: Check = (promise, body) =>
    void test(`${name}: ${promise}`, async (t) => {
      const bench = await openBench(t);
      const admin = await bench.kafka.admin();
      t.after(() => admin.close());
      await body(t, bench, admin);
    });
  recordPromises(check);
  positionPromises(check);
  transactionPromises(check);
  memberPromises(check);
  adminPromises(check);
}
