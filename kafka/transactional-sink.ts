/** Records in transactions: batches per partition with their sequence numbers, and what is left of it when something fails. */

import { isLabError, LabError } from "../core/errors.ts";
import { openBrokerAccess } from "./broker-access.ts";
import { RAISE_LIMIT } from "./failures.ts";
import { firstContact } from "./first-contact.ts";
import type { ExactRecord, KafkaOptions, TransactionalSink, TransactionOptions } from "./ports.ts";
import { encodeBatch, isNear, recordBytes } from "./record-batch.ts";
import { openTransactionBroker } from "./transaction-broker.ts";

/** What the broker's default limit of 1 MiB holds with its overhead, whatever the records. */
const BATCH_BYTES = 900 * 1024;
const LAST_SEQUENCE = 2 ** 31;

/** Makes the first contact, then the id ours. */
export async function openTransactionalSink(
  kafka: KafkaOptions,
  options: TransactionOptions,
): Promise<TransactionalSink> {
  const access = openBrokerAccess(kafka);
  await firstContact(access, kafka, options.signal);
  await access.close();
  const broker = await openTransactionBroker(kafka, options);
  const { producerId, producerEpoch } = broker;
  const sequences = new Map<string, number>();
  const joined = new Map<string, Set<number>>();
  let failure: unknown;

  /** After a failure nothing is known of the transaction any more, so nothing may be added to it. */
  async function guarded(work: () => Promise<void>): Promise<void> {
    if (failure !== undefined) throw failure;
    try {
      await work();
    } catch (error) {
      failure = error;
      throw error;
    }
  }

  async function join(topic: string, partitions: Iterable<number>): Promise<void> {
    const known = joined.get(topic) ?? new Set();
    joined.set(topic, known);
    const fresh = [...partitions].filter((partition) => !known.has(partition));
    if (fresh.length === 0) return;
    const there = await broker.partitions(topic);
    const missing = fresh.find((partition) => !there.includes(partition));
    if (missing !== undefined)
      throw new LabError("TOPIC_MISSING", `topic ${topic} has no partition ${missing}`, {
        details: { topic, partition: missing },
      });
    await broker.join(topic, fresh);
    for (const partition of fresh) known.add(partition);
  }

  async function sendRound(topic: string, round: ReadonlyMap<number, readonly ExactRecord[]>): Promise<void> {
    await join(topic, round.keys());
    const encoded = [...round].map(([partition, records]) => {
      const name = `${partition}/${topic}`;
      const sequence = sequences.get(name) ?? 0;
      sequences.set(name, (sequence + records.length) % LAST_SEQUENCE);
      return { partition, batch: encodeBatch(records, { producerId, producerEpoch, sequence }) };
    });
    try {
      await broker.produce(topic, encoded);
    } catch (error) {
      throw isLabError(error, "MESSAGE_TOO_LARGE") ? tooLarge(topic, round, error) : error;
    }
  }

  return {
    send: (topic, records) =>
      guarded(async () => {
        for (const round of rounds(records)) await sendRound(topic, round);
      }),
    commit: () =>
      guarded(async () => {
        const isBegun = [...joined.values()].some((partitions) => partitions.size > 0);
        joined.clear();
        if (isBegun) await broker.commit();
      }),
    async close() {
      const isOpen = failure === undefined && [...joined.values()].some((partitions) => partitions.size > 0);
      failure ??= new LabError("INTERNAL", "the sink is closed");
      if (isOpen) await broker.abort().catch(() => {});
      await broker.close();
    },
  };
}

/** A request takes one batch a partition: the records in as many requests as the fullest partition needs. */
function* rounds(records: readonly ExactRecord[]): Generator<Map<number, ExactRecord[]>> {
  let round = new Map<number, ExactRecord[]>();
  const bytes = new Map<number, number>();
  for (const record of records) {
    const { partition } = record;
    const size = recordBytes(record);
    const batch = round.get(partition) ?? [];
    const held = bytes.get(partition) ?? 0;
    const isFull = held + size > BATCH_BYTES || !isNear(record.timestampMs, (batch[0] ?? record).timestampMs);
    if (batch.length > 0 && isFull) {
      yield round;
      round = new Map();
      bytes.clear();
      round.set(partition, [record]);
      bytes.set(partition, size);
      continue;
    }
    batch.push(record);
    round.set(partition, batch);
    bytes.set(partition, held + size);
  }
  if (round.size > 0) yield round;
}

function tooLarge(
  topic: string,
  round: ReadonlyMap<number, readonly ExactRecord[]>,
  cause: unknown,
): LabError {
  const bytes = Math.max(
    ...[...round.values()].map((batch) => batch.reduce((sum, one) => sum + recordBytes(one), 0)),
  );
  return new LabError("MESSAGE_TOO_LARGE", `topic ${topic} does not take a batch of ${bytes} bytes`, {
    hint: RAISE_LIMIT,
    details: { topic, bytes },
    cause,
  });
}
