import assert from "node:assert/strict";
import { test } from "node:test";
import { retry } from "../core/retry.ts";
import { type EncodedPartition, type LeaderConnections, sendToLeaders } from "./leader-sends.ts";

const NOT_LEADER = 6;
const TOO_LARGE = 10;
const batches: EncodedPartition[] = [0, 1, 2].map((partition) => ({
  partition,
  batch: Buffer.from([partition]),
}));

/** Leaders by partition, round after round; `answer` gives the error code of a partition at a node. */
function scripted(
  rounds: readonly ReadonlyMap<number, number>[],
  answer: (nodeId: number, partition: number, round: number) => number,
) {
  const log: string[] = [];
  let round = 0;
  const connections: LeaderConnections = {
    leaders: async () => rounds[round]!,
    forgetLeaders: () => round++,
    send: async (nodeId, partitions) => {
      log.push(`${nodeId}:${partitions.map(({ partition }) => partition)}`);
      return partitions.map(({ partition }) => ({ partition, errorCode: answer(nodeId, partition, round) }));
    },
    patiently: (call, isRetryable) =>
      retry(call, { signal: new AbortController().signal, firstMs: 1, maxMs: 1, isRetryable }),
  };
  return { connections, log };
}

const leaders = (...nodes: number[]) => new Map(nodes.map((node, partition) => [partition, node]));

test("a batch whose leader has moved goes to the new one, and the others are not sent again", async () => {
  const { connections, log } = scripted([leaders(1, 1, 2), leaders(1, 3, 2)], (node, partition) =>
    partition === 1 && node === 1 ? NOT_LEADER : 0,
  );
  await sendToLeaders(connections, batches);
  assert.deepEqual(log, ["1:0,1", "2:2", "3:1"]);
});

test("a partition without a leader is waited for", async () => {
  const { connections, log } = scripted([leaders(1, -1, 1), leaders(1, 1, 1)], () => 0);
  await sendToLeaders(connections, batches);
  assert.deepEqual(log, ["1:0,1,2"]);
});

test("any other answer fails, when all that was sent is answered", async () => {
  const { connections, log } = scripted([leaders(1, 2, 3)], (node) => (node === 1 ? TOO_LARGE : 0));
  await assert.rejects(sendToLeaders(connections, batches), { type: "MESSAGE_TOO_LARGE" });
  assert.deepEqual(log, ["1:0", "2:1", "3:2"]);
});
