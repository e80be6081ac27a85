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
 * moved all that is on the way comes to its end, and what is left of it is sent again, one by one. But of a producer that it does not know a leader takes
 * whatever comes first: the first batch of a partition travels alone.
 */
export function createBatchLane({ offer, produce }: Leaders): BatchLane {
  type Flight = { topic: string; names: readonly string[]; offered: Promise<Offer> };
  let flights: Flight[] = [];
  /** Partitions whose leaders know the producer. */
  const known = new Set<string>();

  async function land(): Promise<void> {
    const { offered, names } = flights[0]!;
    const { failure, hasMoved } = await offered;
    if (failure === undefined) {
      flights.shift();
      for (const name of names) known.add(name);
      return;
    }
    const landed = await Promise.all(
      flights.map(async (flight) => ({ ...flight, ...(await flight.offered) })),
    );
    flights = [];
    if (!hasMoved) throw failure;
    for (const { topic, names, rest } of landed) {
      if (rest.length > 0) await produce(topic, rest);
      for (const name of names) known.add(name);
    }
  }

  return {
    async push(topic, partitions) {
      const names = partitions.map(({ partition }) => `${partition}/${topic}`);
      const fresh = new Set(names.filter((name) => !known.has(name)));
      const isBehindFirst = () => flights.some((flight) => flight.names.some((name) => fresh.has(name)));
      while (flights.length >= MOST_ON_THE_WAY || (fresh.size > 0 && isBehindFirst())) await land();
      flights.push({ topic, names, offered: offer(topic, partitions) });
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
