/** Applies folded changes to a keyed table, one commit a batch: the way from changes to a version. */

import { isDeepStrictEqual } from "node:util";
import { LabError } from "../../core/errors.ts";
import { checkWritable, isActive } from "../../delta/protocol.ts";
import { checkRowsMayMove } from "../../delta/row-tracking.ts";
import type { Snapshot } from "../../delta/table.ts";
import type { EncodePlan, Encoder } from "../../engine/encoder.ts";
import { openWorkbench, type Workbench } from "../../upkeep/workbench.ts";
import type { ApplyChanges, MergeRequest, MergeResult, RefusedChange } from "../apply.ts";
import type { Change, Order } from "../change.ts";
import { createCompaction } from "./compaction.ts";
import { decide, isProvenOlder } from "./decide.ts";
import type { Found, KeyIndex, Located } from "./key-index.ts";
import { type MergeEngine, openMergeEngine } from "./merge-engine.ts";
import type { NewRow, Plan } from "./plan.ts";
import { type Committing, countsOf, mergeRequest } from "./request.ts";
import { type Retirement, retireRows } from "./retire.ts";
import { type Staged, stage } from "./stage.ts";
import { joined, truncatesOf } from "./truncates.ts";
import { type Written, writeRows } from "./write-rows.ts";

export type MergerOptions = {
  /** Its files may be anywhere that this process may read. */
  encoder: Encoder;
  /** For the index of keys where it spills, and for files in the making; a folder of its own is made in it. */
  scratchDir: string;
  /** Of the index of keys. */
  memoryLimitBytes: number;
  threads: number;
  topic: string;
  onUnknownField: EncodePlan["onUnknownField"];
  now: () => number;
  /** Commits between two looks for small files to join; 0: never, somebody else does. */
  compactEvery: number;
  /** Small files were not joined: it is tried again later. */
  onCompactionFailure: (error: unknown) => void;
};

export type Merger = { apply: ApplyChanges; close(): Promise<void> };

/** Decisions before it gives up: each lost to a writer that changed the same rows. */
const MOST_DECISIONS = 20;

/** For one table at a time, whose keys it holds; another table begins anew. One batch at a time. Whoever opens it closes it. */
export function openMerger(options: MergerOptions): Merger {
  let engine: MergeEngine | undefined;
  const compaction = createCompaction(options);

  async function engineFor({ table, keyColumns }: MergeRequest): Promise<MergeEngine> {
    if (engine?.table === table && isDeepStrictEqual(engine.keyColumns, keyColumns)) return engine;
    await engine?.close();
    engine = undefined;
    engine = await openMergeEngine({ ...options, table, keyColumns });
    return engine;
  }

  return {
    async apply(request) {
      const { table, signal, snapshot } = request;
      const { index } = await engineFor(request);
      let base = snapshot;
      for (let decisions = 1; decisions <= MOST_DECISIONS; decisions++) {
        const result = await applyOnce({ ...request, snapshot: base }, index, options);
        if (result.kind !== "lost") {
          if (result.kind === "committed") {
            const tidied = await compaction(table, result.snapshot, signal);
            return { ...result, snapshot: tidied };
          }
          return result;
        }
        base = await table.latest(signal);
        const moved = voids(request, base);
        if (moved) return moved;
      }
      throw new LabError(
        "COMMIT_CONFLICT",
        `other writers changed the same rows ${MOST_DECISIONS} times, up to version ${base.version}`,
        { hint: "try again when the other writer has finished", details: { root: table.store.root } },
      );
    },
    async close() {
      await engine?.close();
    },
  };
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

async function applyOnce(
  request: MergeRequest,
  index: KeyIndex,
  options: MergerOptions,
): Promise<MergeResult | { kind: "lost" }> {
  const { table, snapshot, folded, schema, signal } = request;
  checkWritable(snapshot.protocol);
  checkRowsMayMove(snapshot);
  const staged = await stage(folded.changes, { ...options, snapshot, schema, signal });
  let opened: Promise<Workbench> | undefined;
  const bench = () => {
    opened ??= openWorkbench(table, options);
    return opened;
  };
  const stored: string[] = [];
  const discard = async () => {
    const waiting = signal.aborted ? new AbortController().signal : signal;
    await (await opened)?.discard(waiting);
    for (const path of stored) await table.store.delete(path, waiting).catch(() => undefined);
  };
  try {
    const refused = staged.bad.map(({ index, ...why }) => refuse(folded.changes[index]!, why));
    if (refused.length > 0) return { kind: "refused", changes: refused };
    let work: {
      plan: Plan;
      written: Written;
      retirement: Retirement;
      committing: Committing;
      hashes: Found["hashes"];
    };
    try {
      await index.follow(snapshot, signal);
      const found = await planFor(request, staged, index);
      if ("refused" in found) return { kind: "refused", changes: found.refused };
      const { plan } = found;
      const committing: Committing = { request, plan, schema: staged.schema, truncates: found.truncates };
      const grown = { ...snapshot, schema: staged.schema };
      const around = { table, bench, now: options.now, signal };
      const { protocol, metadata } = snapshot;
      const hasFeed = isActive(protocol, metadata, "delta.enableChangeDataFeed", "changeDataFeed");
      const written = await writeRows(plan, staged, {
        ...around,
        snapshot: grown,
        before: snapshot,
        hasFeed,
      });
      stored.push(...written.stored);
      const retirement = await retireRows(plan.retired, { ...around, snapshot });
      stored.push(...retirement.stored);
      work = { plan, written, retirement, committing, hashes: found.hashes };
    } catch (error) {
      await discard();
      throw error;
    }
    const { plan, written, retirement } = work;
    const counts = countsOf(plan, folded);
    const commit = mergeRequest(work.committing, written, retirement, counts);
    request.onStored?.();
    const result = await table.commit(commit, signal);
    if (result.kind === "conflict") {
      await discard();
      const isLost = result.reason === "append" || result.reason === "removed";
      return isLost ? { kind: "lost" } : { kind: "conflict", reason: result.reason, message: result.message };
    }
    (await opened)?.settle();
    index.retire({ ids: plan.retired.map(({ id }) => id), kept: retirement.kept });
    if (written.isAsStaged) index.adopt(written.adds[0]!, entriesOf(plan, work.hashes));
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
    await (await opened)?.close();
  }
}

function refuse({ place }: Change, why: Omit<RefusedChange, "place">): RefusedChange {
  return { place, stage: why.stage, code: why.code, message: why.message };
}

async function planFor(
  { folded, snapshot, signal }: MergeRequest,
  staged: Staged,
  index: KeyIndex,
): Promise<
  | { plan: Plan; hashes: Found["hashes"]; truncates: readonly Order[] | undefined }
  | { refused: RefusedChange[] }
> {
  const known = truncatesOf(snapshot.metadata.configuration);
  const truncates = joined(known, folded.truncates);
  const truncated = new Map<number, Located>();
  if (folded.truncates.length > 0)
    for (const row of index.all())
      if (folded.truncates.some((truncate) => isProvenOlder(row.order, truncate))) truncated.set(row.id, row);
  const refused: RefusedChange[] = [];
  const rows: NewRow[] = [];
  const changeAt = (at: number) => folded.changes[staged.places[at]!]!;
  const found = staged.file === null ? NOTHING : await index.find(staged.file.file, signal);
  const faults = [
    { at: found.keyless, code: "KEY_NULL", message: "a column of the key is null" },
    {
      at: found.twins,
      code: "KEY_DOUBLED",
      message: "another change of the batch has the same key, written otherwise",
    },
    { at: found.doubled, code: "KEY_DOUBLED", message: "the table has several rows with this key" },
  ];
  for (const { at, code, message } of faults)
    refused.push(...at.map((one) => refuse(changeAt(one), { stage: "schema", code, message })));
  const replaced: Located[] = [];
  for (const at of staged.places.keys()) {
    const change = changeAt(at);
    const met = found.stored.get(at);
    const stored = met && !truncated.has(met.id) ? met : undefined;
    const verdict = decide(change, stored, truncates);
    if (verdict.kind === "ignore") continue;
    if (verdict.kind === "refuse") {
      refused.push(refuse(change, { stage: "schema", code: verdict.code, message: verdict.message }));
      continue;
    }
    const isFill = verdict.kind === "fill";
    const isOfNoLog = !isFill && change.position === null && stored?.order?.position != null;
    rows.push({
      at,
      change,
      stored,
      isFill,
      missing: verdict.missing,
      keepsPosition: isOfNoLog,
      columns: isFill ? verdict.columns : verdict.keep,
      effect: isFill ? "update" : verdict.effect,
    });
    if (stored) replaced.push(stored);
  }
  if (refused.length > 0) return { refused: distinct(refused) };
  const gone = [...truncated.values()];
  const plan = { rows, truncated: gone, retired: [...replaced, ...gone] };
  return { plan, hashes: found.hashes, truncates: folded.truncates.length > 0 ? truncates : undefined };
}

const NOTHING: Found = { stored: new Map(), hashes: new Map(), doubled: [], twins: [], keyless: [] };

/** What the index is to hold of rows that were written as they were staged. */
function entriesOf({ rows }: Plan, hashes: Found["hashes"]) {
  return rows.map(({ at, change, missing }) => {
    const { position, place, kind } = change;
    const row = { row: at, order: { position, place }, isDeleted: kind === "delete", missing };
    return { hash: hashes.get(at)!, row };
  });
}

/** One letter a message. */
function distinct(refused: readonly RefusedChange[]): RefusedChange[] {
  const seen = new Map(refused.map((one) => [`${one.place.partition}/${one.place.offset}`, one]));
  return [...seen.values()];
}
