import assert from "node:assert/strict";
import test from "node:test";
import RequestQueue from "kafkajs/src/network/requestQueue/index.js";
import { quietIdleQueues } from "./idle-queues.ts";

quietIdleQueues();
quietIdleQueues();

const logger = { debug() {}, warn() {} };
const newQueue = (maxInFlightRequests: number) =>
  new RequestQueue({ maxInFlightRequests, requestTimeout: 1_000, clientId: "test", broker: "b", logger });

/** Resolves when the queue sends it. */
function push(queue: RequestQueue, correlationId: number): Promise<void> {
  return new Promise((resolve) => {
    const entry = { correlationId, resolve() {}, reject() {} };
    queue.push({ entry, expectResponse: true, sendRequest: resolve });
  });
}

test("a queue in which nothing waits sets no timer", async () => {
  const queue = newQueue(1);
  await push(queue, 1);
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
  assert.equal(queue.throttleCheckTimeoutId, null);
});

test("a request that is throttled is sent when that is over, and no timer stays", async () => {
  const queue = newQueue(1);
  queue.maybeThrottle(20);
  await push(queue, 1);
  assert.ok(Date.now() >= queue.throttledUntil);
  await new Promise(setImmediate);
  assert.equal(queue.throttleCheckTimeoutId, null);
});

test("a request that waits for its turn is sent when the one before it is answered", async () => {
  const queue = newQueue(1);
  await push(queue, 1);
  const second = push(queue, 2);
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
  await second;
  queue.destroy();
});
