/** Batches of one topic to whoever leads their partitions, also while leaders change. */

import { createErrorFromCode } from "kafkajs/src/protocol/error.js";

export type EncodedPartition = { partition: number; batch: Buffer };

export type LeaderConnections = {
  /** Node id by partition, as far as is known. */
  leaders(): Promise<ReadonlyMap<number, number>>;
  /** What is known of leaders is wrong. */
  forgetLeaders(): void;
  /** The broker's answer for each partition; 0 where it has the batch. */
  send(
    nodeId: number,
    partitions: readonly EncodedPartition[],
  ): Promise<{ partition: number; errorCode: number }[]>;
  /** Calls until it resolves, while `isRetryable`. */
  patiently(call: () => Promise<void>, isRetryable: (error: unknown) => boolean): Promise<void>;
};

const NO_LEADER = 5;
/** Another broker leads the partition, or will in a moment: so it is right behind the making of a topic, and after an election. */
const MOVED = new Set(["NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"]);

/** What became of batches that were sent once: those that no leader has, and why; `hasMoved` where another leads them now. */
export type Offer = { rest: readonly EncodedPartition[]; failure?: unknown; hasMoved: boolean };

/** Sends each batch once. Never rejects, and resolves when nothing is on its way any more. */
export async function offerToLeaders(
  connections: LeaderConnections,
  partitions: readonly EncodedPartition[],
): Promise<Offer> {
  const sent = new Set<number>();
  try {
    await sendOnce(connections, partitions, sent);
    return { rest: [], hasMoved: false };
  } catch (failure) {
    const hasMoved = isMove(failure);
    if (hasMoved) connections.forgetLeaders();
    return { rest: partitions.filter(({ partition }) => !sent.has(partition)), failure, hasMoved };
  }
}

/**
 * Resolves when each partition's leader has its batch. A batch that is sent again has the same sequence number, so the broker takes it once.
 * Rejects with the client's error for the first other answer, when nothing is on its way any more.
 */
export async function sendToLeaders(
  connections: LeaderConnections,
  partitions: readonly EncodedPartition[],
): Promise<void> {
  const sent = new Set<number>();
  const sendRest = () =>
    sendOnce(
      connections,
      partitions.filter(({ partition }) => !sent.has(partition)),
      sent,
    );
  await connections.patiently(sendRest, (error) => {
    const hasMoved = isMove(error);
    if (hasMoved) connections.forgetLeaders();
    return hasMoved;
  });
}

function isMove(error: unknown): boolean {
  return MOVED.has((error as { type?: string }).type ?? "");
}

async function sendOnce(
  connections: LeaderConnections,
  partitions: readonly EncodedPartition[],
  sent: Set<number>,
): Promise<void> {
  const leaders = await connections.leaders();
  const byLeader = new Map<number, EncodedPartition[]>();
  for (const one of partitions) {
    const leader = leaders.get(one.partition) ?? -1;
    if (leader < 0) throw createErrorFromCode(NO_LEADER);
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), one]);
  }
  const sending = [...byLeader].map(async ([nodeId, encoded]) => {
    const answers = await connections.send(nodeId, encoded);
    for (const { partition, errorCode } of answers) if (errorCode === 0) sent.add(partition);
    const failed = answers.find(({ errorCode }) => errorCode !== 0);
    if (failed !== undefined) throw createErrorFromCode(failed.errorCode);
  });
  // All of them end before it is said that one failed: nothing may be on its way when the transaction is given up.
  const failed = (await Promise.allSettled(sending)).find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}
