/** A broker that dies or stands still. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Scenario } from "../scenario.ts";

const killed: Scenario = {
  name: "broker-killed",
  injects: "SIGKILL of the broker under load, twice, and a restart on the same data after up to 3 s",
  expects:
    "producer and worker wait and go on by themselves; no position is taken for lost, and the producer ends",
  broker: {},
  async run(bench) {
    const feed = await bench.feed({ partitions: 3, perSecond: 250 });
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    for (let n = 0; n < 2; n++) {
      await delay(bench.between(500, 2_000));
      await bench.broker.kill();
      bench.fault("broker killed");
      await delay(bench.between(0, 3_000));
      await bench.broker.restart();
      await delay(3_000);
      assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    }
    await feed.end();
    await worker.stop();
    assert.match(worker.stderr(), /BROKER_UNREACHABLE/);
    await bench.drain();
    await bench.ledger();
  },
};

const frozen: Scenario = {
  name: "broker-frozen",
  injects: "SIGSTOP of the broker for 10 s, beyond the session of the group's members, and SIGCONT",
  expects: "producer and worker wait and go on by themselves",
  broker: {},
  async run(bench) {
    const feed = await bench.feed({ perSecond: 250 });
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    await delay(bench.between(0, 1_000));
    bench.broker.freeze();
    bench.fault("broker frozen");
    await delay(10_000);
    bench.broker.thaw();
    await delay(4_000);
    assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    await feed.end();
    await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

export const brokers: readonly Scenario[] = [killed, frozen];
