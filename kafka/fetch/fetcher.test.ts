import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../../core/errors.ts";
import { until } from "../../test/support/until.ts";
import { createAssignment, type Lane } from "../assignment.ts";
import type { FetchWire } from "./connect.ts";
import type { FetchedPartition, FetchRequest } from "./fetch-api.ts";
import { createFetcher } from "./fetcher.ts";
import type { TopicLayout } from "./metadata-api.ts";

type Asked = { node: number; partition: number; fetchOffset: bigint };
type Reply = Partial<FetchedPartition>;

/**
 * Brokers that are told what to answer: by default that there is nothing, after a moment. Leaders by partition; one record batch is a byte
 * here, and moves a position by one.
 */
function cluster(leaders: Map<number, number>) {
  const state = {
    id: "a".repeat(32) as string | null,
    errorCode: 0,
    layouts: 0,
    asked: [] as Asked[],
    requests: [] as { node: number; request: FetchRequest }[],
    answer: (_: Asked): Reply | Error => ({}),
  };
  const layout = async (): Promise<TopicLayout[]> => {
    state.layouts++;
    return [{ name: "t", id: state.id, errorCode: state.errorCode, leaders: new Map(leaders) }];
  };
  const wire: FetchWire = {
    layout,
    async fetch(node, request) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      state.requests.push({ node, request });
      const partitions = request.topics.flatMap(({ name, partitions: wanted }) =>
        wanted.map(({ partition, fetchOffset }): FetchedPartition => {
          const asked = { node, partition, fetchOffset };
          state.asked.push(asked);
          const reply = state.answer(asked);
          if (reply instanceof Error) throw reply;
          const none = { errorCode: 0, lastStableOffset: 0n, aborted: [], preferredNode: null };
          return { topic: name, partition, ...none, records: Buffer.alloc(0), ...reply };
        }),
      );
      return { throttleMs: 0, errorCode: 0, partitions };
    },
    async close() {},
  };
  return { state, wire };
}

async function open(t: TestContext, leaders: Map<number, number>, maxWaitMs = 50) {
  const { state, wire } = cluster(leaders);
  const taken: string[] = [];
  const done: string[] = [];
  const strays: number[] = [];
  let gate: Promise<void> = Promise.resolve();
  const outages: unknown[] = [];
  const assignment = createAssignment(() => fetcher.wake());
  const fetcher = createFetcher({
    topics: ["t"],
    wire,
    maxWaitMs,
    lanes: assignment.free,
    async take(lane: Lane, { records }, fetchedOffset) {
      taken.push(`${lane.partition}@${fetchedOffset}`);
      await gate;
      lane.nextOffset += BigInt(records.length);
    },
    taken({ partitions: ranges }) {
      for (const { partition, records } of ranges) if (records.length > 0) done.push(String(partition));
    },
    stray(lane) {
      strays.push(lane.partition);
      assignment.hold(lane, "strayed");
    },
    outage: (error) => void outages.push(error),
  });
  t.after(() => fetcher.close());
  let failure: unknown;
  fetcher.failed.catch((error) => {
    failure = error;
  });
  await fetcher.connect();
  const partitions = [...leaders.keys()].map((partition) => ({ topic: "t", partition }));
  assignment.begin(partitions);
  for (const partition of partitions) assignment.seek({ ...partition, nextOffset: 0n });
  const holdReader = () => {
    let letGo = () => {};
    gate = new Promise((resolve) => {
      letGo = resolve;
    });
    return letGo;
  };
  return { state, fetcher, assignment, taken, done, holdReader, strays, outages, failure: () => failure };
}

const some = { records: Buffer.alloc(1) };

test("each partition is asked for at its leader, from where it stands, one request at a time", async (t) => {
  const { state, taken } = await open(
    t,
    new Map([
      [0, 1],
      [1, 2],
      [2, 1],
    ]),
  );
  state.answer = ({ fetchOffset }) => (fetchOffset < 3n ? some : {});
  await until("all of it", () => taken.length === 9);
  assert.deepEqual([...taken].sort(), ["0@0", "0@1", "0@2", "1@0", "1@1", "1@2", "2@0", "2@1", "2@2"]);
  assert.ok(state.asked.every(({ node, partition }) => node === (partition === 1 ? 2 : 1)));
  assert.ok(state.requests.every(({ request }) => request.topics.every(({ id }) => id === "a".repeat(32))));
});

test("who had something goes to the end of the next request", async (t) => {
  const { state } = await open(
    t,
    new Map([
      [0, 1],
      [1, 1],
      [2, 1],
    ]),
  );
  state.answer = ({ partition }) => (partition === 1 ? some : {});
  await until("some rounds", () => state.requests.length > 5);
  const order = state.requests
    .at(-1)!
    .request.topics.flatMap(({ partitions }) => partitions.map((one) => one.partition));
  assert.deepEqual(order, [0, 2, 1]);
});

test("a partition is followed to its new leader, and nobody is told of an outage", async (t) => {
  const leaders = new Map([
    [0, 1],
    [1, 1],
  ]);
  const { state, taken, outages } = await open(t, leaders);
  let leader = 1;
  state.answer = ({ node, partition }) => (partition === 0 && node !== leader ? { errorCode: 6 } : some);
  await until("something", () => taken.length > 4);
  leader = 2;
  leaders.set(0, 2);
  await until("the other asked", () =>
    state.asked.some(({ node, partition }) => node === 2 && partition === 0),
  );
  const from = taken.length;
  await until("it goes on", () => taken.slice(from).some((one) => one.startsWith("0@")));
  assert.deepEqual(outages, []);
  // Each offset was asked for and taken once: nothing was passed over on the way.
  const mine = taken.filter((one) => one.startsWith("0@"));
  assert.deepEqual(
    mine,
    mine.map((_, n) => `0@${n}`),
  );
});

test("a broker that sends us elsewhere is followed, and the leader asked again before a position counts as lost", async (t) => {
  const { state, strays, taken } = await open(t, new Map([[0, 1]]));
  state.answer = ({ node }) => (node === 1 ? { preferredNode: 7 } : { errorCode: 1 });
  await until("both asked more than once", () => state.asked.filter(({ node }) => node === 7).length > 1);
  assert.deepEqual(strays, []);
  state.answer = ({ node }) => (node === 1 ? { errorCode: 1 } : some);
  await until("the leader's word", () => strays.length === 1);
  assert.deepEqual([strays, taken.length], [[0], 0]);
});

test("an outage of one leader is told once, holds up nobody else, and is over by itself", async (t) => {
  const { state, taken, outages } = await open(
    t,
    new Map([
      [0, 1],
      [1, 2],
    ]),
  );
  let isDown = true;
  state.answer = ({ node }) =>
    isDown && node === 1 ? Object.assign(new Error("gone"), { name: "KafkaJSConnectionError" }) : some;
  await until("the outage told", () => outages.length > 0);
  const from = taken.length;
  await until("the other goes on", () => taken.length > from + 3);
  assert.match(String(outages[0]), /gone/);
  isDown = false;
  await until("it is back", () => taken.includes("0@0"));
  assert.equal(outages.length, 1);
});

test("a partition without a leader is waited for, and told", async (t) => {
  const leaders = new Map([[0, -1]]);
  const { state, taken, outages } = await open(t, leaders);
  state.answer = () => some;
  await until("the outage told", () => outages.length === 1);
  leaders.set(0, 3);
  await until("something", () => taken.length > 0);
  assert.equal(state.asked[0]!.node, 3);
});

test("a topic that was made anew under its name ends it, and is not read as the old one", async (t) => {
  const { state, taken, failure } = await open(t, new Map([[0, 1]]));
  state.answer = () => ({ errorCode: 100 });
  state.id = "b".repeat(32);
  await until("the end", () => failure() !== undefined);
  assert.ok(isLabError(failure(), "TOPIC_MISSING"));
  assert.deepEqual(taken, []);
});

test("a topic that stays away ends it as a topic that is missing", async (t) => {
  const { state, failure } = await open(t, new Map([[0, 1]]));
  state.answer = () => ({ errorCode: 3 });
  state.errorCode = 3;
  await until("the end", () => failure() !== undefined);
  assert.equal((failure() as { type?: string }).type, "UNKNOWN_TOPIC_OR_PARTITION");
});

test("an error that no other try heals ends it, and so does a bug", async (t) => {
  const denied = await open(t, new Map([[0, 1]]));
  denied.state.answer = () => ({ errorCode: 29 });
  await until("the end", () => denied.failure() !== undefined);
  assert.equal((denied.failure() as { type?: string }).type, "TOPIC_AUTHORIZATION_FAILED");
  const bug = await open(t, new Map([[0, 1]]));
  bug.state.answer = () => new TypeError("a bug");
  await until("the end", () => bug.failure() !== undefined);
  assert.match(String(bug.failure()), /a bug/);
});

test("what was fetched before a seek is not taken in", async (t) => {
  const { state, taken, assignment } = await open(t, new Map([[0, 1]]));
  let isSought = false;
  state.answer = () => {
    // While the answer is on its way.
    if (!isSought) assignment.seek({ topic: "t", partition: 0, nextOffset: 40n });
    isSought = true;
    return some;
  };
  await until("something", () => taken.length > 1);
  assert.deepEqual(taken.slice(0, 2), ["0@40", "0@41"]);
});

test("a held partition is not asked for until it is released, wherever the others are", async (t) => {
  const { state, assignment } = await open(
    t,
    new Map([
      [0, 1],
      [1, 1],
    ]),
  );
  await until("both asked", () => new Set(state.asked.map(({ partition }) => partition)).size === 2);
  const lane = assignment.lane({ topic: "t", partition: 0 })!;
  assignment.hold(lane, "asked");
  const before = state.requests.length;
  await until("some rounds", () => state.requests.length > before + 4);
  const later = state.requests
    .slice(before + 1)
    .flatMap(({ request }) => request.topics.flatMap((one) => one.partitions));
  assert.ok(later.every(({ partition }) => partition === 1));
  assignment.release(lane, "asked");
  const then = state.asked.length;
  await until("it is asked", () => state.asked.slice(then).some(({ partition }) => partition === 0));
});

test("an answer is done with when the reader has all of it, however long it takes, and not before", async (t) => {
  const { state, taken, done, holdReader } = await open(
    t,
    new Map([
      [0, 1],
      [1, 1],
    ]),
  );
  const letGo = holdReader();
  const given = new Set<number>();
  state.answer = ({ partition }) => (given.size < given.add(partition).size ? some : {});
  await until("the reader has both in hand", () => taken.length === 2);
  const asked = state.requests.length;
  await until("it is asked on without the reader", () => state.requests.length > asked);
  assert.deepEqual(done, []);
  letGo();
  await until("both are done with", () => done.length === 2);
  assert.deepEqual([...done].sort(), ["0", "1"]);
});

test("where something came more is waited for, yet not long; where nothing came, whatever comes is asked for at once", async (t) => {
  const { state, taken } = await open(t, new Map([[0, 1]]), 1_000);
  state.answer = ({ fetchOffset }) => (fetchOffset < 2n ? some : {});
  const asked = () =>
    state.requests.map(({ request }) => ({
      from: request.topics[0]!.partitions[0]!.fetchOffset,
      ...{ minBytes: request.minBytes ?? 1, maxWaitMs: request.maxWaitMs },
    }));
  await until(
    "both, and nothing twice",
    () => taken.length === 2 && asked().filter(({ from }) => from === 2n).length > 2,
  );
  const from = asked().findIndex(({ from }) => from === 1n);
  const [second, third, fourth] = asked().slice(from);
  for (const waiting of [second!, third!]) {
    assert.ok(waiting.minBytes > 1);
    assert.ok(waiting.maxWaitMs <= 100);
  }
  assert.deepEqual([fourth!.minBytes, fourth!.maxWaitMs], [1, 1_000]);
});
