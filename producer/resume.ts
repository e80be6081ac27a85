/** Where a generator goes on: after the last message that the topic has of it. */

import { decodeSequence, SEQUENCE_HEADER } from "../audit/header.ts";
import type { Admin } from "../kafka/ports.ts";

/**
 * The first index that no message of the topic has. The count of messages the topic was given says it, unless a producer was killed while
 * some were on their way: then later ones may be there and earlier ones not, so the last of each partition are asked too.
 */
export async function nextIndex(admin: Admin, topic: string, signal: AbortSignal): Promise<number> {
  const ends = [...(await admin.watermarks(topic))];
  const lasts = await Promise.all(
    ends
      .filter(([, { low, high }]) => high > low)
      .map(([partition, { high }]) => admin.recordAt({ topic, partition, nextOffset: high - 1n }, signal)),
  );
  const places = lasts.map((record) => {
    const header = record?.headers.find(([name]) => name === SEQUENCE_HEADER)?.[1];
    return (decodeSequence(header?.toString() ?? "")?.n ?? -1) + 1;
  });
  const given = ends.reduce((sum, [, { high }]) => sum + high, 0n);
  return Math.max(Number(given), ...places);
}
