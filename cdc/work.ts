/**
 * A stream whose messages are changes: they are applied to a table that has one row a key, instead of being added to it. The ingester's machine
 * drives it as it drives an appending stream (`ingest/work.ts`), and what makes that exactly once makes this.
 */

import { LabError } from "../core/errors.ts";
import { requireStanding } from "../delta/standing.ts";
import type { Snapshot } from "../delta/table.ts";
import type { BadRecord } from "../engine/encoder.ts";
import { createRawBatch, type RawBatch } from "../engine/raw-batch.ts";
import { type ChunkContent, type Letter, sumCounts } from "../ingest/chunk.ts";
import type { Opened } from "../ingest/destination.ts";
import { grown, letterOf } from "../ingest/encode-chunk.ts";
import { type Published, refuseLetters } from "../ingest/publish.ts";
import { outlast, overtaken, type PublishInput, readTxns, txnsOf } from "../ingest/publish-input.ts";
import { settleLetters } from "../ingest/publish-letters.ts";
import { labInfo } from "../ingest/rows-request.ts";
import type { Work } from "../ingest/work.ts";
import type { ApplyChanges, MergeCounts, MergeRequest, RefusedChange } from "./apply.ts";
import type { Change, Truncate } from "./change.ts";
import { changesOf } from "./chunk-changes.ts";
import type { ChangeDecoder } from "./decoder.ts";
import { fold } from "./fold.ts";
import { keyOf, nameTable, requireKey, withCdc } from "./keyed-table.ts";
import { keyedProperties } from "./merge/cdc-field.ts";
import { openChangeDecoder } from "./open-decoder.ts";
import type { CdcOptions } from "./options.ts";
import {
  areSeveral,
  joinedTables,
  requireOneTable,
  sourceTablesOf,
  TABLES_PROPERTY,
} from "./source-tables.ts";

export type MergingOptions = CdcOptions & {
  topic: string;
  onBadRecord: "deadletter" | "stop";
  onUnknownField: "add" | "ignore" | "deadletter";
  /** Told of each commit. */
  onMerged: (told: Merged) => void;
  /** Once, when the first change comes that has no position in its source: only Kafka's offsets order such changes. */
  onUnordered: () => void;
  /** Once, when a snapshot ends that does not say where it stands in its source, or of which table: which rows are older is not known, and none is swept. */
  onUnswept: () => void;
};

/** What a commit came to, besides its rows: letters, and messages that are not of rows, by their kind. */
export type Merged = MergeCounts & {
  letters: number;
  skipped: Readonly<Record<string, number>>;
};

/** What a chunk holds until it is settled. Its messages stay: one that the table refuses becomes a letter. */
type Held = {
  raw: RawBatch;
  changes: Change[];
  truncates: Truncate[];
  skipped: ReadonlyMap<string, number>;
  tables: ReadonlySet<string>;
};

/** What applies the changes is closed with it. */
export function createMerging(
  options: MergingOptions,
  merger: { apply: ApplyChanges; close(): Promise<void> },
): Work {
  const held = new WeakMap<ChunkContent, Held>();
  let decoder: ChangeDecoder | null = null;
  let isUnordered = false;
  let isUnswept = false;
  /** Of the source, that messages were of since the start. */
  let tables: readonly string[] = [];
  const { deletes } = options;

  /** The key of the table that is there counts. */
  function decoderFor(table: Snapshot | null): ChangeDecoder {
    const keyColumns = options.keyColumns ?? (table && keyOf(table)) ?? undefined;
    decoder ??= openChangeDecoder({ ...options, keyColumns });
    return decoder;
  }

  async function encode(chunk: ChunkContent, input: Parameters<Work["encode"]>[1]): Promise<void> {
    const { raw } = chunk;
    if (!raw) return;
    const known = await input.targetFor(createRawBatch({ capacityBytes: 0 }), null);
    const found = decoderFor(known?.snapshot ?? null);
    tables = joinedTables(known ? sourceTablesOf(known.snapshot) : [], tables);
    const told = await changesOf(raw, found, { decoding: input.decoding, known: tables }, input.signal);
    const { changes, truncates, bad, skipped } = told;
    tables = joinedTables(tables, told.tables);
    if (options.sweep) requireOneTable(tables, options.topic);
    if (!known && changes.length > 0) await input.targetFor(rowsOf(changes, options.topic), found.promised);
    if (!isUnordered && changes.some(({ kind, position }) => kind === "upsert" && position === null)) {
      isUnordered = true;
      options.onUnordered();
    }
    if (!isUnswept && told.isUnswept) {
      isUnswept = true;
      options.onUnswept();
    }
    const kinds = new Map<string, number>();
    for (const { kind } of skipped) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    held.set(chunk, { raw, changes, truncates, skipped: kinds, tables: told.tables });
    count(chunk, raw, bad, new Set(skipped.map(({ index }) => index)));
    chunk.raw = null;
  }

  async function publish(input: PublishInput): Promise<Published> {
    const { signal, onStep } = input;
    let { rows } = input;
    const early = rows && overtaken(input, rows);
    if (early) return early;
    onStep("before-upload");
    for (const opened of [rows, input.letters])
      if (opened) await outlast(input, () => requireStanding(opened.table, opened.snapshot, signal));
    const all = input.chunks.flatMap((chunk) => held.get(chunk) ?? []);
    const shared = rows && sharedMeanwhile(all, rows);
    if (shared) return shared;
    const bad = input.chunks.flatMap((chunk) => chunk.letters);
    let lettered = await settleLetters(input, rows, bad);
    if (lettered.kind === "rejected") return lettered;
    onStep("after-letters");
    if (!rows) return { kind: "committed", rows: null, letters: lettered.letters, routed: [] };
    const told = {
      keyColumns: decoder?.keyColumns ?? null,
      deletes,
      tables: all.flatMap((one) => [...one.tables]),
    };
    const named = await nameTable(rows, told, signal);
    if (named.kind === "rejected") return named;
    rows = named.rows;
    for (;;) {
      const asked = request(input, rows);
      const result = await outlast(input, () => merger.apply(asked.request));
      if (result.kind === "conflict")
        return { kind: "rejected", reason: result.reason, message: result.message };
      if (result.kind === "refused") {
        const letters = refuse(input, result.changes);
        if (options.onBadRecord === "stop") refuseLetters(letters);
        lettered = await settleLetters({ ...input, letters: lettered.letters }, rows, letters);
        if (lettered.kind === "rejected") return lettered;
        onStep("after-letters");
        continue;
      }
      onStep("after-commit");
      options.onMerged(asked.told(result.counts));
      const opened = { table: rows.table, snapshot: result.snapshot };
      return { kind: "committed", rows: opened, letters: lettered.letters, routed: [] };
    }
  }

  function request(
    input: PublishInput,
    { table, snapshot }: Opened,
  ): { request: MergeRequest; told: (counts: MergeCounts) => Merged } {
    const all = input.chunks.flatMap((chunk) => held.get(chunk) ?? []);
    const folded = fold(
      all.flatMap(({ changes }) => changes),
      all.flatMap(({ truncates }) => truncates),
    );
    const promised = options.onUnknownField === "add" ? decoder?.promised : null;
    const schema = withCdc(promised ? grown(snapshot.schema, promised, undefined) : snapshot.schema);
    const told = (counts: MergeCounts) => merged(input, all, counts);
    const request: MergeRequest = {
      ...{ table, snapshot, folded, schema, signal: input.signal },
      keyColumns: keyOf(snapshot) ?? decoder?.keyColumns ?? options.keyColumns ?? [],
      txns: txnsOf(input, snapshot, { form: input.appIdForm, isKept: () => false }),
      readTxns: readTxns(input, input.appIdForm),
      onCommitting: () => input.onStep("after-upload"),
      lab: (counts) => ({ ...labInfo(input, sumCounts(input.chunks)), changes: told(counts) }),
    };
    return { request, told };
  }

  /** What the table refused is no change but a letter. */
  function refuse(input: PublishInput, refused: readonly RefusedChange[]): Letter[] {
    const byPlace = new Map(refused.map((one) => [placeText(one.place), one]));
    const letters: Letter[] = [];
    for (const chunk of input.chunks) {
      const content = held.get(chunk);
      if (!content) continue;
      const isRefused = ({ place }: Pick<Change, "place">) => byPlace.has(placeText(place));
      if (!content.changes.some(isRefused)) continue;
      // Truncates stay: one comes with the last row of a snapshot, whatever is wrong with that.
      content.changes = content.changes.filter((change) => !isRefused(change));
      const { raw } = content;
      for (let index = 0; index < raw.length; index++) {
        const found = byPlace.get(
          placeText({
            partition: raw.partition(index),
            offset: raw.offset(index),
            generation: raw.generation(index),
          }),
        );
        if (!found) continue;
        const { stage, code, message } = found;
        const letter = letterOf(raw, { index, stage, code, message });
        letters.push(letter);
        chunk.letters.push(letter);
        chunk.audit.lettered(letter);
        const counts = chunk.counts.get(letter.partition);
        if (counts) {
          counts.rows--;
          counts.letters++;
        }
      }
    }
    if (letters.length === 0)
      throw new LabError(
        "INTERNAL",
        `the table refuses ${refused.length} changes that are not in this commit`,
      );
    return letters;
  }

  return {
    encode,
    publish,
    requireFit: (table) => requireKey(table, options.keyColumns),
    tableFor(schema) {
      const keyColumns = decoder?.keyColumns ?? options.keyColumns;
      if (!keyColumns) return null;
      const configuration = keyedProperties(keyColumns, { deletes });
      if (tables.length > 0) configuration[TABLES_PROPERTY] = JSON.stringify(tables);
      return { schema: withCdc(schema), configuration };
    },
    close: () => merger.close(),
  };
}

/** Letters, and what each partition's messages came to. */
function count(
  chunk: ChunkContent,
  raw: RawBatch,
  bad: readonly BadRecord[],
  skipped: ReadonlySet<number>,
): void {
  const letters = new Map(bad.map((record) => [record.index, record]));
  for (let index = 0; index < raw.length; index++) {
    const counts = chunk.counts.get(raw.partition(index));
    const record = letters.get(index);
    if (record) {
      const letter = letterOf(raw, record);
      chunk.letters.push(letter);
      chunk.audit.lettered(letter);
    }
    if (!counts) continue;
    if (record) counts.letters++;
    else if (skipped.has(index)) counts.skipped++;
    else counts.rows++;
  }
}

/** What is said of all rows of a table, and was read as long as there was one: read again where another worker has brought rows of another. */
function sharedMeanwhile(
  all: readonly Held[],
  { snapshot }: Opened,
): Extract<Published, { kind: "rejected" }> | undefined {
  const mine = all.filter(({ truncates }) => truncates.length > 0).flatMap(({ tables }) => [...tables]);
  if (mine.length === 0 || !areSeveral(joinedTables(sourceTablesOf(snapshot), mine))) return undefined;
  return {
    kind: "rejected",
    reason: "metadata",
    message: "the table has rows of another table of the source now",
  };
}

/** What columns are told by. */
function rowsOf(changes: readonly Change[], topic: string): RawBatch {
  const batch = createRawBatch();
  for (const { place, row, timestampMs } of changes)
    batch.append({
      ...{ topic, ...place, timestampMs, timestampType: "create", key: null, value: row, headers: [] },
    });
  return batch;
}

function merged(input: PublishInput, all: readonly Held[], counts: MergeCounts): Merged {
  const skipped: Record<string, number> = {};
  for (const held of all)
    for (const [kind, number] of held.skipped) skipped[kind] = (skipped[kind] ?? 0) + number;
  const letters = input.chunks.reduce((sum, chunk) => sum + chunk.letters.length, 0);
  return { ...counts, letters, skipped };
}

const placeText = ({ partition, offset, generation }: Change["place"]) =>
  `${generation}/${partition}/${offset}`;
