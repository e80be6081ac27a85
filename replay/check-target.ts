/** Whether a topic holds what was sent to it: its records are read again, as any read-committed consumer would, and counted. */

import { LabError } from "../core/errors.ts";
import type { Admin, Kafka } from "../kafka/ports.ts";
import { liveTopic } from "./live-topic.ts";
import { count, type Tallies } from "./tally.ts";

export type CheckOptions = {
  kafka: Kafka;
  admin: Admin;
  target: string;
  /** What was sent. */
  sent: Tallies;
  onRead?: ((records: number) => void) | undefined;
  onOutage?: ((error: Error) => void) | undefined;
  signal: AbortSignal;
};

/**
 * Resolves with true when each partition has the records that were sent, all of them, in their order and nothing else; with false where retention took some of
 * them meanwhile, so that nobody can say. Outages are waited out. REPLAY_DIFFERS names the partition; KAFKA_DENIED without the right to read.
 */
export async function checkTarget(options: CheckOptions): Promise<boolean> {
  const { kafka, admin, target, sent, signal } = options;
  const marks = await admin.watermarks(target);
  const begins = (partition: number) => sent.get(partition)?.since ?? marks.get(partition)!.high;
  if ([...marks].some(([partition, { low }]) => low > begins(partition))) return false;
  const next = new Map([...marks.keys()].map((partition) => [partition, begins(partition)]));
  const found: Tallies = new Map(
    [...next].map(([partition, since]) => [partition, { since, count: 0, crc: 0 }]),
  );
  const left = new Set([...marks].flatMap(([one, { high }]) => (begins(one) < high ? [one] : [])));
  if (left.size > 0) {
    const onOutage = options.onOutage ?? (() => {});
    let read = 0;
    for await (const batch of liveTopic({ kafka, topic: target, next, onOutage, signal })) {
      const { partition, records, nextOffset } = batch;
      const end = marks.get(partition)?.high ?? 0n;
      for (let n = 0; n < records.length; n++) {
        const record = records.at(n);
        // What others write behind the end is not ours to look at.
        if (record.offset < end) count(found.get(partition)!, record);
      }
      read += records.length;
      options.onRead?.(read);
      if (nextOffset >= end) left.delete(partition);
      if (left.size === 0) break;
    }
  }
  for (const [partition, tally] of sent) {
    const there = found.get(partition) ?? { count: 0, crc: 0 };
    if (there.count !== tally.count || there.crc !== tally.crc)
      throw differs(target, partition, there, tally);
  }
  return true;
}

function differs(
  target: string,
  partition: number,
  there: { count: number },
  { since, count: sent }: { since: bigint; count: number },
): LabError {
  const what =
    there.count === sent
      ? `the ${sent} records of ${target}-${partition} from offset ${since} on are not those that were sent, or not in their order`
      : `${target}-${partition} holds ${there.count} records from offset ${since} on, and ${sent} were sent`;
  return new LabError("REPLAY_DIFFERS", what, {
    hint: "another program wrote there, or records were lost or doubled: replay into a topic of its own, or leave the comparison out with --check off",
    details: { topic: target, partition, since: String(since), found: there.count, sent },
  });
}
