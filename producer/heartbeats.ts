/** Tells the audit topic, every so often and when idle, too, what was sent of which window. */

import { sleep } from "../core/retry.ts";
import type { Sink } from "../kafka/ports.ts";
import type { Tally } from "./tally.ts";

/** Between two heartbeats, in ms. */
export const BEAT_MS = 10_000;

export type Heartbeats = {
  /** Sends the last one: `isClosed` where all that was sent is acknowledged, and nothing more will come. */
  end(isClosed: boolean): Promise<void>;
};

/**
 * Begins at once. In an outage the next heartbeat waits for the one before it, and says all that came since; what a broker refuses is
 * rejected by `end`.
 */
export function startHeartbeats(options: {
  sink: Sink;
  /** The audit topic. */
  topic: string;
  tally: Tally;
  /** Messages of one origin stay in one partition, and so in their order. */
  origin: string;
  now: () => number;
}): Heartbeats {
  const { sink, topic, tally, origin, now } = options;
  const ending = new AbortController();

  async function beat(isClosed: boolean): Promise<void> {
    const rows = tally.heartbeat(now(), isClosed);
    const records = rows.map((row) => ({ key: origin, value: JSON.stringify(row) }));
    await sink.send(topic, records);
  }

  async function beatOn(): Promise<void> {
    while (!ending.signal.aborted) {
      await beat(false);
      await sleep(BEAT_MS, ending.signal).catch(() => {});
    }
  }

  const beating = beatOn();
  beating.catch(() => {});
  return {
    async end(isClosed) {
      ending.abort();
      await beating;
      await beat(isClosed);
    },
  };
}
