import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createBatchLane } from "./batch-lane.ts";
import { type EncodedPartition, offerToLeaders, sendToLeaders } from "./leader-sends.ts";

const PARTITIONS = 3;

/**
 * Brokers of a topic: each takes the next sequence number of a partition it leads, one that it has again, and nothing else; but any of a producer that
 * wrote nothing to the partition before.
 */
function cluster(draw: () => number) {
  const logs = Array.from({ length: PARTITIONS }, (): number[] => []);
  let leader = new Map<number, number>();
  let known: ReadonlyMap<number, number> | null = null;
  const move = () => {
    leader = new Map(logs.map((_, partition) => [partition, draw() % 2]));
  };
  move();
  let onTheWay = 0;
  let most = 0;
  const connections = {
    async leaders() {
      known ??= new Map(leader);
      return known;
    },
    forgetLeaders() {
      known = null;
    },
    async send(nodeId: number, partitions: readonly EncodedPartition[]) {
      onTheWay += 1;
      most = Math.max(most, onTheWay);
      const wait = draw() % 4;
      const answers = partitions.map(({ partition, batch }) => {
        if (draw() % 8 === 0) move();
        const [log, sequence] = [logs[partition]!, batch.readInt32BE(0)];
        if (leader.get(partition) !== nodeId) return { partition, errorCode: 6 };
        const [next, isKnown] = [(log.at(-1) ?? -1) + 1, log.length > 0];
        if (isKnown && (sequence > next || sequence < log[0]!)) return { partition, errorCode: 45 };
        if (!isKnown || sequence === next) log.push(sequence);
        return { partition, errorCode: 0 };
      });
      // Answers come in their order or not, as from several brokers.
      for (let turn = 0; turn < wait; turn++) await new Promise(setImmediate);
      onTheWay -= 1;
      return answers;
    },
    async patiently(call: () => Promise<void>, isRetryable: (error: unknown) => boolean) {
      for (;;) {
        try {
          return await call();
        } catch (error) {
          if (!isRetryable(error)) throw error;
        }
      }
    },
  };
  return { logs, connections, most: () => most };
}

function batch(sequence: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(sequence);
  return bytes;
}

test("leaders get each batch once and in order, several on their way, however often they change", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.subarray([0, 1, 2], { minLength: 1 }), { maxLength: 30 }),
      fc.infiniteStream(fc.nat()),
      async (rounds, stream) => {
        const draw = () => stream.next().value as number;
        const { logs, connections } = cluster(draw);
        const lane = createBatchLane({
          offer: (_, partitions) => offerToLeaders(connections, partitions),
          produce: (_, partitions) => sendToLeaders(connections, partitions),
        });
        const next = [0, 0, 0];
        for (const round of rounds)
          await lane.push(
            "t",
            round.map((partition) => ({ partition, batch: batch(next[partition]!++) })),
          );
        await lane.drain();
        assert.deepEqual(
          logs,
          next.map((count) => Array.from({ length: count }, (_, sequence) => sequence)),
        );
      },
    ),
  );
});

test("three requests are on their way at once where leaders stay, and a failure is told when none is", async () => {
  const waiting: (() => void)[] = [];
  const failure = new Error("no room");
  let refuses = false;
  const lane = createBatchLane({
    offer: () =>
      new Promise((resolve) => {
        const answer = refuses ? { rest: [], failure, hasMoved: false } : { rest: [], hasMoved: false };
        waiting.push(() => resolve(answer));
      }),
    produce: () => assert.fail("nothing has moved"),
  });
  const one = [{ partition: 0, batch: batch(0) }];
  const first = lane.push("t", one).then(() => lane.push("t", one));
  await new Promise(setImmediate);
  // The first of a partition alone.
  assert.equal(waiting.length, 1);
  waiting.shift()!();
  await first;
  waiting.shift()!();
  await lane.drain();
  for (let n = 0; n < 2; n++) await lane.push("t", one);
  refuses = true;
  await lane.push("t", one);
  refuses = false;
  const fourth = lane.push("t", one);
  assert.equal(waiting.length, 3);
  waiting[0]!();
  await fourth;
  assert.equal(waiting.length, 4);
  let isTold = false;
  const told = assert.rejects(lane.drain(), failure).then(() => {
    isTold = true;
  });
  for (const at of [1, 2]) waiting[at]!();
  await new Promise(setImmediate);
  assert.equal(isTold, false);
  waiting[3]!();
  await told;
});
