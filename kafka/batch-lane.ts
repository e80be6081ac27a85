/** Batches on their way to their leaders: several requests at a time, in their order, and what is done when leaders change meanwhile. */

import type { EncodedPartition, Offer } from "./leader-sends.ts";

/** Who takes them; see `TransactionBroker`. */
export type Leaders = {
  offer(topic: string, partitions: readonly EncodedPartition[]): Promise<Offer>;
  produce(topic: string, partitions: readonly EncodedPartition[]): Promise<void>;
};

export type BatchLane = {
  /** Resolves when there is room for the next one. Rejects with what became of an earlier one, when nothing is on its way any more. */
  push(topic: string, partitions: readonly EncodedPartition[]): Promise<void>;
  /** Resolves when leaders have all of them. Rejects in the same way. */
  drain(): Promise<void>;
  /** Resolves when nothing is on its way any more, whatever became of it. */
  settle(): Promise<void>;
};

/** Brokers know the last five batches of a producer in a partition again when they come twice. */
const MOST_ON_THE_WAY = 3;

/**
 * Leaders take batches of a partition in the order of their sequence numbers alone: where one was refused those behind it are, too. So when a leader has
 * moved all that is on the way comes to its end, and what is left of it is sent again, one by one.
 */
export function createBatchLane({ offer, produce }: Leaders): BatchLane {
  type Flight = { topic: string; offered: Promise<Offer> };
  let flights: Flight[] = [];

  async function land(): Promise<void> {
    const { offered } = flights[0]!;
    const { failure, hasMoved } = await offered;
    if (failure === undefined) {
      flights.shift();
      return;
    }
    const landed = await Promise.all(
      flights.map(async (flight) => ({ ...flight, ...(await flight.offered) })),
    );
    flights = [];
    if (!hasMoved) throw failure;
    for (const { topic, rest } of landed) if (rest.length > 0) await produce(topic, rest);
  }

  return {
    async push(topic, partitions) {
      while (flights.length >= MOST_ON_THE_WAY) await land();
      flights.push({ topic, offered: offer(topic, partitions) });
    },
    async drain() {
      while (flights.length > 0) await land();
    },
    async settle() {
      await Promise.all(flights.map(({ offered }) => offered));
      flights = [];
    },
  };
}
