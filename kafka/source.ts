/**
 * A reader that outlives its clients: a member of a group says which partitions are ours, a fetcher brings their records from where the
 * reader put them, and both are made anew after an outage.
 */

import { setTimeout as delay } from "node:timers/promises";
import { type ErrorCode, isLabError, type LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { createAssignment, type Lane } from "./assignment.ts";
import { EARLIEST, openBrokerAccess } from "./broker-access.ts";
import { classify, isCoordinatorUnfound, READER, unreachable } from "./failures.ts";
import type { AnswerMemory } from "./fetch/answer-memory.ts";
import { recordsOf } from "./fetch/columns.ts";
import { openFetchWire } from "./fetch/connect.ts";
import type { FetchedPartition } from "./fetch/fetch-api.ts";
import { createFetcher, type Fetcher } from "./fetch/fetcher.ts";
import { readRange } from "./fetch/range.ts";
import { firstContact } from "./first-contact.ts";
import { createMember, type Member } from "./member.ts";
import type { FetchedBatch, KafkaOptions, Source, SourceHandlers, SourceOptions } from "./ports.ts";
import { within } from "./within.ts";

const PAUSE_MS = { first: 250, most: 2_000 };
/**
 * Failures inside the client that name no outage, and batches that are damaged: joined again this often before they are fatal, where no
 * batch came in between, or the same is damaged still.
 */
const MOST_BUGS = 3;
/** What ends by itself once somebody has put it right, though the same attempt fails till then. */
const COMES_BACK: ReadonlySet<ErrorCode> = new Set([
  "TOPIC_MISSING",
  "KAFKA_DENIED",
  "KAFKA_TLS",
  "CREDENTIALS_MISSING",
]);
/** How long a later contact may take. */
const CONTACT_MS = 30_000;
/** How long `close` waits for a group that is busy with itself. */
const LEAVE_MS = 3_000;
const MAX_WAIT_MS = 250;
/**
 * Where a reader pauses partitions while it takes in a batch, what came together with that batch is kept for their resume, up to so many
 * bytes; beyond them, and what comes later, is fetched again.
 */
const PARKED_BYTES = 8 << 20;

export function createSource(kafka: KafkaOptions, options: SourceOptions, memory: AnswerMemory): Source {
  const access = openBrokerAccess(kafka);
  const assignment = createAssignment(() => {
    fetcher?.wake();
    signalChange();
  });
  const closing = new AbortController();
  const stopped = new Promise<"closed">((resolve) => {
    closing.signal.addEventListener("abort", () => resolve("closed"), { once: true });
  });
  const attempt = { ...kafka, topic: options.topics.join(", "), group: options.group, rights: READER };
  let handlers: SourceHandlers | null = null;
  let member: Member | null = null;
  let fetcher: Fetcher | null = null;
  let signalChange: () => void = () => {};
  let changed: Promise<void> = nextChange();
  let parkedBytes = 0;
  let hasJoined = false;
  /** The last failure that is no outage, and how often it came without a batch in between, or at the same place. */
  let bug = { text: "", hasPlace: false, times: 0 };
  let abandon: () => void = () => {};
  let memberEnds: Promise<unknown> = Promise.resolve();
  let fail: (error: Error) => void = () => {};

  function endAssignment(): void {
    const ended = assignment.end();
    if (ended !== null) handlers?.revoked(ended);
  }

  /** Resolves when a lane was released, moved or ended. */
  function nextChange(): Promise<void> {
    return new Promise((resolve) => {
      signalChange = () => {
        changed = nextChange();
        resolve();
      };
    });
  }

  const newMember = (): Member =>
    createMember(kafka, options, {
      joined(partitions) {
        endAssignment();
        handlers?.assigned(partitions, assignment.begin(partitions));
      },
      lost: endAssignment,
    });

  const newFetcher = (): Fetcher =>
    createFetcher({
      topics: options.topics,
      wire: openFetchWire(kafka, memory),
      maxWaitMs: options.maxWaitMs ?? MAX_WAIT_MS,
      lanes: assignment.free,
      take: takeIn,
      taken({ partitions }) {
        if (options.copiesRecords && partitions[0] !== undefined) memory.giveBack(partitions[0].records);
      },
      stray: (lane) => void reportStray(lane).catch(fail),
      outage: (error) => handlers?.outage(classify(error, attempt)),
    });

  /** Hands over what was fetched, piece by piece; the lane is held meanwhile, and stands behind the last piece that was taken. */
  async function takeIn(lane: Lane, range: FetchedPartition, fetchedOffset: bigint): Promise<void> {
    const { generation } = assignment;
    if (generation === null || lane.holds.size > 0 || assignment.lane(lane) !== lane) return;
    const { topic, partition, seeks } = lane;
    const isStill = () => assignment.lane(lane) === lane && lane.seeks === seeks;
    assignment.hold(lane, "busy");
    try {
      for await (const piece of readRange(range, fetchedOffset)) {
        if (!(await untilResumed(lane, range.records.length, isStill))) return;
        if (!bug.hasPlace) bug.times = 0;
        if (!(await deliver({ topic, partition, generation, ...piece })) || !isStill()) return;
        lane.nextOffset = piece.nextOffset;
      }
    } finally {
      assignment.release(lane, "busy");
    }
  }

  /** True once the lane is not paused; false where it ended or was sought, or too much is waiting already. */
  async function untilResumed(lane: Lane, bytes: number, isStill: () => boolean): Promise<boolean> {
    if (!lane.holds.has("asked")) return isStill();
    if (parkedBytes + bytes > PARKED_BYTES) return false;
    parkedBytes += bytes;
    while (isStill() && lane.holds.has("asked")) await changed;
    parkedBytes -= bytes;
    return isStill();
  }

  /** False where the reader failed. */
  async function deliver(batch: FetchedBatch): Promise<boolean> {
    try {
      await handlers?.batch(batch);
      return true;
    } catch (error) {
      fail(error as Error);
      return false;
    }
  }

  /** Tells the reader of a position outside the log by a batch from elsewhere, and holds the partition until it seeks. */
  async function reportStray(lane: Lane): Promise<void> {
    const { generation } = assignment;
    if (generation === null || lane.holds.has("strayed")) return;
    const { topic, partition, nextOffset } = lane;
    assignment.hold(lane, "strayed");
    const low = await untilAnswered(lane, async () => {
      const isInside = (await access.scan({ topic, partition, nextOffset })) !== null;
      return isInside ? null : (await access.offsets(topic, EARLIEST)).get(partition);
    });
    if (low === undefined) return;
    // Healed meanwhile: a leader may have been behind.
    if (low === null) return assignment.release(lane, "strayed");
    const empty = { fetchedOffset: low, nextOffset: low, timestampType: "create" as const };
    await deliver({ topic, partition, generation, ...empty, records: recordsOf([]) });
  }

  /** The answer, however long the brokers are away; undefined once the lane's assignment is over or it was sought. */
  async function untilAnswered<T>(lane: Lane, ask: () => Promise<T>): Promise<T | undefined> {
    const { seeks } = lane;
    while (assignment.lane(lane) === lane && lane.seeks === seeks) {
      try {
        return await ask();
      } catch (error) {
        if (!(isLabError(error) && canRecover(error))) throw error;
        await delay(PAUSE_MS.first);
      }
    }
    return undefined;
  }

  /** Runs one member to its end; resolves with why, or null where `close` or `rejoin` came. */
  async function runMember(contactMs: number, onJoined: () => void): Promise<LabError | null> {
    const mine = newMember();
    const records = newFetcher();
    member = mine;
    fetcher = records;
    const failed = new Promise<never>((_, reject) => {
      fail = (error) => reject(new ReaderFailed(error));
    });
    const abandoned = new Promise<"abandoned">((resolve) => {
      abandon = () => resolve("abandoned");
    });
    const over = Promise.race([stopped, abandoned, failed]);
    over.catch(() => {});
    try {
      const connecting = Promise.all([mine.connect(), records.connect()]).then(() => undefined);
      const connected = await Promise.race([over, within(contactMs, connecting)]);
      if (connected === "late") throw unreachable("no answer in time", undefined, attempt);
      if (connected !== undefined) return null;
      const joined = mine.join().then(onJoined);
      joined.catch(() => {});
      if ((await Promise.race([over, joined])) !== undefined) return null;
      await Promise.race([over, mine.crashed, records.failed]);
      return null;
    } catch (error) {
      if (error instanceof ReaderFailed) throw error;
      return classify(isCoordinatorUnfound(error) ? await whyNoCoordinator(error) : error, attempt);
    } finally {
      endAssignment();
      member = null;
      fetcher = null;
      await within(LEAVE_MS, Promise.all([mine.leave(), records.close()])).catch(() => {});
    }
  }

  async function whyNoCoordinator(error: unknown): Promise<unknown> {
    const asked = within(CONTACT_MS, access.findCoordinator(options.group, READER));
    return asked.then(
      () => error,
      (why: unknown) => why,
    );
  }

  async function run(given: SourceHandlers): Promise<void> {
    handlers = given;
    const deadline = Date.now() + kafka.connectTimeoutMs;
    try {
      const contact = firstContact(access, kafka, closing.signal);
      contact.catch(() => {});
      if ((await Promise.race([stopped, contact])) === "closed") return;
      for (let failures = 0; !closing.signal.aborted; failures++) {
        const contactMs = hasJoined ? CONTACT_MS : Math.max(1, deadline - Date.now());
        const ending = runMember(contactMs, () => {
          hasJoined = true;
          failures = 0;
        });
        memberEnds = ending.catch(() => {});
        const error = await ending;
        if (error === null) continue;
        const pauseMs = Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** failures);
        if (!hasJoined && (!error.retryable || Date.now() + pauseMs > deadline)) throw error;
        if (hasJoined && !canRecover(error)) return given.fatal(error);
        if (hasJoined) given.outage(error);
        await sleep(pauseMs, closing.signal).catch(() => {});
      }
    } catch (error) {
      if (!(error instanceof ReaderFailed)) throw error;
      given.fatal(error.reason);
    } finally {
      await access.close();
    }
  }

  /** A topic that is gone may be made again, a right given back; a bug of the client may not strike twice. */
  function canRecover(error: LabError): boolean {
    if (error.retryable || COMES_BACK.has(error.code)) return true;
    if (error.code !== "INTERNAL" && error.code !== "KAFKA_PROTOCOL") return false;
    const isSame = bug.text === error.message;
    bug = {
      text: error.message,
      hasPlace: error.details.offset !== undefined,
      times: isSame ? bug.times + 1 : 1,
    };
    return bug.times <= MOST_BUGS;
  }

  let running: Promise<void> = Promise.resolve();
  return {
    run(given) {
      running = run(given);
      return running;
    },
    start(positions, generation) {
      if (generation !== assignment.generation) return;
      for (const position of positions)
        if (assignment.lane(position)?.holds.has("unstarted") === true) assignment.seek(position);
    },
    seek: assignment.seek,
    pause: assignment.pause,
    resume: assignment.resume,
    async publishOffsets(positions) {
      const owned = positions.filter((position) => assignment.lane(position) !== undefined);
      if (owned.length > 0) await member?.commit(owned).catch(() => {});
    },
    async rejoin() {
      if (!hasJoined) return;
      // The side connection may be what is stuck; the next question makes a new one.
      void access.close();
      abandon();
      await memberEnds;
    },
    async close() {
      closing.abort();
      await running.catch(() => {});
    },
  };
}

/** The reader's own failure, told apart from the client's. */
class ReaderFailed extends Error {
  readonly reason: Error;
  constructor(reason: Error) {
    super(reason.message);
    this.reason = reason;
  }
}
