import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Consumer } from "kafkajs";
import { isLabError } from "../core/errors.ts";
import { until } from "../test/support/until.ts";
import { watchMember } from "./member.ts";

/** A consumer that can do nothing but give signs. */
function consumer() {
  const emitter = new EventEmitter();
  const names = { HEARTBEAT: "heartbeat", GROUP_JOIN: "join", CONNECT: "connect", FETCH: "fetch" };
  const given = {
    events: names,
    on: (name: string, listener: () => void) => emitter.on(name, listener),
  } as unknown as Pick<Consumer, "events" | "on">;
  return { given, sign: (name: keyof typeof names) => emitter.emit(names[name]) };
}

test("a member that neither beats, fetches, joins nor connects is ended as an outage, and one that does any of it is not", async () => {
  const { given, sign } = consumer();
  const crashes: Error[] = [];
  const watching = watchMember(given, 120, (error) => void crashes.push(error));
  for (const name of ["CONNECT", "GROUP_JOIN", "FETCH", "HEARTBEAT"] as const) {
    await delay(60);
    sign(name);
  }
  assert.equal(crashes.length, 0);
  await delay(600);
  assert.equal(crashes.length, 1);
  assert.ok(isLabError(crashes[0], "BROKER_UNREACHABLE") && crashes[0].retryable);
  watching.stop();
});

test("a watch that is over ends nobody", async () => {
  const watching = watchMember(consumer().given, 40, () => assert.fail("ended"));
  watching.stop();
  await delay(150);
});

test("a clock that is set back ends the member, as its client would send no heartbeat until it has caught up", async (t) => {
  let skewMs = 0;
  const real = Date.now;
  t.mock.method(Date, "now", () => real() - skewMs);
  const crashes: Error[] = [];
  const watching = watchMember(consumer().given, 2_000, (error) => void crashes.push(error));
  t.after(() => watching.stop());
  skewMs = 3_600_000;
  await until("the end", () => crashes.length > 0);
  assert.match(String(crashes[0]), /clock was set back/);
});
