/** A run whose messages are stamped and counted, and which says in heartbeats what it sent. */

import type { Kafka } from "../kafka/ports.ts";
import { eventTimeFrom } from "./event-time.ts";
import { startHeartbeats } from "./heartbeats.ts";
import type { Message } from "./source.ts";
import { createTally, type Tally } from "./tally.ts";

export type AuditOptions = {
  /** Where heartbeats go. */
  topic: string;
  /** Who sends, across runs. */
  origin: string;
  host: string;
  /** Field of the JSON value that holds the event's time; absent: the time of sending. */
  eventTime: string | undefined;
};

/** How a run stamps and counts. */
export type Audited = {
  tally: Tally;
  /** When a message's event was, in ms; null for one that does not say: it goes without a stamp. */
  eventTime: (message: Message) => number | null;
};

/** How long a stop waits for the last heartbeat in an outage. */
const GRACE_MS = 2_000;

/**
 * Does `work` beside heartbeats about `about`, the topic that is written to. They have a sink of their own, for the last one comes when all
 * messages are acknowledged. In an outage that lasts beyond a stop it is given up with BROKER_UNREACHABLE.
 */
export async function audited(
  audit: AuditOptions,
  run: { kafka: Kafka; about: string; now: () => number; signal: AbortSignal },
  work: (audited: Audited) => Promise<void>,
): Promise<void> {
  const { now, signal } = run;
  const { topic, origin, host, eventTime: field } = audit;
  const tally = createTally({ topic: run.about, origin, host, epoch: now(), isTimed: field !== undefined });
  const eventTime = field === undefined ? now : (message: Message) => eventTimeFrom(field, message);
  const sink = await run.kafka.sink({ acks: "all", idempotent: true });
  try {
    const heartbeats = startHeartbeats({ sink, topic, tally, origin, now });
    let isClosed = false;
    try {
      await work({ tally, eventTime });
      isClosed = true;
    } finally {
      const ended = heartbeats.end(isClosed);
      const giveUp = signal.aborted ? setTimeout(() => sink.close(), GRACE_MS) : undefined;
      await ended.finally(() => clearTimeout(giveUp));
    }
  } finally {
    await sink.close();
  }
}
