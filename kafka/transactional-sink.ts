/** Records in transactions: batches per partition with their sequence numbers, and what is left of it when something fails. */

import { isLabError, LabError } from "../core/errors.ts";
import { createBatchLane } from "./batch-lane.ts";
import { openBrokerAccess } from "./broker-access.ts";
import { RAISE_LIMIT } from "./failures.ts";
import { firstContact } from "./first-contact.ts";
import type { EncodedPartition } from "./leader-sends.ts";
import type { ExactRecord, KafkaOptions, TransactionalSink, TransactionOptions } from "./ports.ts";
import { type BatchWriter, createBatchWriter, recordBytes } from "./record-batch.ts";
import { openTransactionBroker } from "./transaction-broker.ts";

/** What the broker's default limit of 1 MiB holds with its overhead, whatever the records. */
const BATCH_BYTES = 900 * 1024;
/** Of all partitions in one request: so much is held for each that is on its way. */
const ROUND_BYTES = 8 * 1024 * 1024;
const LAST_SEQUENCE = 2 ** 31;

/** The batches of a topic, by partition: a request takes one of each. */
type Round = Map<number, BatchWriter>;

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
  const lane = createBatchLane({
    produce: (topic, partitions) => explained(topic, partitions, broker.produce(topic, partitions)),
    async offer(topic, partitions) {
      const offer = await broker.offer(topic, partitions);
      return { ...offer, failure: explain(topic, partitions, offer.failure) };
    },
  });
  const sequences = new Map<string, number>();
  const joined = new Map<string, Set<number>>();
  const rounds = new Map<string, Round>();
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

  /** Sends what the batches of a topic hold. */
  async function flush(topic: string, round: Round): Promise<void> {
    const encoded: EncodedPartition[] = [];
    for (const [partition, writer] of round) {
      const { records } = writer;
      if (records === 0) continue;
      const name = `${partition}/${topic}`;
      const sequence = sequences.get(name) ?? 0;
      sequences.set(name, (sequence + records) % LAST_SEQUENCE);
      encoded.push({ partition, batch: writer.finish({ producerId, producerEpoch, sequence }) });
    }
    if (encoded.length > 0) await lane.push(topic, encoded);
  }

  async function sendRounds(topic: string, records: readonly ExactRecord[]): Promise<void> {
    const round: Round = rounds.get(topic) ?? new Map();
    rounds.set(topic, round);
    let held = 0;
    for (const record of records) {
      const size = recordBytes(record);
      const writer = round.get(record.partition) ?? createBatchWriter();
      round.set(record.partition, writer);
      const isFull =
        (writer.records > 0 && writer.bytes + size > BATCH_BYTES) || (held > 0 && held + size > ROUND_BYTES);
      if (isFull || !writer.takes(record.timestampMs)) {
        await flush(topic, round);
        held = 0;
      }
      writer.add(record);
      held += size;
    }
    await flush(topic, round);
  }

  const isBegun = () => [...joined.values()].some((partitions) => partitions.size > 0);

  return {
    send: (topic, records) =>
      guarded(async () => {
        await join(topic, new Set(records.map(({ partition }) => partition)));
        await sendRounds(topic, records);
      }),
    commit: () =>
      guarded(async () => {
        await lane.drain();
        const isOpen = isBegun();
        joined.clear();
        if (isOpen) await broker.commit();
      }),
    async close() {
      const isOpen = failure === undefined && isBegun();
      failure ??= new LabError("INTERNAL", "the sink is closed");
      await lane.settle();
      if (isOpen) await broker.abort().catch(() => {});
      await broker.close();
    },
  };
}

async function explained(
  topic: string,
  partitions: readonly EncodedPartition[],
  sending: Promise<void>,
): Promise<void> {
  try {
    await sending;
  } catch (error) {
    throw explain(topic, partitions, error);
  }
}

/** The failure, which says of what is too large how large it is. */
function explain(topic: string, partitions: readonly EncodedPartition[], failure: unknown): unknown {
  if (!isLabError(failure, "MESSAGE_TOO_LARGE")) return failure;
  const bytes = Math.max(...partitions.map(({ batch }) => batch.length));
  return new LabError("MESSAGE_TOO_LARGE", `topic ${topic} does not take a batch of ${bytes} bytes`, {
    hint: RAISE_LIMIT,
    details: { topic, bytes },
    cause: failure,
  });
}
