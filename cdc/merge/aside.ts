/**
 * Deleted keys in a table of their own beside the one that changes are merged into, for readers that are not to see rows of deleted keys: `T__deletes`
 * has the key and `_cdc` of each, and is committed first. A process that dies between the two leaves a deleted key whose row still stands; the batch
 * is merged again then, and takes it out.
 */

import { isLabError } from "../../core/errors.ts";
import { createTable } from "../../delta/create.ts";
import { openTable } from "../../delta/open.ts";
import type { Store } from "../../delta/store/store.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { DELETES_PROPERTY } from "../../engine/hidden-rows.ts";
import type { RefusedChange } from "../apply.ts";
import type { Change, Order } from "../change.ts";
import { type ApplyOptions, applyUntilWon } from "./apply-once.ts";
import { CDC_FIELD, keyedProperties } from "./cdc-field.ts";
import { type CompactionOptions, createCompaction } from "./compaction.ts";
import type { Found } from "./key-index.ts";
import { type MergeEngine, openMergeEngine } from "./merge-engine.ts";
import { createPurging } from "./purge.ts";
import { PURGED_PROPERTY, remembered } from "./remembered.ts";

/** What is added to the name of a table. */
export const ASIDE_SUFFIX = "__deletes";

export type Aside = {
  /** Brings it to its newest version; the table that it belongs to is at `main`. */
  follow(main: Snapshot, signal: AbortSignal): Promise<void>;
  /** Deleted keys that the rows of a staged file have. */
  find(staged: string, signal: AbortSignal): Promise<Found["stored"]>;
  /** Places in the history before which deleted keys are forgotten. */
  purged(): Order[];
  /** Commits deletes; those that it cannot take are given back, and nothing is committed then. */
  add(deletes: readonly Change[], signal: AbortSignal): Promise<readonly RefusedChange[]>;
  close(): Promise<void>;
};

export type AsideOptions = ApplyOptions &
  CompactionOptions & {
    keyColumns: readonly string[];
    indexBytes: number;
    onIndexOver: (bytes: number) => void;
    /** The store of the table; whoever opens the aside closes it with that. */
    open: () => Promise<Store>;
  };

/** Whether deleted keys of a table stand beside it. */
export const isAside = ({ metadata }: Pick<Snapshot, "metadata">) =>
  metadata.configuration[DELETES_PROPERTY] === "aside";

export function openAside(options: AsideOptions): Aside {
  const { keyColumns, now } = options;
  const purging = createPurging(now);
  const compaction = createCompaction(options);
  let store: Store | undefined;
  let engine: MergeEngine | undefined;
  let latest: Snapshot | undefined;
  let main: Snapshot | undefined;

  async function tableOf(mustBe: boolean, signal: AbortSignal): Promise<Table | undefined> {
    if (engine) return engine.table;
    store ??= await options.open();
    try {
      return await openTable(store, signal);
    } catch (error) {
      if (!isLabError(error, "NOT_A_TABLE")) throw error;
    }
    if (!mustBe) return undefined;
    const fields = main!.schema.fields.filter(({ name }) => keyColumns.includes(name));
    const schema = { type: "struct" as const, fields: [...fields, CDC_FIELD] };
    const configuration = keyedProperties(keyColumns, { deletes: "shown" });
    try {
      return await createTable(store, { schema, configuration }, signal);
    } catch (error) {
      if (!isLabError(error, "TABLE_EXISTS")) throw error;
      return openTable(store, signal);
    }
  }

  async function engineFor(mustBe: boolean, signal: AbortSignal): Promise<MergeEngine | undefined> {
    const table = await tableOf(mustBe, signal);
    if (table === undefined) return undefined;
    engine ??= await openMergeEngine({ ...options, table });
    return engine;
  }

  return {
    async follow(at, signal) {
      main = at;
      const found = await engineFor(false, signal);
      if (found === undefined) return;
      latest = await found.table.latest(signal);
      await found.index.follow(latest, signal);
    },
    async find(staged, signal) {
      return engine === undefined ? new Map() : (await engine.index.find(staged, signal)).stored;
    },
    purged: () => (latest ? remembered(latest.metadata.configuration, PURGED_PROPERTY) : []),
    async add(deletes, signal) {
      const { table, index, bench } = (await engineFor(true, signal))!;
      // Until no other writer comes between.
      for (;;) {
        const snapshot = await table.latest(signal);
        const result = await applyUntilWon(
          {
            ...{ table, snapshot, keyColumns, schema: snapshot.schema, txns: [], readTxns: [], signal },
            folded: { changes: deletes, truncates: [], moved: [], folded: 0, uncertain: 0 },
            lab: (counts) => ({ changes: counts }),
          },
          // How long deletes are kept is said by the table that they are of.
          { options, index, bench, old: (rows, _at, until) => purging(rows, main!, until), aside: null },
        );
        if (result.kind === "refused") return result.changes;
        if (result.kind === "committed") {
          await table.maintain(result.snapshot, signal);
          latest = await compaction.after(table, result.snapshot, index, signal);
          return [];
        }
      }
    },
    async close() {
      await compaction.close();
      await engine?.close();
      await store?.close();
    },
  };
}
