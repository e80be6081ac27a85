/** Whether a file's statistics hold what is in the file: what readers skip files by. */

import type { Add } from "../delta/actions.ts";
import { parseJson } from "../delta/json.ts";
import { leafColumns } from "../delta/stats-columns.ts";
import type { Snapshot } from "../delta/table.ts";
import type { DataType } from "../delta/types.ts";
import { quoteName, quoteText, type Row } from "../engine/instance.ts";
import { columnAt } from "../engine/prune-columns.ts";
import type { PruneColumn } from "../engine/prune-predicate.ts";
import { statsFacts, statsReader } from "../engine/prune-stats.ts";
import { type Comparable, comparableOf, compare } from "../engine/prune-values.ts";
import type { Finding } from "./findings.ts";

/** A leaf column, and what is asked of it per file. */
export type CheckedColumn = {
  /** As people write it. */
  name: string;
  /** Undefined for arrays, maps and binaries, which have no bounds. */
  column: PruneColumn | undefined;
  /** Expressions of an aggregation. */
  select: string[];
  /** Names of the results. */
  count: string;
  min: string;
  max: string;
};

/** All leaf columns of the data files; void ones are in no file. */
export function checkedColumns(snapshot: Snapshot): CheckedColumn[] {
  return leafColumns(snapshot.schema, snapshot.partitionColumns)
    .filter(({ type }) => type !== "void")
    .map(({ path, type }, index) => {
      const [first, ...rest] = path;
      const value = rest.reduce((of, name) => `struct_extract(${of}, ${quoteText(name)})`, quoteName(first!));
      const [count, min, max] = [`c${index}`, `lo${index}`, `hi${index}`];
      const bounds = boundsOf(type, value);
      const column = bounds === undefined ? undefined : columnAt(snapshot, path);
      const select = [`count(${value}) AS ${count}`];
      if (bounds) select.push(`${bounds("min")} AS ${min}`, `${bounds("max")} AS ${max}`);
      return { name: path.join("."), column, select, count, min, max };
    });
}

/** Times come as microseconds, all else as the text that statistics have. NaN and infinities are in no statistics. */
function boundsOf(type: DataType, value: string): ((side: "min" | "max") => string) | undefined {
  if (typeof type !== "string" || type === "binary" || type === "variant") return undefined;
  if (type === "timestamp" || type === "timestamp_ntz")
    return (side) => `epoch_us(${side}(${value}) FILTER (isfinite(${value})))`;
  if (type === "date" || type === "float" || type === "double")
    return (side) => `CAST(${side}(${value}) FILTER (isfinite(${value})) AS VARCHAR)`;
  return (side) => `CAST(${side}(${value}) AS VARCHAR)`;
}

/** What of `add.stats` is not so in the file. Bounds that no reader trusts are not looked at. */
export function compareStatistics(
  add: Add,
  columns: readonly CheckedColumn[],
  found: Row,
): Omit<Finding, "file">[] {
  const plain = columns.flatMap(({ column }) => (column ? [column] : []));
  const stats = statsReader(plain)(add.stats);
  if (stats === undefined) return [];
  const wrong: Omit<Finding, "file">[] = [];
  const differing = (message: string) =>
    wrong.push({
      problem: "statistics",
      message,
      hint: "queries may skip the file by mistake: lab optimize writes it anew, or restore it from a copy",
    });
  const nullCounts = nullCountsOf(add);
  for (const { name, column, count, min, max } of columns) {
    const nulls = (found.n as bigint) - (found[count] as bigint);
    const path = column?.path;
    const said = path && nullCounts?.(path);
    if (said !== undefined && said !== nulls)
      differing(`column ${name} has ${nulls} nulls, the log says ${said}`);
    if (!column) continue;
    const facts = statsFacts(stats[plain.indexOf(column)]!, column);
    const [low, high] = [foundValue(column.type, found[min]), foundValue(column.type, found[max])];
    if (
      low !== undefined &&
      facts.min !== undefined &&
      compare(low, { value: facts.min, isAbove: false }) < 0
    )
      differing(`column ${name} holds ${text(found[min])}, below the minimum that the log says`);
    if (
      high !== undefined &&
      facts.max !== undefined &&
      compare(high, { value: facts.max, isAbove: false }) > 0
    )
      differing(`column ${name} holds ${text(found[max])}, above the maximum that the log says`);
  }
  return wrong;
}

/** The null count of a column where it is exact: without a deletion vector, and where the bounds are not wide ones. */
function nullCountsOf(add: Add): ((path: readonly string[]) => bigint | undefined) | undefined {
  const { tightBounds, nullCount } = parseJson(add.stats!) as { tightBounds?: unknown; nullCount?: unknown };
  if (tightBounds === false || add.deletionVector !== undefined) return undefined;
  return (path) => {
    let at: unknown = nullCount;
    for (const name of path)
      at =
        typeof at === "object" && at !== null && Object.hasOwn(at, name)
          ? (at as Record<string, unknown>)[name]
          : undefined;
    return typeof at === "number" || typeof at === "bigint" ? BigInt(at) : undefined;
  };
}

function foundValue(type: DataType, found: Row[string] | undefined): Comparable | undefined {
  if (found === null || found === undefined) return undefined;
  if (typeof found === "bigint") return found;
  const value = comparableOf(type, String(found));
  return Number.isNaN(value) ? undefined : value;
}

function text(value: unknown): string {
  const shown = String(value);
  return shown.length > 60 ? `${shown.slice(0, 60)}...` : shown;
}
