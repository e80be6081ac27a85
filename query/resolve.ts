/** From the tables that a statement names to snapshots, each the version that is asked for. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Snapshot } from "../delta/table.ts";
import type { Catalog, NamedTable } from "./catalog.ts";
import { versionAtOffset } from "./history.ts";
import type { Point, Statement } from "./statement.ts";
import type { TableUse } from "./syntax-tree.ts";

/** A version, a time, or the first version in which a Kafka partition is settled up to an offset. */
export type AskedPoint = Point | { partition: number; offset: bigint };

export type Resolved = {
  /** Each version once, with the name of the view that stands for it. */
  relations: readonly { view: string; named: NamedTable; snapshot: Snapshot }[];
  views: ReadonlyMap<TableUse, string>;
};

/**
 * Finds every table of a statement. `point` counts for the one table that has no AT of its own; USAGE where there are several.
 * With `untrusted`, each name must be a table of the catalog; else names that look like files are left to DuckDB.
 */
export async function resolve(
  statement: Statement,
  options: { catalog: Catalog; point?: AskedPoint | undefined; untrusted: boolean; signal: AbortSignal },
): Promise<Resolved> {
  const { catalog, point, signal } = options;
  const found: { use: TableUse; named: NamedTable; point: Point | undefined }[] = [];
  for (const use of statement.uses) {
    const named = await find(use, catalog, options.untrusted, signal).catch((error: unknown) => {
      throw withPosition(error, use, statement);
    });
    if (named !== undefined) found.push({ use, named, point: use.point });
  }
  const open = new Map(
    found.filter((entry) => entry.point === undefined).map(({ named }) => [named.table, named.name]),
  );
  if (point !== undefined && open.size !== 1) throw refusePoint([...open.values()], found.length);

  const relations: { view: string; named: NamedTable; snapshot: Snapshot }[] = [];
  const views = new Map<TableUse, string>();
  const latest = new Map<NamedTable["table"], Snapshot>();
  for (const entry of found) {
    const { named, use } = entry;
    const asked = entry.point ?? point;
    const snapshot =
      asked === undefined
        ? (latest.get(named.table) ?? (await named.table.latest(signal)))
        : await named.table.at(await fixed(named, asked, signal), signal);
    if (asked === undefined) latest.set(named.table, snapshot);
    const same = relations.find(
      (one) => one.named.table === named.table && one.snapshot.version === snapshot.version,
    );
    const view =
      same?.view ??
      freeName(use.at === undefined ? use.name : `${named.name}@${snapshot.version}`, relations);
    if (same === undefined) relations.push({ view, named, snapshot });
    views.set(use, view);
  }
  return { relations, views };
}

async function find(
  use: TableUse,
  catalog: Catalog,
  untrusted: boolean,
  signal: AbortSignal,
): Promise<NamedTable | undefined> {
  // A schema of DuckDB's own, such as information_schema.
  if (use.qualifiers.length > 0) return undefined;
  if (untrusted) return catalog.open(use.name, signal);
  try {
    return await catalog.openAny(use.name, signal);
  } catch (error) {
    if (isLabError(error, "NOT_A_TABLE", "TABLE_NOT_FOUND") && looksLikeFile(use.name)) return undefined;
    throw error;
  }
}

/** DuckDB reads such a name as a file, where the statement is one's own. */
function looksLikeFile(name: string): boolean {
  return /\.(parquet|csv|tsv|json|ndjson|jsonl)(\.(gz|zst))?$/i.test(name);
}

async function fixed(named: NamedTable, point: AskedPoint, signal: AbortSignal): Promise<Point> {
  return "offset" in point ? { version: await versionAtOffset(named, point, signal) } : point;
}

/** Views are told apart ignoring case, so two tables whose names differ only in that need different ones. */
function freeName(name: string, taken: readonly { view: string }[]): string {
  const isTaken = (candidate: string) =>
    taken.some(({ view }) => view.toLowerCase() === candidate.toLowerCase());
  let candidate = name;
  for (let n = 2; isTaken(candidate); n++) candidate = `${name}#${n}`;
  return candidate;
}

function refusePoint(names: readonly string[], tables: number): LabError {
  if (tables === 0 || names.length === 0) {
    const why = tables === 0 ? "the query names no table" : "each table of the query has its own AT";
    return new LabError("USAGE", `--version, --at and --at-offset have nothing to apply to: ${why}`, {
      hint: "leave the option out",
    });
  }
  return new LabError(
    "USAGE",
    `--version, --at and --at-offset apply to one table; the query names ${names.join(", ")}`,
    {
      hint: `say it per table: FROM ${names[0]} AT (VERSION => 3)`,
    },
  );
}

function withPosition(error: unknown, use: TableUse, statement: Statement): unknown {
  if (!isLabError(error) || use.position === undefined) return error;
  return new LabError(error.code, error.message, {
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    details: { ...error.details, position: statement.place(use.position) },
    cause: error,
  });
}
