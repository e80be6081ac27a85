/** What a batch comes to on a version of the table: each change against what is stored of its key, and what is refused. */

import type { Snapshot } from "../../delta/table.ts";
import type { LetterStage } from "../../engine/encoder.ts";
import type { RefusedChange } from "../apply.ts";
import type { Change, Folded, Order } from "../change.ts";
import { compareOrder, positionAfter } from "../position.ts";
import type { Aside } from "./aside.ts";
import type { Stored } from "./cdc-field.ts";
import { decide, keyMoved } from "./decide.ts";
import type { Demands } from "./demands.ts";
import type { Found, KeyIndex, Located } from "./key-index.ts";
import type { NewRow, Plan } from "./plan.ts";
import { joined, PURGED_PROPERTY, remembered, rememberedText, TRUNCATES_PROPERTY } from "./remembered.ts";
import type { Staged } from "./stage.ts";

export type Planned =
  | {
      kind: "planned";
      plan: Plan;
      hashes: Found["hashes"];
      /** Table properties that change with it. */
      properties: Readonly<Record<string, string>>;
    }
  | { kind: "refused"; changes: readonly RefusedChange[] };

export type PlanOptions = {
  snapshot: Snapshot;
  folded: Folded;
  staged: Staged;
  demands: Demands | null;
  /** At the version of the snapshot. */
  index: KeyIndex;
  /** Deleted rows that may be forgotten, of those that the index knows. */
  old: () => Promise<readonly Located[]>;
  /** Where deleted keys stand; null where they are rows of the table. */
  aside: Aside | null;
  signal: AbortSignal;
};

export async function planBatch(options: PlanOptions): Promise<Planned> {
  const { snapshot, folded, staged, index, aside, signal } = options;
  const { configuration } = snapshot.metadata;
  const truncates = joined(remembered(configuration, TRUNCATES_PROPERTY), folded.truncates);
  const own = remembered(configuration, PURGED_PROPERTY);
  const purged = aside ? joined(own, aside.purged()) : own;
  const { rows: truncated } = await olderRows(
    options,
    folded.truncates.filter(({ isSweep }) => !isSweep),
  );
  const kept = aside ? [] : (options.demands?.kept ?? []);
  const changeAt = (at: number) => folded.changes[staged.places[at]!]!;
  const found = staged.file === null ? NOTHING : await index.find(staged.file.file, signal);
  const deleted = aside && staged.file ? await aside.find(staged.file.file, signal) : NOTHING.stored;
  const deletes: Change[] = [];
  const taken = new Map<number, Located>();
  const moved = folded.moved.map(({ change, from }) =>
    refuse(change, { stage: "schema", ...keyMoved(from) }),
  );
  const faults = faultsOf(found).flatMap(({ at, code, message }) =>
    at.map((one) => refuse(changeAt(one), { stage: "schema", code, message })),
  );
  const refused = [...moved, ...faults];
  const rows: NewRow[] = [];
  let uncertain = 0;
  /** Rows that are as new as a change of the batch. */
  const standing = new Set<number>();
  const replaced = new Map<number, Located>();
  for (const at of staged.places.keys()) {
    const change = changeAt(at);
    const met = found.stored.get(at);
    const row = met && !truncated.has(met.id) ? met : undefined;
    const stored = row ? behind(row, deleted.get(at)) : deleted.get(at);
    const verdict = decide(change, stored, { truncates, purged, kept });
    if (stored && !compareOrder(change, stored.order).isCertain) uncertain++;
    if (verdict.kind === "ignore") {
      if (row) standing.add(row.id);
      continue;
    }
    if (verdict.kind === "refuse") {
      refused.push(refuse(change, { stage: "schema", code: verdict.code, message: verdict.message }));
      continue;
    }
    if (aside && change.kind === "delete") {
      deletes.push({ ...change, position: positionAfter(stored?.order ?? null, change) });
      if (row) taken.set(row.id, row);
      continue;
    }
    const isFill = verdict.kind === "fill";
    rows.push({
      ...{ at, change, stored: row },
      isFill,
      missing: verdict.missing,
      keepsPosition: !isFill && change.position === null && row?.order?.position != null,
      columns: isFill ? verdict.columns : verdict.keep,
      effect: isFill ? "update" : verdict.effect,
    });
    if (row) replaced.set(row.id, row);
  }
  if (refused.length > 0) return { kind: "refused", changes: onePerMessage(refused) };
  // What is older than the end of a snapshot is no change of the batch any more: a row that one takes the place of, or does not, was in the snapshot, or
  // came after it.
  const sweeps = folded.truncates.filter(({ isSweep }) => isSweep);
  const { rows: older, doubted } = await olderRows(options, sweeps);
  const swept = [...older.values()].filter(
    ({ id }) => !standing.has(id) && !replaced.has(id) && !taken.has(id) && !truncated.has(id),
  );
  for (const row of swept) truncated.set(row.id, row);
  const forgotten = (await options.old()).filter(
    ({ id }) => !replaced.has(id) && !taken.has(id) && !truncated.has(id),
  );
  const gone = [...truncated.values(), ...taken.values(), ...forgotten];
  const plan: Plan = {
    ...{ rows, truncated: gone, retired: [...replaced.values(), ...gone] },
    aside: { changes: deletes, removed: [...taken.values()].filter(({ isDeleted }) => !isDeleted).length },
    swept: swept.filter(({ isDeleted }) => !isDeleted).length,
    uncertain: uncertain + doubted,
  };
  const properties: Record<string, string> = {};
  if (folded.truncates.length > 0) properties[TRUNCATES_PROPERTY] = rememberedText(truncates);
  if (forgotten.length > 0)
    properties[PURGED_PROPERTY] = rememberedText(
      joined(
        own,
        forgotten.map(({ order }) => order!),
      ),
    );
  return { kind: "planned", plan, hashes: found.hashes, properties };
}

/** A row of the table as one that takes over the position of its key's last delete, where the change that made it had none. */
function behind(row: Located, removal: Located | undefined): Stored {
  const { order } = row;
  if (order === null || order.position !== null || removal?.order?.position == null) return row;
  return { ...row, order: { ...order, position: removal.order.position } };
}

/** A letter for the message of a change. */
export function refuse(
  { place }: Change,
  { stage, code, message }: { stage: LetterStage; code: string; message: string },
): RefusedChange {
  return { place, stage, code, message };
}

const NOTHING: Found = { stored: new Map(), hashes: new Map(), doubled: [], twins: [], keyless: [] };

/** Stored rows that are older for certain, and how many others there are of which that cannot be told. */
async function olderRows(
  { index, signal }: PlanOptions,
  truncates: readonly Order[],
): Promise<{ rows: Map<number, Located>; doubted: number }> {
  const rows = new Map<number, Located>();
  let doubted = 0;
  if (truncates.length === 0) return { rows, doubted };
  for await (const row of index.all(signal)) {
    const orders = truncates.map((truncate) => compareOrder(row.order, truncate));
    if (orders.some(({ order, isCertain }) => isCertain && order < 0)) rows.set(row.id, row);
    else if (orders.some(({ isCertain }) => !isCertain)) doubted++;
  }
  return { rows, doubted };
}

function faultsOf({ keyless, twins, doubled }: Found) {
  return [
    {
      at: keyless,
      code: "KEY_NULL",
      message: "a column of the key is null, or an empty text in a partition column, which is one there",
    },
    {
      at: twins,
      code: "KEY_DOUBLED",
      message: "another change of the batch has the same key, written otherwise",
    },
    { at: doubled, code: "KEY_DOUBLED", message: "the table has several rows with this key" },
  ];
}

function onePerMessage(refused: readonly RefusedChange[]): RefusedChange[] {
  const seen = new Map(refused.map((one) => [`${one.place.partition}/${one.place.offset}`, one]));
  return [...seen.values()];
}
