/** What every way into Kafka must do: run on the fake in memory and on the adapter with a real broker. */

import { type TestContext, test } from "node:test";
import { adminPromises } from "./admin.suite.ts";
import type { Bench, Check } from "./bench.suite.ts";
import { memberPromises } from "./members.suite.ts";
import { positionPromises } from "./positions.suite.ts";
import { recordPromises } from "./records.suite.ts";
import { transactionalSinkPromises } from "./transactional.suite.ts";
import { transactionPromises } from "./transactions.suite.ts";

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
  transactionalSinkPromises(check);
  memberPromises(check);
  adminPromises(check);
}
