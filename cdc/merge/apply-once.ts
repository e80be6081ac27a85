/** One attempt to apply a batch on one version of the table: staged, planned, written and committed. */

import { isDeepStrictEqual } from "node:util";
import { LabError } from "../../core/errors.ts";
import { checkWritable, isActive } from "../../delta/protocol.ts";
import { checkRowsMayMove } from "../../delta/row-tracking.ts";
import type { Snapshot } from "../../delta/table.ts";
import type { BadRecord, EncodePlan, Encoder } from "../../engine/encoder.ts";
import type { Workbench } from "../../upkeep/workbench.ts";
import type { MergeRequest, MergeResult } from "../apply.ts";
import type { Change } from "../change.ts";
import type { Aside } from "./aside.ts";
import { demandsOf } from "./demands.ts";
import type { KeptBench } from "./kept-bench.ts";
import type { Found, KeyIndex, Located } from "./key-index.ts";
import type { Plan } from "./plan.ts";
import { planBatch, refuse } from "./plan-batch.ts";
import { countsOf, mergeRequest } from "./request.ts";
import { retireRows } from "./retire.ts";
import { stage } from "./stage.ts";
import { writeRows } from "./write-rows.ts";

export type ApplyOptions = {
  /** Its files may be anywhere that this process may read. */
  encoder: Encoder;
  /** For files in the making; a folder of its own is made in it. */
  scratchDir: string;
  memoryLimitBytes: number;
  threads: number;
  topic: string;
  onUnknownField: EncodePlan["onUnknownField"];
  now: () => number;
};

/** What it needs beside the request. */
export type Applying = {
  options: ApplyOptions;
  index: KeyIndex;
  /** Where rows are written that are not stored as they were staged. */
  bench: KeptBench;
  /** Deleted rows that may be forgotten at a version. */
  old: (index: KeyIndex, snapshot: Snapshot, signal: AbortSignal) => Promise<readonly Located[]>;
  /** Where deleted keys stand; null where they are rows of the table. */
  aside: Aside | null;
};

/** Decisions before it gives up: each lost to a writer that changed the same rows. */
const MOST_DECISIONS = 20;

/** Again on the next version, as long as others are first with rows that it rests on. COMMIT_CONFLICT where they are always. */
export async function applyUntilWon(request: MergeRequest, applying: Applying): Promise<MergeResult> {
  const { table, signal } = request;
  let base = request.snapshot;
  for (let decisions = 1; decisions <= MOST_DECISIONS; decisions++) {
    const result = await applyOnce({ ...request, snapshot: base }, applying);
    if (result.kind !== "lost") return result;
    base = await table.latest(signal);
    const moved = voids(request, base);
    if (moved) return moved;
  }
  throw new LabError(
    "COMMIT_CONFLICT",
    `other writers changed the same rows ${MOST_DECISIONS} times, up to version ${base.version}`,
    { hint: "try again when the other writer has finished", details: { root: table.store.root } },
  );
}

/** "lost": another writer was first with rows that this rests on. */
async function applyOnce(request: MergeRequest, applying: Applying): Promise<MergeResult | { kind: "lost" }> {
  const { options, index, old, aside } = applying;
  const { table, snapshot, folded, schema, signal } = request;
  const { protocol, metadata } = snapshot;
  checkWritable(protocol, metadata);
  checkRowsMayMove(snapshot);
  const demands = demandsOf(snapshot, request.keyColumns);
  const staged = await stage(folded.changes, { ...options, snapshot, schema, demands, signal });
  const room = openRoom(request, applying.bench);
  try {
    const refused = (bad: readonly BadRecord[], changeAt: (index: number) => Change) =>
      refusal(request, applying, new Map(bad.map((one) => [changeAt(one.index), one])));
    if (staged.bad.length > 0) return await refused(staged.bad, (index) => folded.changes[index]!);
    await index.follow(snapshot, signal);
    await aside?.follow(snapshot, signal);
    const planned = await planBatch({
      ...{ snapshot, folded, staged, demands, index, aside, signal },
      old: () => old(index, snapshot, signal),
    });
    if (planned.kind === "refused") return planned;
    const { plan, hashes, properties } = planned;
    const made = await room.attempt(async () => {
      const around = { table, bench: room.open, now: options.now, signal };
      const written = await writeRows(plan, staged, {
        ...around,
        snapshot: { ...snapshot, schema: staged.schema },
        before: snapshot,
        hasFeed: isActive(protocol, metadata, "delta.enableChangeDataFeed", "changeDataFeed"),
        onStored: room.onStored,
      });
      if ("unmet" in written) return written;
      const retirement = await retireRows(plan.retired, { ...around, snapshot, onStored: room.onStored });
      return { written, retirement };
    });
    if ("unmet" in made) return await refused(made.unmet, (index) => folded.changes[staged.places[index]!]!);
    const { written, retirement } = made;
    if (aside && plan.aside.changes.length > 0) {
      const changes = await room.attempt(() => aside.add(plan.aside.changes, signal));
      if (changes.length > 0) {
        await room.discard();
        return { kind: "refused", changes };
      }
    }
    const counts = countsOf(plan, folded);
    const merged = { plan, schema: staged.schema, properties, written, retirement, counts };
    request.onCommitting?.();
    const result = await table.commit(mergeRequest(request, merged), signal);
    if (result.kind === "conflict") {
      await room.discard();
      const isLost = result.reason === "append" || result.reason === "removed";
      return isLost ? { kind: "lost" } : { kind: "conflict", reason: result.reason, message: result.message };
    }
    room.settle();
    index.retire({ ids: plan.retired.map(({ id }) => id), kept: retirement.kept });
    if (written.isAsStaged) index.adopt(written.adds[0]!, entriesOf(plan, hashes));
    await index.follow(result.snapshot, signal);
    const { adds } = written;
    return {
      kind: "committed",
      snapshot: result.snapshot,
      counts,
      addedFiles: adds.length,
      addedBytes: adds.reduce((sum, { size }) => sum + size, 0),
    };
  } finally {
    await staged.remove();
  }
}

/** What became of a row that is deleted is no reason to refuse its delete: without that it is tried again. */
async function refusal(
  request: MergeRequest,
  applying: Applying,
  bad: ReadonlyMap<Change, BadRecord>,
): Promise<MergeResult | { kind: "lost" }> {
  const changes = request.folded.changes.map((change) => {
    if (!bad.has(change)) return change;
    const { was, ...rest } = change;
    return was === undefined ? change : rest;
  });
  const isSame = changes.every((change, i) => change === request.folded.changes[i]);
  if (!isSame) return applyOnce({ ...request, folded: { ...request.folded, changes } }, applying);
  return { kind: "refused", changes: [...bad].map(([change, one]) => refuse(change, one)) };
}

/** Where files are made, and what becomes of those that are stored before a commit names them. */
function openRoom({ table, signal }: MergeRequest, kept: KeptBench) {
  let bench: Workbench | undefined;
  const stored: string[] = [];
  const discard = async () => {
    const waiting = signal.aborted ? new AbortController().signal : signal;
    await bench?.discard(waiting);
    for (const path of stored) await table.store.delete(path, waiting).catch(() => undefined);
  };
  return {
    async open(): Promise<Workbench> {
      bench ??= await kept.get();
      return bench;
    },
    onStored: (path: string) => void stored.push(path),
    discard,
    async attempt<T>(work: () => Promise<T>): Promise<T> {
      try {
        return await work();
      } catch (error) {
        await discard();
        await kept.close();
        throw error;
      }
    },
    settle: () => bench?.settle(),
  };
}

/** What the index is to hold of rows that were written as they were staged. */
function entriesOf({ rows }: Plan, hashes: Found["hashes"]) {
  return rows.map(({ at, change, missing }) => {
    const { position, place, kind } = change;
    const row = { row: at, order: { position, place }, isDeleted: kind === "delete", missing };
    return { hash: hashes.get(at)!, row };
  });
}

/** What others did since `request` was made that no new decision mends. */
function voids(request: MergeRequest, now: Snapshot): Extract<MergeResult, { kind: "conflict" }> | undefined {
  const { snapshot, txns, readTxns } = request;
  for (const appId of [...txns.map((txn) => txn.appId), ...readTxns])
    if (now.txn(appId) !== snapshot.txn(appId))
      return { kind: "conflict", reason: "txn", message: `transaction ${appId} was moved by another writer` };
  if (isDeepStrictEqual(now.metadata, snapshot.metadata)) return undefined;
  return { kind: "conflict", reason: "metadata", message: "the table's schema or properties changed" };
}
