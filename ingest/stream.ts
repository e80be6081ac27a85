/** One stream from topic to table: performs what the machine decides, and feeds back what came of it. */

import { asLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import type { FetchedBatch, Kafka, Position } from "../kafka/ports.ts";
import { appendBatch, type ChunkContent, emptyChunk, heldBytes, removeFiles } from "./chunk.ts";
import { deferred } from "./deferred.ts";
import { type Effect, type Event, step } from "./machine.ts";
import { createMaintenance } from "./maintenance.ts";
import type { StreamMetrics } from "./metrics.ts";
import type { StreamOptions } from "./options.ts";
import { createPatience } from "./patience.ts";
import type { Report } from "./report.ts";
import { outOfRange } from "./resume.ts";
import { createSpareMemory } from "./spare-memory.ts";
import { initialState, type Limits } from "./state.ts";
import { tellOfChunk, tellOfCommit, tellOfMixed } from "./tell-commit.ts";
import { createWatchdog } from "./watchdog.ts";
import { createWriter, type WriterDeps } from "./writer.ts";

export type StreamDeps = Omit<WriterDeps, "onOutage" | "onMixed"> & {
  kafka: Kafka;
  metrics: StreamMetrics;
  report: Report;
  log: Log;
  /** Raw bytes encoded together, and raw bytes that may wait uncommitted. */
  chunkBytes: number;
  budgetBytes: number;
  /** How long a stop waits for a store that is away before what is buffered is left to the next start, in ms. */
  stopGraceMs: number;
  /** How long a stream may stand still with records to read before it ends with NO_PROGRESS, in ms. */
  stallMs: number;
};

export type Stream = {
  /** Runs until `stop`, or with `once` until the end; rejects with what cannot be waited out. */
  run(): Promise<void>;
  /** Settles what is buffered, then lets `run` end; in an outage of the store `run` rejects with it once the grace is over. */
  stop(): void;
  /** Hears of an outage of the store that is being waited out on the stream's behalf. */
  storeOutage(error: unknown, pauseMs: number): void;
};

/** How often time-driven decisions are looked at, in ms. */
const TICK_MS = 100;
/** How often end offsets are read for lag, in ms. */
const WATERMARKS_MS = 1000;

export function createStream(options: StreamOptions, deps: StreamDeps): Stream {
  const { kafka, admin, metrics, report, now } = deps;
  const log = deps.log.child({ topic: options.topic, table: options.tableUri });
  const source = kafka.source({ topics: [options.topic], group: options.group, copiesRecords: true });
  const ended = deferred();
  const background = new Set<Promise<void>>();
  const patience = createPatience({ ...deps, topic: options.topic });
  const writer = createWriter(options, {
    ...deps,
    onOutage: storeOutage,
    onMixed: (columns) => tellOfMixed(log, columns),
  });
  const watchdog = createWatchdog({ source, metrics, log, giveUp: ended.reject });

  let state = initialState(limitsOf(options, deps, null));
  /** Cancels what is under way for the buffers that are dropped. */
  let buffers = new AbortController();
  /** Cancels everything, at the very end. */
  const life = new AbortController();
  const maintain = createMaintenance(log, life.signal);
  const chunks = new Map<number, ChunkContent>();
  /**
   * What the values of the last chunk took, and an eighth more: the next is likely to be about as large. The first gets a whole chunk's room, of which
   * what is not filled costs nothing.
   */
  let nextBytes = roomFor(deps.chunkBytes);
  const spare = createSpareMemory();
  /** Some message had a stamp. */
  let isAudited = false;
  let startedGeneration = -1;
  let isReadingEnds = false;

  function dispatch(event: Event, batch?: FetchedBatch): void {
    const next = step(state, event);
    state = next.state;
    if (event.type === "fetched") patience.progressed();
    if (event.type === "positions") patience.positioned();
    for (const effect of next.effects) perform(effect, batch);
    report.observe(state);
  }

  function perform(effect: Effect, batch: FetchedBatch | undefined): void {
    switch (effect.type) {
      case "readPositions":
        inBackground(readPositions(effect.generation, effect.partitions, buffers.signal), buffers.signal);
        break;
      case "start":
        start(effect.next, effect.generation);
        break;
      case "seek":
        inBackground(checkRange(effect.partition, effect.nextOffset), life.signal);
        log.debug(
          { event: "sought", partition: effect.partition, nextOffset: String(effect.nextOffset) },
          "batch dropped, partition sought",
        );
        source.seek({ topic: options.topic, partition: effect.partition, nextOffset: effect.nextOffset });
        break;
      case "append": {
        const content = chunks.get(effect.chunk) ?? emptyChunk(nextBytes, spare.take());
        chunks.set(effect.chunk, content);
        const { verdicts, recordGeneration } = writer.resume;
        if (batch) appendBatch(content, batch, verdicts.get(batch.partition), recordGeneration);
        isAudited ||= content.audit.hasStamps;
        break;
      }
      case "encode":
        inBackground(encode(effect.chunk, buffers.signal), buffers.signal);
        break;
      case "commit":
        inBackground(commit(effect, buffers.signal), buffers.signal);
        break;
      case "drop":
        drop();
        break;
      case "pause":
        source.pause(assignedPartitions());
        break;
      case "resume":
        source.resume(assignedPartitions());
        break;
      case "finish":
        ended.resolve();
        break;
    }
  }

  /** A source starts an assignment once; where positions were read again within one, it is sought and let go on. */
  function start(next: ReadonlyMap<number, bigint>, generation: number): void {
    if (startedGeneration !== generation) {
      startedGeneration = generation;
      source.start(positionsOf(next), generation);
      return;
    }
    for (const position of positionsOf(next)) source.seek(position);
    source.resume(assignedPartitions());
  }

  /** A client that fetches from elsewhere may have been sent there: the offset that is due is not in the topic any more. */
  async function checkRange(partition: number, next: bigint): Promise<void> {
    const marks = (await admin.watermarks(options.topic).catch(() => null))?.get(partition);
    if (marks && (next < marks.low || next > marks.high))
      throw outOfRange(options.topic, partition, next, marks);
  }

  const positionsOf = (next: ReadonlyMap<number, bigint>): Position[] =>
    [...next].map(([partition, nextOffset]) => ({ topic: options.topic, partition, nextOffset }));
  const assignedPartitions = () => state.assigned.map((partition) => ({ topic: options.topic, partition }));

  /** Work that ends in an event. What is cancelled ends silently; anything else that is thrown ends the stream. */
  function inBackground(work: Promise<void>, signal: AbortSignal): void {
    const watched = work
      .catch((error: unknown) => {
        if (!signal.aborted) ended.reject(error);
      })
      .finally(() => background.delete(watched));
    background.add(watched);
  }

  function storeOutage(error: unknown, pauseMs: number): void {
    patience.storeIsAway(asLabError(error));
    onOutage(error, pauseMs);
  }

  function onOutage(error: unknown, pauseMs: number): void {
    const { code, message } = asLabError(error);
    report.outage(asLabError(error), pauseMs);
    metrics.outage(code);
    log.warn({ event: "outage", code, retryInMs: Math.round(pauseMs) }, `outage, trying again: ${message}`);
  }

  async function readPositions(
    generation: number,
    partitions: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    const { next } = await writer.read(partitions, signal);
    patience.storeAnswered();
    report.opened(writer.version);
    for (const [partition, offset] of next) report.position(partition, offset);
    log.info(
      {
        ...{ event: "assigned", generation, version: writer.version },
        next: Object.fromEntries([...next].map(([partition, offset]) => [partition, String(offset)])),
      },
      "assigned",
    );
    dispatch({ type: "positions", generation, next });
  }

  async function encode(id: number, signal: AbortSignal): Promise<void> {
    const content = chunks.get(id);
    if (!content?.raw) throw new LabError("INTERNAL", `chunk ${id} has no messages to encode`);
    const messages = content.raw.length;
    nextBytes = roomFor(content.raw.values.length);
    const startedMs = now();
    await writer.encode(content, signal);
    if (content.spent) spare.giveBack(content.spent);
    content.spent = null;
    tellOfChunk({ metrics, content, messages, seconds: (now() - startedMs) / 1000 });
    const { audit } = content;
    dispatch({ type: "encoded", chunk: id, auditPairs: audit.pairs(), hasStamps: audit.hasStamps });
  }

  async function commit(effect: Extract<Effect, { type: "commit" }>, signal: AbortSignal): Promise<void> {
    const contents = effect.chunks.flatMap((id) => chunks.get(id) ?? []);
    const startedMs = now();
    try {
      const done = await writer.commit(contents, effect.settled, signal);
      patience.storeAnswered();
      if (done.kind === "rejected") {
        metrics.conflict();
        report.conflict();
        log.warn(
          { event: "commit-lost", code: "COMMIT_CONFLICT", reason: done.reason },
          `commit lost: ${done.message}; buffers dropped, positions read again`,
        );
        return dispatch({ type: "rejected", commit: effect.commit });
      }
      for (const id of effect.chunks) chunks.delete(id);
      if (chunks.size === 0) writer.allCommitted();
      spare.settle(nextBytes);
      tellCommit(done.rows?.snapshot.version ?? null, effect.settled, contents, startedMs);
      dispatch({ type: "committed", commit: effect.commit });
      for (const opened of done.rows ? [done.rows, ...done.routed] : [])
        inBackground(maintain(opened), life.signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      dispatch({ type: "rejected", commit: effect.commit });
    } finally {
      // A store that is no folder copies; and what was not committed never will be.
      inBackground(removeFiles(contents), life.signal);
    }
  }

  function tellCommit(
    version: number | null,
    settled: ReadonlyMap<number, bigint>,
    contents: readonly ChunkContent[],
    startedMs: number,
  ): void {
    tellOfCommit({ metrics, report, log, nowMs: now(), startedMs, version, settled, contents });
    source
      .publishOffsets(positionsOf(settled))
      .catch((error: unknown) =>
        log.debug({ event: "group-offsets", err: String(error) }, "group offsets not written"),
      );
  }

  /** None as long as no message had a stamp: of a topic that nobody audits a commit counts nothing. */
  function openAuditPairs(): number {
    const last = state.chunks.at(-1);
    return isAudited && last?.stage === "open" ? (chunks.get(last.id)?.audit.size ?? 0) : 0;
  }

  function drop(): void {
    buffers.abort(new Dropped());
    buffers = new AbortController();
    const inCommit = new Set(state.commit?.chunks ?? []);
    const dropped = [...chunks].filter(([id]) => !inCommit.has(id)).map(([, content]) => content);
    chunks.clear();
    writer.forget();
    inBackground(removeFiles(dropped), life.signal);
  }

  async function refreshLag(): Promise<void> {
    const marks = await admin.watermarks(options.topic).catch((error: unknown) => {
      // In an outage nothing stands still by itself.
      patience.ends(new Map());
      throw error;
    });
    const ends = new Map([...marks].map(([partition, { high }]) => [partition, high]));
    report.ends(ends);
    patience.ends(ends);
  }

  /** What is needed before the group is joined. */
  async function prepare(): Promise<void> {
    if (options.once) {
      const marks = await admin.watermarks(options.topic);
      const ends = new Map([...marks].map(([partition, { high }]) => [partition, high]));
      state = { ...state, limits: limitsOf(options, deps, ends) };
    }
    await writer.prepare(life.signal);
  }

  async function run(): Promise<void> {
    const ticker = setInterval(() => {
      dispatch({ type: "tick", nowMs: now() });
      watchdog(patience.look(state));
    }, TICK_MS);
    const watcher = setInterval(() => {
      if (isReadingEnds) return;
      isReadingEnds = true;
      refreshLag()
        .catch((error: unknown) =>
          log.debug({ event: "end-offsets", err: String(error) }, "end offsets not read"),
        )
        .finally(() => {
          isReadingEnds = false;
        });
    }, WATERMARKS_MS);
    try {
      const prepared = prepare();
      prepared.catch(() => {});
      await Promise.race([prepared, ended.promise]);
      if (state.phase === "stopped") return;
      const joined = source.run({
        assigned: (partitions, generation) => {
          metrics.rebalance();
          report.rebalanced();
          dispatch({
            type: "assigned",
            generation,
            partitions: partitions
              .filter((item) => item.topic === options.topic)
              .map((item) => item.partition),
          });
        },
        revoked: (generation) => dispatch({ type: "revoked", generation }),
        batch: async (batch) => {
          report.fetched(batch);
          metrics.read(batch.records.length);
          const { generation, partition, fetchedOffset, nextOffset } = batch;
          dispatch(
            {
              type: "fetched",
              generation,
              partition,
              fetchedOffset,
              nextOffset,
              rows: batch.records.length,
              bytes: batch.records.valueBytes,
              heldBytes: heldBytes(batch.records),
              openAuditPairs: openAuditPairs(),
              nowMs: now(),
            },
            batch,
          );
        },
        outage: (error) => onOutage(error, 0),
        fatal: (error) => ended.reject(error),
      });
      joined
        .then(() => ended.reject(new LabError("INTERNAL", `the reader of ${options.topic} ended by itself`)))
        .catch((error: unknown) => ended.reject(error));
      await ended.promise;
      await refreshLag().catch(() => {});
    } finally {
      clearInterval(ticker);
      clearInterval(watcher);
      await source
        .close()
        .catch((error: unknown) => log.debug({ event: "close", err: String(error) }, "source not closed"));
      buffers.abort(new Dropped());
      // A checkpoint is worth a moment, but no stop may hang on it.
      const finished = Promise.allSettled([...background]);
      const waiting = new AbortController();
      await Promise.race([finished, sleep(patience.isStoreAway ? 0 : deps.stopGraceMs, waiting.signal)]);
      waiting.abort();
      life.abort(new Dropped());
      await finished;
      report.stopped();
      const { totals, version } = report.read();
      log.info({ event: "stopped", version, ...totals }, "stopped");
    }
  }

  function stop(): void {
    patience.stopping();
    dispatch({ type: "stop" });
  }

  return { run, stop, storeOutage };
}

/** Of one commit: an audit reads all of them, and each is a line in the log. */
const AUDIT_PAIRS = 1_000;

const roomFor = (bytes: number) => Math.ceil(bytes * 1.125);

function limitsOf(options: StreamOptions, deps: StreamDeps, ends: Limits["ends"]): Limits {
  return {
    flushLatencyMs: options.flush.latencyMs,
    flushRows: options.flush.rows,
    flushBytes: options.flush.bytes,
    chunkBytes: deps.chunkBytes,
    auditPairs: AUDIT_PAIRS,
    budgetBytes: deps.budgetBytes,
    ends,
  };
}

/** Why work for dropped buffers is cancelled; never seen outside. */
class Dropped extends Error {}
