/**
 * A stream's side of its tables: what was read of their logs, what is encoded and waits, and the commit that settles it. The shell in
 * `stream.ts` says when; this says with what.
 */

import { retry } from "../core/retry.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import type { Encoder } from "../engine/encoder.ts";
import { type MixedColumn, mixedColumns } from "../engine/mixed-columns.ts";
import type { Decoder } from "../formats/decoder.ts";
import type { Admin } from "../kafka/ports.ts";
import { sumAuditCounts } from "./audit-counts.ts";
import { type ChunkContent, emptyChunk, removeFiles, sumCounts } from "./chunk.ts";
import type { Destination, Opened } from "./destination.ts";
import { declaredSchema, firstSchema, requireWritable, storedInput } from "./encode-chunk.ts";
import { appId } from "./identity.ts";
import type { StreamOptions } from "./options.ts";
import { type Published, refuseLetters } from "./publish.ts";
import type { CommitStep } from "./publish-input.ts";
import { type Resume, readResume } from "./resume.ts";
import { routeLimit, routesOf } from "./routed-tables.ts";
import type { RowReader } from "./row-reader.ts";
import { createThreshold, tooManyBad } from "./threshold.ts";
import type { Work } from "./work.ts";

export type WriterDeps = {
  admin: Admin;
  destination: Destination;
  encoder: Encoder;
  /** What reads the format; null where the encoder reads messages as they are. */
  decoder: Decoder | null;
  rowReader: RowReader;
  work: Work;
  now: () => number;
  onStep: (step: CommitStep) => void;
  /** An outage is being waited out, and tried again after this pause. */
  onOutage: (error: unknown, pauseMs: number) => void;
  /** Columns are text from now on because messages differed; may be none. */
  onMixed: (columns: readonly MixedColumn[]) => void;
};

export type Writer = {
  /** Before the group is joined: opens the tables or makes them where their schema is declared. What they ask for and cannot be held rejects. */
  prepare(signal: AbortSignal): Promise<void>;
  /** Reads the logs for an assignment. Everything encoded before is void. */
  read(partitions: readonly number[], signal: AbortSignal): Promise<Resume>;
  /** What the last `read` found. */
  readonly resume: Resume;
  /** The version of the table that is known; null where there is none yet. */
  readonly version: number | null;
  /** Turns a chunk's messages into files and letters. One chunk at a time, oldest first: each is written with the schema that the one before it left. */
  encode(content: ChunkContent, signal: AbortSignal): Promise<void>;
  /** Commits encoded chunks, oldest first, and the next offsets that they settle. */
  commit(
    contents: readonly ChunkContent[],
    settled: ReadonlyMap<number, bigint>,
    signal: AbortSignal,
  ): Promise<Published>;
  /** All that was encoded is committed: the next chunk is written with the schema that the table has then. */
  allCommitted(): void;
  /** What was encoded and not committed is dropped. */
  forget(): void;
};

export function createWriter(options: StreamOptions, deps: WriterDeps): Writer {
  const { destination, encoder, work, now } = deps;
  const threshold = options.maxBad && createThreshold(options.maxBad);
  const decoding = {
    decoder: deps.decoder,
    mayBeGzip: ["json", "ndjson", "csv"].includes(options.format),
    keepRaw: options.keepRaw,
  };
  let resume: Resume = {
    ...{ next: new Map(), appIdForm: "lab", verdicts: new Map() },
    ...{
      recordGeneration: 0,
      overridden: new Set(),
      begun: new Map(),
      routed: { ahead: new Map(), held: new Map(), written: [] },
    },
  };
  /** Where the last `read` found that the topic was begun at its end; null before the first. */
  let begun: Resume["begun"] | null = null;
  /** Positions that the user's word moved and no commit has yet. */
  let moved: ReadonlyMap<number, bigint> = new Map();
  /** The txn of each assigned partition as we last read or wrote it (`PublishInput`). */
  let owned: ReadonlyMap<number, bigint | undefined> = new Map();
  let rows: Opened | null = null;
  let letters: Opened | null = null;
  /** The schema that the newest encoded, uncommitted chunk was written with. */
  let pendingSchema: StructType | null = null;
  /** The same for the messages that a transform reads. */
  let pendingInput: StructType | null = null;
  /** What was lettered before there was a table: its first commit counts them. */
  let unrecorded: readonly ChunkContent[] = [];
  let refuseRoute = routeLimit(options.tableUri, options.maxTables, []);

  const patient = <T>(attempt: () => Promise<T>, signal: AbortSignal) =>
    retry(attempt, { signal, onFailure: (error, _attempt, pauseMs) => deps.onOutage(error, pauseMs) });

  const settledTo = (next: ReadonlyMap<number, bigint>): typeof owned =>
    new Map(
      [...owned].map(([partition, txn]) => [
        partition,
        next.has(partition) ? next.get(partition)! - 1n : txn,
      ]),
    );

  async function requireFit(table: Snapshot, signal: AbortSignal): Promise<void> {
    work.requireFit(table);
    await requireWritable(encoder, table, signal);
  }

  async function publishAll(
    contents: readonly ChunkContent[],
    settled: ReadonlyMap<number, bigint>,
    signal: AbortSignal,
  ): Promise<Published> {
    const done = await work.publish({
      ...{ options, settled, owned, rows, letters, destination, now, signal },
      chunks: [...unrecorded, ...contents],
      recordGeneration: resume.recordGeneration,
      appIdForm: resume.appIdForm,
      aheadOf: (route, partition) => resume.routed.ahead.get(route)?.get(partition),
      heldBy: (route, partition) => resume.routed.held.get(route)?.get(partition),
      onStep: deps.onStep,
      onOutage: deps.onOutage,
    });
    if (done.kind === "rejected") return done;
    letters = done.letters;
    if (done.rows) {
      rows = done.rows;
      owned = settledTo(settled);
      moved = new Map();
      unrecorded = [];
    } else {
      moved = settled;
      // As one: there may be no table for as long as nothing but letters comes.
      const all = [...unrecorded, ...contents];
      const audit = sumAuditCounts(all.map((one) => one.audit));
      unrecorded = [{ ...emptyChunk(), raw: null, counts: sumCounts(all), audit }];
    }
    return done;
  }

  /** False where another worker was first with the positions that were to be settled at once: they are to be read again. */
  async function readOnce(partitions: readonly number[], signal: AbortSignal): Promise<boolean> {
    resume = await patient(async () => {
      ({ rows, letters } = await destination.refresh(signal));
      if (rows) await requireFit(rows.snapshot, signal);
      return readResume({
        ...{ options, partitions, rows, letters, signal, before: begun },
        ...{ admin: deps.admin, rowReader: deps.rowReader, routed: destination.routed },
      });
    }, signal);
    signal.throwIfAborted();
    begun = resume.begun;
    unrecorded = [];
    refuseRoute = routeLimit(options.tableUri, options.maxTables, rows ? routesOf(rows.snapshot) : []);
    const idOf = (partition: number) => appId(options.app, options.topic, partition, resume.appIdForm);
    owned = new Map(partitions.map((partition) => [partition, rows?.snapshot.txn(idOf(partition))]));
    const overridden = [...resume.next].filter(([partition]) => resume.overridden.has(partition));
    moved = new Map([...begun, ...overridden]);
    // Committed at once, so that the next start need not ask again (`--on-topic-reset skip`), and that "latest" stays where it was.
    if (!rows || moved.size === 0 || !(options.onTopicReset === "skip" || begun.size > 0)) return true;
    return (await publishAll([], moved, signal)).kind === "committed";
  }

  async function encodeOnce(content: ChunkContent, signal: AbortSignal): Promise<void> {
    await work.encode(content, {
      ...{ encoder, options, decoding, refuseRoute, signal },
      written: resume.routed.written,
      async targetFor(messages, promised) {
        const schema = rows ? null : await firstSchema(encoder, messages, options, promised, signal);
        const table = schema && work.tableFor(schema);
        if (table && !rows) {
          rows = await destination.createRows(table, signal);
          deps.onMixed(mixedColumns(schema));
        }
        return (
          rows && {
            snapshot: rows.snapshot,
            schema: pendingSchema ?? rows.snapshot.schema,
            messages: pendingInput ?? storedInput(rows.snapshot, options.topic),
          }
        );
      },
    });
  }

  return {
    get resume() {
      return resume;
    },
    get version() {
      return rows?.snapshot.version ?? null;
    },
    prepare: (signal) =>
      patient(async () => {
        const declared = declaredSchema(options);
        const found = await destination.refresh(signal);
        const table = declared && work.tableFor(declared);
        const opened = found.rows ?? (table && (await destination.createRows(table, signal)));
        if (opened) await requireFit(opened.snapshot, signal);
      }, signal),
    async read(partitions, signal) {
      while (!(await readOnce(partitions, signal)));
      return resume;
    },
    async encode(content, signal) {
      const messages = content.raw?.length ?? 0;
      await patient(() => encodeOnce(content, signal), signal);
      if (signal.aborted) {
        await removeFiles([content]);
        signal.throwIfAborted();
      }
      if (content.evolvedSchema) {
        const before = pendingSchema ?? rows?.snapshot.schema;
        const known = new Set(before && mixedColumns(before).map(({ column }) => column));
        deps.onMixed(mixedColumns(content.evolvedSchema).filter(({ column }) => !known.has(column)));
      }
      pendingSchema = content.evolvedSchema ?? pendingSchema;
      pendingInput = content.evolvedInput ?? pendingInput;
      if (options.onBadRecord === "stop") refuseLetters(content.letters);
      if (options.maxBad && threshold?.observe(messages - content.letters.length, content.letters.length))
        throw tooManyBad(options.maxBad, content.letters);
    },
    // All that was moved goes into the first commit, or a partition without records would be asked for again.
    commit: (contents, settled, signal) => publishAll(contents, new Map([...moved, ...settled]), signal),
    allCommitted() {
      pendingSchema = pendingInput = null;
    },
    forget() {
      threshold?.reset();
      pendingSchema = pendingInput = null;
    },
  };
}
