/** New rows of a table as they are committed. */

import { LabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import type { Add } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
import type { NamedTable } from "./catalog.ts";
import { openRelations } from "./relations.ts";
import { type AskedPoint, resolve } from "./resolve.ts";
import type { QueryContext } from "./run.ts";
import { asSqlError } from "./sql-error.ts";
import { parseStatement } from "./statement.ts";
import { leavesTraces } from "./syntax-tree.ts";

export type Batch = { version: number; columns: readonly Column[]; chunks: AsyncIterable<Value[][]> };

export type FollowOptions = {
  /** Rows committed after this version; default: after the newest one. */
  after?: AskedPoint | undefined;
  /** Pause between looks, in ms. */
  pollMs?: number;
  /** Told once, before the first batch, what the columns are. */
  onColumns(columns: readonly Column[]): Promise<void>;
  /** The query over the rows that one version added. Read its chunks before it returns. */
  onBatch(batch: Batch): Promise<void>;
  /** A version took rows out or rewrote them, so what it added is not all new, and is left out. */
  onRewrite(version: number): void;
  signal: AbortSignal;
};

/**
 * Runs a query over the added rows of each new version, one after the other, until the signal aborts. The query names one table,
 * without AT; an aggregate counts per version. Outages of the store are waited out. USAGE, SQL_ERROR, TABLE_NOT_FOUND at once.
 */
export async function follow(context: QueryContext, sql: string, options: FollowOptions): Promise<void> {
  const { signal, pollMs = 500 } = options;
  try {
    const { statement, resolved, runnable } = await prepare(context, sql, options);
    const trust = leavesTraces(statement.tree) ? "any" : "readers";
    const [relation, another] = resolved.relations;
    if (
      relation === undefined ||
      another !== undefined ||
      statement.uses.some((use) => use.at !== undefined)
    ) {
      throw new LabError("USAGE", "--follow takes a query over one table, without AT", {
        hint: 'lab query "SELECT * FROM orders" --follow; --version N starts after version N',
      });
    }
    const { named, view } = relation;
    const run = async (
      snapshot: Snapshot,
      adds: Add[],
      read: (batch: Omit<Batch, "version">) => Promise<void>,
    ) => {
      const source = { view, table: snapshot, store: named.table.store, adds };
      const relations = await openRelations(context, [source], { trust, signal });
      try {
        await read(await stream(relations.engine, runnable.sql, signal));
      } catch (error) {
        throw asSqlError(await relations.explain(error), sql, ({ position }) =>
          position === undefined ? undefined : runnable.place(position),
        );
      } finally {
        await relations.close();
      }
    };
    await run(relation.snapshot, [], ({ columns }) => options.onColumns(columns));
    let last = relation.snapshot.version;
    for (;;) {
      const newest = await retry(() => named.table.latest(signal), { signal });
      for (; last < newest.version; last++) {
        const version = last + 1;
        const adds = await retry(() => addedFiles(named, version, signal), { signal });
        if (adds === "rewritten") options.onRewrite(version);
        else if (adds.length > 0) await run(newest, adds, (batch) => options.onBatch({ version, ...batch }));
      }
      await sleep(pollMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function prepare(context: QueryContext, sql: string, { after: point, signal }: FollowOptions) {
  const parser = await context.engines.open({ kind: "read" });
  try {
    const statement = await parseStatement(parser, sql, { untrusted: false, signal });
    const resolved = await resolve(statement, { catalog: context.catalog, point, untrusted: false, signal });
    return { statement, resolved, runnable: await statement.over(resolved.views) };
  } finally {
    parser.close();
  }
}

async function addedFiles(
  { table }: NamedTable,
  version: number,
  signal: AbortSignal,
): Promise<Add[] | "rewritten"> {
  const actions = await table.commitActions(version, signal);
  if (actions.some((action) => "remove" in action && action.remove.dataChange)) return "rewritten";
  return actions.flatMap((action) => ("add" in action && action.add.dataChange ? [action.add] : []));
}
