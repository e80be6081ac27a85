/**
 * What aborted transactions wrote, hidden from readers.
 *
 * kafkajs 2.2.4 does it wrongly where transactions overlap (filterAbortedMessages.js): it takes the broker's list as sorted by first
 * offset and steps into one transaction a record, so that aborted records come through; and it takes any record whose key is four
 * zero bytes for the end of a transaction. So the fetch is answered with such records marked as control records, which it leaves out
 * and yet counts into the position.
 */

export type AbortedTransaction = { producerId: string; firstOffset: string };

export type ScannedRecord = {
  offset: string;
  key: Buffer | null;
  isControlRecord: boolean;
  batchContext?: { producerId: string; inTransaction: boolean };
};

const ABORT_MARKER = Buffer.from([0, 0, 0, 0]);

/** Marks the records of aborted transactions. `records` are one partition's, in order; the list is the broker's, in any order. */
export function markAborted(records: readonly ScannedRecord[], aborted: readonly AbortedTransaction[]): void {
  if (aborted.length === 0) return;
  const ahead = aborted
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: BigInt(firstOffset) }))
    .sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const within = new Set<string>();
  let next = 0;
  for (const record of records) {
    if (record.batchContext === undefined) continue;
    const { producerId, inTransaction } = record.batchContext;
    for (
      const offset = BigInt(record.offset);
      ahead[next] !== undefined && ahead[next]!.firstOffset <= offset;
      next++
    )
      within.add(ahead[next]!.producerId);
    if (record.isControlRecord) {
      if (record.key?.equals(ABORT_MARKER) === true) within.delete(producerId);
    } else if (inTransaction && within.has(producerId)) record.isControlRecord = true;
  }
}

export type FetchedPartition = {
  messages: ScannedRecord[];
  abortedTransactions?: AbortedTransaction[] | null;
};

/** Does so in a whole answer, and leaves nothing for the client to filter. */
export function markAnswer<T extends { responses: { partitions: FetchedPartition[] }[] }>(answer: T): T {
  for (const { partitions } of answer.responses)
    for (const partition of partitions) {
      markAborted(partition.messages, partition.abortedTransactions ?? []);
      partition.abortedTransactions = [];
    }
  return answer;
}
