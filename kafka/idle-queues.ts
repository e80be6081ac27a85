/**
 * kafkajs 2.2.4 looks for requests that wait each millisecond on each connection, whether any waits or not (requestQueue/index.js,
 * scheduleCheckPendingRequests; its issue 1704): three connections that have nothing to say took three hundredths of a core.
 */

import RequestQueue from "kafkajs/src/network/requestQueue/index.js";

const quieted = Symbol("looks only where something waits");

type Queue = {
  [quieted]?: true;
  pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
};

/** From now on a connection's queue sets a timer only while a request waits in it. Once is enough. */
export function quietIdleQueues(): void {
  const queue = RequestQueue.prototype as unknown as Queue;
  if (queue[quieted]) return;
  queue[quieted] = true;
  const { scheduleCheckPendingRequests } = queue;
  // Whatever comes to wait later sets a timer of its own, and what is throttled waits.
  queue.scheduleCheckPendingRequests = function scheduleWhereOneWaits(this: Queue) {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}
