/** A member of a consumer group that outlives its clients: joined again after an outage, positioned by the reader alone. */

import { setTimeout as delay } from "node:timers/promises";
import { type ErrorCode, isLabError, type LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { createAssignment, type Lane } from "./assignment.ts";
import { EARLIEST, LATEST, openBrokerAccess } from "./broker-access.ts";
import { classify, isCoordinatorUnfound, READER, unreachable } from "./failures.ts";
import { type RawBatch, toFetched } from "./fetched.ts";
import { firstContact } from "./first-contact.ts";
import { type BatchStep, createMember, type Member } from "./member.ts";
import type { FetchedBatch, KafkaOptions, Position, Source, SourceHandlers, SourceOptions } from "./ports.ts";
import { within } from "./within.ts";

const PAUSE_MS = { first: 250, most: 2_000 };
/** Failures inside the client that name no outage: joined again this often, without a batch in between, before they are fatal. */
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

export function createSource(kafka: KafkaOptions, options: SourceOptions): Source {
  const access = openBrokerAccess(kafka);
  const assignment = createAssignment();
  const closing = new AbortController();
  const stopped = new Promise<"closed">((resolve) => {
    closing.signal.addEventListener("abort", () => resolve("closed"), { once: true });
  });
  const attempt = { ...kafka, topic: options.topics.join(", "), group: options.group, rights: READER };
  let handlers: SourceHandlers | null = null;
  let member: Member | null = null;
  let hasJoined = false;
  let bugs = 0;
  let abandon: () => void = () => {};
  let memberEnds: Promise<unknown> = Promise.resolve();
  let fail: (error: Error) => void = () => {};

  function endAssignment(): void {
    const ended = assignment.end();
    if (ended !== null) handlers?.revoked(ended);
  }

  function newMember(): Member {
    const mine = createMember(kafka, options, {
      joined(partitions) {
        endAssignment();
        const gate = { open: mine.resume, shut: mine.pause, move: mine.seek };
        const generation = assignment.begin(partitions, gate);
        handlers?.assigned(partitions, generation);
      },
      lost: endAssignment,
      batch: onBatch,
      passedOver: onPassedOver,
      strayed(partition) {
        const lane = assignment.lane(partition);
        if (lane !== undefined && !lane.holds.has("unstarted")) void reportStray(lane).catch(fail);
      },
    });
    return mine;
  }

  /** Hands batches over one by one. Null where the assignment ended, a seek came between, or the reader failed: then nothing moves. */
  async function deliver(lane: Lane, batches: readonly FetchedBatch[]): Promise<bigint | null> {
    const { seeks } = lane;
    const isStill = () => assignment.lane(lane) === lane && lane.seeks === seeks;
    for (const batch of batches) {
      if (!isStill()) return null;
      try {
        await handlers?.batch(batch);
      } catch (error) {
        fail(error as Error);
        return null;
      }
    }
    return isStill() ? (batches.at(-1)?.nextOffset ?? null) : null;
  }

  async function onBatch(raw: RawBatch, step: BatchStep): Promise<void> {
    const lane = assignment.lane(raw);
    const { generation } = assignment;
    if (lane === undefined || generation === null || lane.holds.size > 0 || !step.isWanted()) return;
    bugs = 0;
    const taken = deliver(lane, toFetched(raw, generation));
    // The client fetches nothing for any partition until this returns, so a slow reader is waited for with its partition held instead.
    const nextOffset = await within(options.maxWaitMs ?? 250, taken);
    if (nextOffset === "late") {
      assignment.hold(lane, "busy");
      void taken.then((at) => goOn(lane, at));
    } else if (nextOffset !== null) {
      lane.nextOffset = nextOffset;
      step.resolve();
    }
  }

  function goOn(lane: Lane, nextOffset: bigint | null): void {
    if (nextOffset !== null) assignment.advance(lane, nextOffset);
    assignment.release(lane, "busy");
  }

  /**
   * The client moves past such a range without saying from where. Whether it was asked for from the present position is found out by
   * asking again; only then may the position move.
   */
  function onPassedOver(partition: { topic: string; partition: number }): void {
    const lane = assignment.lane(partition);
    const { generation } = assignment;
    if (lane === undefined || generation === null) return;
    const { nextOffset, seeks } = lane;
    const wasFree = lane.holds.size === 0;
    // Of the holds, only a pause lets a position be lost: the others end with one being set.
    if (!wasFree && !(lane.holds.size === 1 && lane.holds.has("asked"))) return;
    assignment.hold(lane, "busy");
    const check = async () => {
      const scan = wasFree ? await access.scan({ ...lane, nextOffset }) : null;
      const isPassed = scan?.isFilled === true && scan.batch.messages.length === 0 && lane.seeks === seeks;
      return isPassed ? deliver(lane, toFetched(scan.batch, generation)) : null;
    };
    void check()
      .catch(() => null)
      .then((at) => goOn(lane, at ?? lane.nextOffset));
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
    if (low === null) {
      // Of a position from before a seek, or healed meanwhile.
      assignment.advance(lane, nextOffset);
      assignment.release(lane, "strayed");
      return;
    }
    const empty = { fetchedOffset: low, nextOffset: low, timestampType: "create" as const, records: [] };
    await deliver(lane, [{ topic, partition, generation, ...empty }]);
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

  async function startLanes(positions: readonly Position[], generation: number): Promise<void> {
    const logs = new Map<string, [low: Map<number, bigint>, high: Map<number, bigint>]>();
    for (const topic of new Set(positions.map((position) => position.topic))) {
      // Best effort: an out-of-range position also shows at the first fetch.
      const ends = Promise.all([access.offsets(topic, EARLIEST), access.offsets(topic, LATEST)]);
      const found = await ends.catch(() => null);
      if (found !== null) logs.set(topic, found);
    }
    if (assignment.generation !== generation) return;
    for (const position of positions) {
      const lane = assignment.lane(position);
      if (lane === undefined || !lane.holds.has("unstarted")) continue;
      const [low, high] = logs.get(position.topic)?.map((ends) => ends.get(position.partition)) ?? [];
      const isOutside =
        low !== undefined &&
        high !== undefined &&
        !(low <= position.nextOffset && position.nextOffset <= high);
      if (isOutside) assignment.hold(lane, "asked");
      assignment.seek(position);
      if (!isOutside) continue;
      void reportStray(lane).catch(fail);
      assignment.release(lane, "asked");
    }
  }

  /** Runs one member to its end; resolves with why, or null where `close` or `rejoin` came. */
  async function runMember(contactMs: number, onJoined: () => void): Promise<LabError | null> {
    const mine = newMember();
    member = mine;
    const failed = new Promise<never>((_, reject) => {
      fail = (error) => reject(new ReaderFailed(error));
    });
    const abandoned = new Promise<"abandoned">((resolve) => {
      abandon = () => resolve("abandoned");
    });
    const over = Promise.race([stopped, abandoned, failed]);
    over.catch(() => {});
    try {
      const connected = await Promise.race([over, within(contactMs, mine.connect())]);
      if (connected === "late") throw unreachable("no answer in time", undefined, attempt);
      if (connected !== undefined) return null;
      const joined = mine.join().then(onJoined);
      joined.catch(() => {});
      if ((await Promise.race([over, joined])) !== undefined) return null;
      await Promise.race([over, mine.crashed]);
      return null;
    } catch (error) {
      if (error instanceof ReaderFailed) throw error;
      return classify(isCoordinatorUnfound(error) ? await whyNoCoordinator(error) : error, attempt);
    } finally {
      endAssignment();
      member = null;
      await within(LEAVE_MS, mine.leave()).catch(() => {});
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
    bugs += 1;
    return bugs <= MOST_BUGS;
  }

  let running: Promise<void> = Promise.resolve();
  return {
    run(given) {
      running = run(given);
      return running;
    },
    start: (positions, generation) => void startLanes(positions, generation).catch((error) => fail(error)),
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
