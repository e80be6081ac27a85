import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { silentLog } from "../core/log.ts";
import { type FakeLab, fakeLab } from "../test/support/fake-lab.ts";
import type { TableList } from "./events.ts";
import type { Flow } from "./flow.ts";
import { createDashboard } from "./server.ts";

type LabEvent = { event: string; data: Told };
/** What the events carry, flat: a test reads what its event has. */
type Told = TableList & Flow;

/** Opens the stream and gives its events until the test ends. */
async function watch(t: TestContext, lab: FakeLab) {
  const app = createDashboard({
    ...{ tables: lab.tables, control: lab.control, token: "secret", log: silentLog },
    allowedHosts: ["127.0.0.1"],
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const controller = new AbortController();
  t.after(() => {
    controller.abort();
    server.close();
    server.closeAllConnections();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = async (): Promise<AsyncGenerator<LabEvent>> => {
    const response = await fetch(`${address}/api/events`, { signal: controller.signal });
    assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
    return events(response);
  };
  return { open, address, close: () => controller.abort() };
}

async function* events(response: Response): AsyncGenerator<LabEvent> {
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const [event, data] = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      yield { event: event!.replace("event: ", ""), data: JSON.parse(data!.replace("data: ", "")) };
    }
  }
}

async function next(stream: AsyncGenerator<LabEvent>, is: (event: LabEvent) => boolean): Promise<LabEvent> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error("the stream ended");
    if (is(value)) return value;
  }
}

test("a stream begins with a snapshot and then tells each change", async (t) => {
  const lab = fakeLab();
  const { open } = await watch(t, lab);
  const stream = await open();
  assert.equal((await stream.next()).value.event, "snapshot");
  const first = await next(stream, ({ event }) => event === "tables");
  assert.equal(first.data.tables[1]?.version, 12);
  lab.commit(50);
  const second = await next(stream, ({ event }) => event === "tables");
  assert.equal(second.data.tables[1]?.version, 13);
  const late = await open();
  const snapshot: { data: { tables: TableList; flow: Flow } } = (await late.next()).value;
  assert.equal(snapshot.data.tables.tables[1]?.version, 13, "who comes later gets what is known at once");
  assert.ok(snapshot.data.flow.streams.length > 0);
});

test("flow has rates from counters, and heartbeats come without any change", async (t) => {
  const lab = fakeLab();
  const { open } = await watch(t, lab);
  const stream = await open();
  await next(stream, ({ event }) => event === "flow");
  lab.produce(300);
  const { data } = await next(
    stream,
    ({ event, data }) => event === "flow" && data.streams.some((s) => s.producedPerSecond! > 0),
  );
  const orders = data.streams.find((s) => s.topic === "orders");
  assert.equal(orders?.table, "orders");
  assert.equal(orders?.lag, "300");
  await next(stream, ({ event }) => event === "heartbeat");
});

test("an outage of the store or the broker is told and does not end the stream", async (t) => {
  const lab = fakeLab();
  const { open } = await watch(t, lab);
  const stream = await open();
  await next(stream, ({ event }) => event === "tables");
  lab.faults.storeGone = true;
  const lost = await next(stream, ({ event }) => event === "tables");
  assert.equal(lost.data.problem?.code, "STORE_UNREACHABLE");
  assert.equal(lost.data.tables.length, 2, "what was known stays");
  lab.faults.brokerGone = true;
  await next(stream, ({ event, data }) => event === "flow" && data.problem?.code === "BROKER_UNREACHABLE");
  Object.assign(lab.faults, { storeGone: false, brokerGone: false });
  await next(stream, ({ event, data }) => event === "tables" && data.problem === null);
  await next(stream, ({ event, data }) => event === "flow" && data.problem === null);
});

test("the lab is looked at only while somebody watches", async (t) => {
  const lab = fakeLab();
  let looks = 0;
  const { parts } = lab.control;
  lab.control.parts = (signal) => {
    looks += 1;
    return parts(signal);
  };
  const { open, close, address } = await watch(t, lab);
  assert.equal(looks, 0);
  const stream = await open();
  await next(stream, ({ event }) => event === "flow");
  close();
  const watchers = async () => (await (await fetch(`${address}/metrics`)).text()).match(/streams (\d+)/)?.[1];
  for (const deadline = Date.now() + 5_000; (await watchers()) !== "0"; )
    assert.ok(Date.now() < deadline, "the stream is still counted");
  const seen = looks;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.equal(looks, seen);
});
