/**
 * Asks each leader for what its partitions have, one request at a time, and follows the partitions where they go.
 *
 * Memory is bounded by the request, not by the partitions: an answer is at most `REQUEST_BYTES` (or one batch, where that is larger), one
 * for each leader. Who had something goes to the end of the next request, as a broker fills its answer in the order of the request.
 */

import { LabError } from "../../core/errors.ts";
import { sleep } from "../../core/retry.ts";
import type { Lane } from "../assignment.ts";
import { within } from "../within.ts";
import type { FetchWire } from "./connect.ts";
import type { FetchAnswer, FetchedPartition, FetchRequest, FetchTopic } from "./fetch-api.ts";
import type { TopicLayout } from "./metadata-api.ts";
import { protocolError } from "./send.ts";

export type FetcherOptions = {
  topics: readonly string[];
  wire: FetchWire;
  /** How long a broker may wait for something to come, and we for a reader that is slow before the other partitions go on, in ms. */
  maxWaitMs: number;
  /** The partitions that may be asked for now. */
  lanes(): Lane[];
  /** Hands over what was fetched; resolves when the reader has it. The lane is in nobody else's hands, and stands at `fetchedOffset`. */
  take(lane: Lane, range: FetchedPartition, fetchedOffset: bigint): Promise<void>;
  /** All that was taken of an answer is in the reader's hands, and the fetcher reads nothing of it any more. */
  taken(answer: FetchAnswer): void;
  /** The lane's position is not in the log. */
  stray(lane: Lane): void;
  /** An outage that is waited out; told once until it is over. */
  outage(error: unknown): void;
};

export type Fetcher = {
  /** Finds the topics, and from then on holds them to be those. Rejects with the client's errors. */
  connect(): Promise<void>;
  /** Something may be asked for now that could not before. */
  wake(): void;
  /** Rejects with what it cannot go on from; pends for ever while it is well. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
};

const REQUEST_BYTES = 4 << 20;
/** An answer to a request: what is in it beside records is little. One that holds a single larger batch is larger. */
export const ANSWER_BYTES = REQUEST_BYTES + (256 << 10);
const PARTITION_BYTES = 2 << 20;
const PAUSE_MS = { first: 50, most: 1_000 };
/**
 * Where something came there is more to come: it is waited for so long, or until so much is there. Else each request of a producer would be
 * an answer of its own. Whoever is idle hears of what comes at once.
 */
const FLOWING = { ms: 100, bytes: 1 << 20 };
/** A partition that moves is found again in less tries than this. */
const TELL_AT = 4;

const CODE = {
  outOfRange: 1,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  unknownTopicId: 100,
  otherTopicId: 103,
};
/**
 * After these the partition is looked for anew, as Java's consumer does: unknown error, topic unknown, leader away, not the leader, timed
 * out, replica away, storage error, leader epochs, offset not available, topic ids.
 */
const LOOK_AGAIN = new Set([-1, 3, 5, 6, 7, 8, 9, 13, 56, 74, 75, 78, 100, 103]);

type Place = { lane: Lane; fetchOffset: bigint; seeks: number };

export function createFetcher(options: FetcherOptions): Fetcher {
  const { wire, topics, maxWaitMs } = options;
  const closing = new AbortController();
  /** Whom to ask for a partition: its leader, or the broker that the leader sent us to. */
  const nodes = new Map<string, number>();
  const sentElsewhere = new Set<string>();
  const ids = new Map<string, string | null>();
  const serving = new Set<number>();
  /** Failed tries since the last good one. */
  const troubles = new WeakMap<Lane, number>();
  const told = new Set<string>();
  const turns = new WeakMap<Lane, number>();
  let turn = 0;
  let wakeUp: () => void = () => {};
  let awake = new Promise<void>((resolve) => {
    wakeUp = resolve;
  });
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});

  function wake(): void {
    wakeUp();
    awake = new Promise((resolve) => {
      wakeUp = resolve;
    });
  }

  const triesOf = (lane: Lane) => troubles.get(lane) ?? 0;

  /** The lane has to be looked for anew. */
  function trouble(lane: Lane, error: unknown): void {
    const tries = triesOf(lane) + 1;
    troubles.set(lane, tries);
    nodes.delete(nameOf(lane));
    sentElsewhere.delete(nameOf(lane));
    wake();
    const text = String(error);
    if (tries < TELL_AT || told.has(text)) return;
    told.add(text);
    options.outage(error);
  }

  function isWell(lane: Lane): void {
    if (triesOf(lane) >= TELL_AT) told.clear();
    troubles.delete(lane);
  }

  // --- who leads what ------------------------------------------------------------------------------------

  async function keepLayout(): Promise<void> {
    while (!closing.signal.aborted) {
      const unled = options.lanes().filter((lane) => !nodes.has(nameOf(lane)));
      if (unled.length === 0) {
        await awake;
        continue;
      }
      const tries = Math.max(...unled.map(triesOf));
      if (tries > 0) await sleep(Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** (tries - 1)), closing.signal);
      try {
        const layout = await wire.layout(topics);
        for (const topic of layout) follow(topic, unled);
      } catch (error) {
        if (!isOfTheWire(error)) throw error;
        for (const lane of unled) trouble(lane, error);
      }
      wake();
    }
  }

  function follow({ name, id, errorCode, leaders }: TopicLayout, unled: readonly Lane[]): void {
    const lanes = unled.filter(({ topic }) => topic === name);
    if (errorCode !== 0) {
      const isOver = !LOOK_AGAIN.has(errorCode) || lanes.some((lane) => triesOf(lane) > TELL_AT);
      if (isOver) fail(protocolError(errorCode));
      else for (const lane of lanes) trouble(lane, protocolError(errorCode));
      return;
    }
    const known = ids.get(name) ?? null;
    if (known !== null && id !== null && known !== id) {
      fail(madeAnew(name));
      return;
    }
    ids.set(name, id ?? known);
    for (const lane of lanes) {
      const leader = leaders.get(lane.partition) ?? -1;
      if (leader < 0) trouble(lane, protocolError(CODE.leaderNotAvailable));
      else {
        nodes.set(nameOf(lane), leader);
        serve(leader);
      }
    }
  }

  // --- one leader ----------------------------------------------------------------------------------------

  function serve(node: number): void {
    if (serving.has(node)) return;
    serving.add(node);
    askForEver(node).catch(fail);
  }

  async function askForEver(node: number): Promise<void> {
    let isFlowing = false;
    while (!closing.signal.aborted) {
      const lanes = options.lanes().filter((lane) => nodes.get(nameOf(lane)) === node);
      if (lanes.length === 0) {
        await awake;
        continue;
      }
      const places = lanes
        .sort((a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0))
        .map((lane): Place => ({ lane, fetchOffset: lane.nextOffset, seeks: lane.seeks }));
      let answer: FetchAnswer;
      try {
        answer = await wire.fetch(node, requestFor(places, isFlowing));
        isFlowing = answer.partitions.some(({ records }) => records.length > 0);
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!isOfTheWire(error)) throw error;
        for (const lane of lanes) trouble(lane, error);
        continue;
      }
      const taking = takeIn(answer, places, node);
      taking.catch(fail);
      await within(maxWaitMs, taking);
    }
  }

  function requestFor(places: readonly Place[], isFlowing: boolean): FetchRequest {
    const asked: (FetchTopic & { partitions: FetchTopic["partitions"][number][] })[] = [];
    for (const { lane, fetchOffset } of places) {
      let last = asked.at(-1);
      if (last?.name !== lane.topic) {
        last = { name: lane.topic, id: ids.get(lane.topic) ?? null, partitions: [] };
        asked.push(last);
      }
      last.partitions.push({ partition: lane.partition, fetchOffset, maxBytes: PARTITION_BYTES });
    }
    const patience = isFlowing
      ? { maxWaitMs: Math.min(maxWaitMs, FLOWING.ms), minBytes: FLOWING.bytes }
      : { maxWaitMs };
    return { ...patience, maxBytes: REQUEST_BYTES, topics: asked };
  }

  /** Resolves when the reader has all of it. */
  async function takeIn(answer: FetchAnswer, places: readonly Place[], node: number): Promise<void> {
    const asked = new Map(places.map((place) => [nameOf(place.lane), place]));
    const taking: Promise<void>[] = [];
    for (const range of answer.partitions) {
      const place = asked.get(nameOf(range));
      if (place === undefined || closing.signal.aborted) continue;
      const { lane, fetchOffset, seeks } = place;
      const isStill = lane.seeks === seeks && lane.nextOffset === fetchOffset;
      if (range.errorCode === 0) {
        isWell(lane);
        if (range.preferredNode !== null) goElsewhere(lane, range.preferredNode, node);
        if (range.records.length > 0 && isStill) taking.push(take(lane, range, fetchOffset));
      } else if (range.errorCode === CODE.outOfRange) {
        // Of a follower that is behind; the leader is asked before it is believed.
        if (sentElsewhere.has(nameOf(lane))) trouble(lane, protocolError(CODE.outOfRange));
        else if (isStill) options.stray(lane);
      } else if (LOOK_AGAIN.has(range.errorCode)) trouble(lane, protocolError(knownCode(range.errorCode)));
      else throw protocolError(range.errorCode);
    }
    await Promise.all(taking);
    options.taken(answer);
  }

  async function take(lane: Lane, range: FetchedPartition, fetchedOffset: bigint): Promise<void> {
    await options.take(lane, range, fetchedOffset);
    // One whose batch did not fit keeps its place, and comes to the front: there it gets it whole.
    if (lane.nextOffset !== fetchedOffset) turns.set(lane, ++turn);
  }

  function goElsewhere(lane: Lane, preferred: number, node: number): void {
    if (preferred === node) return;
    nodes.set(nameOf(lane), preferred);
    sentElsewhere.add(nameOf(lane));
    serve(preferred);
    wake();
  }

  return {
    failed,
    wake,
    async connect() {
      for (const { name, id, errorCode } of await wire.layout(topics)) {
        if (errorCode !== 0) throw protocolError(errorCode);
        ids.set(name, id);
      }
      keepLayout().catch((error: unknown) => {
        if (!closing.signal.aborted) fail(error);
      });
    },
    async close() {
      closing.abort();
      wake();
      await wire.close();
    },
  };
}

/** Not a bug, and not what we refuse ourselves: those are the same the next time. */
function isOfTheWire(error: unknown): boolean {
  return ![LabError, TypeError, RangeError, ReferenceError].some((kind) => error instanceof kind);
}

function madeAnew(topic: string): LabError {
  return new LabError(
    "TOPIC_MISSING",
    `topic ${topic} was deleted, and another of its name made: joining anew`,
    {
      details: { topic },
    },
  );
}

/** The client does not know the errors of topic ids. */
function knownCode(code: number): number {
  return code === CODE.unknownTopicId || code === CODE.otherTopicId ? CODE.unknownTopic : code;
}

function nameOf({ topic, partition }: { topic: string; partition: number }): string {
  return `${partition}/${topic}`;
}
