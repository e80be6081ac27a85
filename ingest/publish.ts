/**
 * From encoded chunks to a committed version. The order is the guarantee: files, then letters, then one commit that holds
 * rows and positions together. A crash at any point leaves either nothing of it or all of it (SPEC.md, "Commit").
 */

import { LabError } from "../core/errors.ts";
import { retry } from "../core/retry.ts";
import type { Add, Metadata, Txn } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { encodePath } from "../delta/path.ts";
import { serializeSchema } from "../delta/schema.ts";
import { requireStanding } from "../delta/standing.ts";
import { statsJson } from "../delta/stats.ts";
import type { CommitRequest, Snapshot } from "../delta/table.ts";
import { ENFORCED } from "../engine/constraints.ts";
import { type ChunkContent, heldBytes, type Letter, type PartitionCounts, sumCounts } from "./chunk.ts";
import type { Destination, Opened } from "./destination.ts";
import { type AppIdForm, appId, inputProperty } from "./identity.ts";
import { lettersFile } from "./letters-file.ts";
import type { StreamOptions } from "./options.ts";

/** Raw bytes of the letters in one file, about. */
const LETTER_FILE_BYTES = 16 << 20;

/** Where a process can be told to die, to prove that it does no harm (`LAB_FAILPOINT`). */
export type CommitStep =
  | "before-upload"
  | "after-upload"
  | "after-letters"
  | "after-commit"
  | "in-checkpoint";

export type PublishInput = {
  options: Pick<StreamOptions, "app" | "topic">;
  chunks: readonly ChunkContent[];
  /** The next offset to read once this is committed, per partition. */
  settled: ReadonlyMap<number, bigint>;
  /**
   * The txn that the table's log had for each assigned partition when we last read or wrote it. Another worker's that comes since then, of
   * whichever of them, voids our positions: the snapshot that a commit of ours returns is behind it, and would hide it from the next one.
   */
  owned: ReadonlyMap<number, bigint | undefined>;
  recordGeneration: number;
  /** How the table's txns name partitions. Letters have a table of their own, which only we write. */
  appIdForm: AppIdForm;
  /** Null while no message has told the table's columns: then there are letters alone, and no position. */
  rows: Opened | null;
  letters: Opened | null;
  destination: Destination;
  now: () => number;
  onStep: (step: CommitStep) => void;
  onOutage: (error: unknown, pauseMs: number) => void;
  signal: AbortSignal;
};

/** `rejected`: another writer was first with a position of ours, or changed the table: only the log can say how to go on. */
export type Published =
  | {
      kind: "committed";
      rows: Opened | null;
      letters: Opened | null;
    }
  | { kind: "rejected"; reason: string; message: string };

export async function publish(input: PublishInput): Promise<Published> {
  const { chunks, signal, onStep } = input;
  const overtaken =
    input.rows &&
    movedElsewhere(input, input.rows, input.appIdForm, (partition) => input.owned.get(partition));
  if (overtaken) return overtaken;
  onStep("before-upload");
  const adds = input.rows ? await upload(input, input.rows) : [];
  onStep("after-upload");
  let letters = input.letters;
  for (const opened of [input.rows, letters])
    if (opened) await outlast(input, () => requireStanding(opened.table, opened.snapshot, signal));
  const bad = chunks.flatMap((chunk) => chunk.letters);
  if (bad.length > 0) {
    if (!letters) {
      letters = await input.destination.createLetters(signal);
      // There was no such table when the positions were read: what it holds of ours may be verdicts on what we hold.
      const judged = movedElsewhere(input, letters, "lab", () => undefined);
      if (judged) return judged;
    }
    const result = await commitLetters(input, letters, bad);
    if (result.kind === "conflict")
      return { kind: "rejected", reason: result.reason, message: result.message };
    letters = { table: letters.table, snapshot: result.snapshot };
  }
  onStep("after-letters");
  if (!input.rows) return { kind: "committed", rows: null, letters };
  const { table } = input.rows;
  const result = await table.commit(rowsRequest(input, input.rows, adds, sumCounts(chunks)), signal);
  if (result.kind === "conflict") return { kind: "rejected", reason: result.reason, message: result.message };
  onStep("after-commit");
  return {
    kind: "committed",
    rows: { table, snapshot: result.snapshot },
    letters,
  };
}

function movedElsewhere(
  { options, owned }: PublishInput,
  { snapshot }: Opened,
  form: AppIdForm,
  expected: (partition: number) => bigint | undefined,
): Published | null {
  for (const partition of owned.keys()) {
    const id = appId(options.app, options.topic, partition, form);
    const stored = snapshot.txn(id);
    if (stored !== expected(partition))
      return {
        kind: "rejected",
        reason: "txn",
        message: `transaction ${id} was moved to ${stored} by another writer`,
      };
  }
  return null;
}

/** Positions that a commit rests on besides those it moves. */
const readTxns = ({ options, owned }: PublishInput, form: AppIdForm): string[] =>
  [...owned.keys()].map((partition) => appId(options.app, options.topic, partition, form));

async function upload(input: PublishInput, rows: Opened): Promise<Add[]> {
  const adds: Add[] = [];
  const { store } = rows.table;
  for (const file of input.chunks.flatMap((chunk) => chunk.files)) {
    const path = dataFilePath(rows.snapshot.partitionColumns, file.partitionValues);
    await outlast(input, () => store.put(path, { file: file.file }, input.signal));
    adds.push({
      path: encodePath(path),
      partitionValues: file.partitionValues,
      size: file.size,
      modificationTime: input.now(),
      dataChange: true,
      stats: file.stats,
    });
  }
  return adds;
}

async function commitLetters(input: PublishInput, letters: Opened, bad: readonly Letter[]) {
  const { table, snapshot } = letters;
  const adds: Add[] = [];
  for (const some of inFiles(bad)) {
    const bytes = lettersFile(some, input.now());
    const path = dataFilePath([], {});
    await outlast(input, () => table.store.put(path, bytes, input.signal));
    adds.push({
      path,
      partitionValues: {},
      size: bytes.byteLength,
      modificationTime: input.now(),
      dataChange: true,
      stats: letterStats(some, snapshot),
    });
  }
  const request: CommitRequest = {
    readSnapshot: snapshot,
    operation: "STREAMING UPDATE",
    adds,
    txns: txnsOf(input, snapshot, { form: "lab", rule: "only-up" }),
    readTxns: readTxns(input, "lab"),
  };
  return table.commit(request, input.signal);
}

/** Letters are written from memory, several times their size of it: where all of a topic is bad, not all at once. */
function* inFiles(bad: readonly Letter[]): Generator<Letter[]> {
  let some: Letter[] = [];
  let bytes = 0;
  for (const letter of bad) {
    some.push(letter);
    bytes += heldBytes([letter]);
    if (bytes < LETTER_FILE_BYTES) continue;
    yield some;
    some = [];
    bytes = 0;
  }
  if (some.length > 0) yield some;
}

/** Bounds that let a resume find the letters of an offset range without reading every file. */
function letterStats(bad: readonly Letter[], { schema, partitionColumns, metadata }: Snapshot): string {
  const columns = (["partition", "offset"] as const).map((name) => {
    const values = bad.map((letter) => letter[name]);
    return {
      path: [name],
      min: values.reduce((a, b) => (b < a ? b : a)),
      max: values.reduce((a, b) => (b > a ? b : a)),
      nullCount: 0,
    };
  });
  const { configuration } = metadata;
  return statsJson({ numRecords: bad.length, columns }, { schema, partitionColumns, configuration });
}

/** Positions as txns. Letters may be ahead of the rows after a crash; theirs never fall. */
function txnsOf(
  input: PublishInput,
  snapshot: Snapshot,
  { form, rule }: { form: AppIdForm; rule: "exact" | "only-up" },
): Txn[] {
  return [...input.settled].map(([partition, next]) => {
    const id = appId(input.options.app, input.options.topic, partition, form);
    const version = next - 1n;
    const stored = snapshot.txn(id);
    return {
      appId: id,
      version: rule === "only-up" && stored !== undefined && stored > version ? stored : version,
    };
  });
}

function rowsRequest(
  input: PublishInput,
  rows: Opened,
  adds: readonly Add[],
  counts: ReadonlyMap<number, PartitionCounts>,
): CommitRequest {
  const { options } = input;
  const metadata = evolvedMetadata(input, rows.snapshot.metadata);
  const sum = (pick: (item: PartitionCounts) => number) =>
    [...counts.values()].reduce((total, item) => total + pick(item), 0);
  return {
    readSnapshot: rows.snapshot,
    operation: "STREAMING UPDATE",
    operationParameters: { outputMode: "Append", topic: options.topic },
    operationMetrics: {
      numOutputRows: String(sum((item) => item.rows)),
      numDeadLetters: String(sum((item) => item.letters)),
      numAddedFiles: String(adds.length),
      numOutputBytes: String(adds.reduce((total, add) => total + add.size, 0)),
    },
    adds,
    enforced: ENFORCED,
    txns: txnsOf(input, rows.snapshot, { form: input.appIdForm, rule: "exact" }),
    readTxns: readTxns(input, input.appIdForm),
    ...(metadata ? { metadata } : {}),
    info: { lab: labInfo(input, counts) },
  };
}

/** The table's metadata with the newest schemas that the chunks were written with; undefined where nothing is new. */
function evolvedMetadata({ chunks, options }: PublishInput, metadata: Metadata): Metadata | undefined {
  const schema = chunks.findLast((chunk) => chunk.evolvedSchema !== undefined)?.evolvedSchema;
  const messages = chunks.findLast((chunk) => chunk.evolvedInput !== undefined)?.evolvedInput;
  if (!schema && !messages) return undefined;
  return {
    ...metadata,
    ...(schema ? { schemaString: serializeSchema(schema) } : {}),
    configuration: {
      ...metadata.configuration,
      ...(messages ? { [inputProperty(options.topic)]: serializeSchema(messages) } : {}),
    },
  };
}

/** `commitInfo.lab` (contracts.md, "Tables"): what this version holds of the topic, for people and for the next start. */
function labInfo(input: PublishInput, counts: ReadonlyMap<number, PartitionCounts>): object {
  const { app, topic } = input.options;
  // By the user's word, not by what was read: `--on-topic-reset`.
  const moved = [...input.settled]
    .filter(([partition]) => !counts.has(partition))
    .map(([partition, next]) => ({ topic, partition, next: next.toString() }));
  return {
    v: 1,
    app,
    generation: input.recordGeneration,
    partitions: [...counts]
      .sort(([a], [b]) => a - b)
      .map(([partition, item]) => ({
        topic,
        partition,
        first: item.first.toString(),
        last: item.last.toString(),
        rows: item.rows,
        letters: item.letters,
        skipped: item.skipped,
        minTimestamp: item.minTimestampMs,
        maxTimestamp: item.maxTimestampMs,
        fingerprint: item.fingerprint,
      })),
    ...(moved.length > 0 ? { moved } : {}),
  };
}

/** An outage of the store is waited out, for as long as it takes. */
function outlast<T>(input: PublishInput, attempt: () => Promise<T>): Promise<T> {
  return retry(attempt, {
    signal: input.signal,
    onFailure: (error, _attempt, pauseMs) => input.onOutage(error, pauseMs),
  });
}

/** Stops at the first bad record where the user asked for that. */
export function refuseLetters(letters: readonly Letter[]): void {
  const first = letters[0];
  if (!first) return;
  throw new LabError(
    "BAD_RECORD",
    `${first.topic}-${first.partition} offset ${first.offset}: ${first.message} (${first.stage}, ${first.code})`,
    {
      hint: "let bad records go to the dead-letter table: --on-bad-record deadletter; they can be replayed from there",
    },
  );
}
