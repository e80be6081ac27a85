import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeLab } from "../test/support/fake-lab.ts";
import { type Flow, type FlowMemory, type Look, noMemory, observeFlow } from "./flow.ts";

const signal = new AbortController().signal;
const START = Date.parse("2026-11-29T20:00:00Z");

/** Looks at a fake lab at chosen seconds. */
function watcher() {
  const lab = fakeLab();
  let memory: FlowMemory = noMemory;
  let topics: Look["topics"] = [];
  return {
    lab,
    async lookAt(second: number) {
      let problem: Look["problem"] = null;
      try {
        topics = await lab.control.topics(signal);
      } catch (error) {
        problem = { code: "BROKER_UNREACHABLE", message: String(error) };
      }
      const look = { atMs: START + second * 1000, parts: await lab.control.parts(signal), topics, problem };
      const observed = observeFlow(memory, look);
      memory = observed.memory;
      return observed.flow;
    },
  };
}

const orders = (flow: Flow) => flow.streams.find((stream) => stream.topic === "orders")!;
const ingester = (flow: Flow) => orders(flow).ingesters[0]!;

test("a rate is unknown at the first look and then an average of the last seconds", async () => {
  const { lab, lookAt } = watcher();
  assert.equal(orders(await lookAt(0)).producedPerSecond, null);
  lab.produce(300);
  assert.equal(orders(await lookAt(1)).producedPerSecond, 300);
  assert.equal(orders(await lookAt(3)).producedPerSecond, 100);
  lab.produce(200);
  assert.equal(orders(await lookAt(23)).producedPerSecond, 10, "slow looks average since the one before");
  assert.equal(orders(await lookAt(60)).producedPerSecond, null, "a look after a long gap starts anew");
});

test("every partition of every topic has a row, and unknown lag is null and not 0", async () => {
  const { lookAt } = watcher();
  const flow = await lookAt(0);
  assert.deepEqual(
    flow.streams.map(({ topic, table, lag }) => ({ topic, table, lag })),
    [
      { topic: "my-topic", table: null, lag: null },
      { topic: "orders", table: "orders", lag: "0" },
    ],
  );
  assert.deepEqual(
    orders(flow).partitions.map(({ partition, owner }) => [partition, owner]),
    [0, 1, 2].map((partition) => [partition, "ingest-1"]),
  );
  assert.equal(flow.streams[0]!.partitions[0]!.owner, null);
});

test("a frozen ingester is silent since its last answer, and its lag goes on growing", async () => {
  const { lab, lookAt } = watcher();
  await lookAt(0);
  lab.faults.ingester = "frozen";
  lab.produce(90);
  const flow = await lookAt(4);
  assert.equal(ingester(flow).status, "silent");
  assert.equal(ingester(flow).lastAnswer, "2026-11-29T20:00:00.000Z");
  assert.equal(orders(flow).lag, "90");
  assert.equal(orders(flow).ingestedPerSecond, null);
  lab.faults.ingester = "dead";
  assert.equal(ingester(await lookAt(5)).status, "gone");
  lab.faults.ingester = "running";
  assert.equal(ingester(await lookAt(6)).status, "answering");
});

test("a topic nothing comes into is quiet since the last record; an outage is not quiet", async () => {
  const { lab, lookAt } = watcher();
  await lookAt(0);
  lab.produce(3);
  await lookAt(10);
  assert.equal(orders(await lookAt(70)).quietSince, "2026-11-29T20:00:10.000Z");
  lab.faults.brokerGone = true;
  const flow = await lookAt(71);
  assert.equal(flow.problem?.code, "BROKER_UNREACHABLE");
  assert.deepEqual([orders(flow).quietSince, orders(flow).producedPerSecond], [null, null]);
});

test("a partition that moved shows the owner that answers", async () => {
  const { lab, lookAt } = watcher();
  await lookAt(0);
  const { parts } = lab.control;
  lab.control.parts = async (s) => {
    const all = await parts(s);
    const taken = { ...all[2]!, name: "ingest-2", pid: 4400 };
    return [...all.slice(0, 2), taken, { ...all[2]!, state: null }];
  };
  const flow = await lookAt(1);
  assert.deepEqual(
    orders(flow).partitions.map((p) => p.owner),
    ["ingest-2", "ingest-2", "ingest-2"],
  );
  assert.deepEqual(
    orders(flow).ingesters.map(({ name, status }) => [name, status]),
    [
      ["ingest-2", "answering"],
      ["ingest-1", "silent"],
    ],
  );
});

test("a producer that starts anew counts from its own start", async () => {
  const { lab, lookAt } = watcher();
  await lookAt(0);
  const { parts } = lab.control;
  lab.control.parts = async (s) => {
    const all = await parts(s);
    const state = all[1]!.state as Extract<(typeof all)[1]["state"], { part: "produce" }>;
    all[1] = { ...all[1]!, pid: 5000, state: { ...state, acked: { total: "10", partitions: {} } } };
    return all;
  };
  assert.equal(orders(await lookAt(1)).producers[0]!.perSecond, null);
  assert.equal(orders(await lookAt(2)).producers[0]!.perSecond, 0);
});
