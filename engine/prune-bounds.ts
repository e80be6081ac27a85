/** What a predicate asks of a column as a range of numbers: a first look at files that is cheap, and keeps what it is not sure of. Pure. */

import type { BoundsFilter } from "../delta/file-bounds.ts";
import { decimalOf } from "../delta/schema.ts";
import type { Predicate, PruneColumn } from "./prune-predicate.ts";
import { boundsReader } from "./prune-stats.ts";
import type { Comparable } from "./prune-values.ts";

/** Their values are compared as whole numbers, and what becomes a double keeps its order. */
const WHOLE = new Set<unknown>(["byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz"]);

type Range = { column: PruneColumn; low: number; high: number };

/** Ranges outside of which no row can be taken, one for each column that has one. Of floats NaN would be missed. */
export function boundsFilters(predicate: Predicate): BoundsFilter[] {
  const ranges = new Map<string, Range>();
  for (const { column, low, high } of rangesOf(predicate, false)) {
    const key = JSON.stringify([column.path, column.type, column.isWidened]);
    const known = ranges.get(key) ?? {
      column,
      low: Number.NEGATIVE_INFINITY,
      high: Number.POSITIVE_INFINITY,
    };
    ranges.set(key, { column, low: Math.max(low, known.low), high: Math.min(high, known.high) });
  }
  return [...ranges].map(([key, { column, low, high }]) => ({
    key,
    low,
    high,
    boundsOf: filterReader(column),
  }));
}

function* rangesOf(predicate: Predicate, isNegated: boolean): Iterable<Range> {
  switch (predicate.kind) {
    case "not":
      yield* rangesOf(predicate.part, !isNegated);
      return;
    case "and":
    case "or":
      // Of all parts only where all must hold.
      if (predicate.parts.length === 1 || (predicate.kind === "and") !== isNegated)
        for (const part of predicate.parts) yield* rangesOf(part, isNegated);
      return;
    case "compare": {
      const { column, operator, constant } = predicate;
      const isWhole = WHOLE.has(column.type) || decimalOf(column.type) !== undefined;
      if (column.isPartition || !isWhole || typeof constant?.value !== "bigint") return;
      const value = Number(constant.value);
      // A constant between two values stands at the lower one here: files that end there are kept.
      const above = constant.isAbove ? Number(constant.value + 1n) : value;
      if (operator === "=") {
        if (!isNegated) yield { column, low: value, high: above };
      } else if (isNegated) yield { column, low: value, high: Number.POSITIVE_INFINITY };
      else yield { column, low: Number.NEGATIVE_INFINITY, high: above };
    }
  }
}

function filterReader(column: PruneColumn): BoundsFilter["boundsOf"] {
  const read = boundsReader(column);
  return (stats) => {
    const found = read(stats);
    return { min: numberOf(found?.min), max: numberOf(found?.max) };
  };
}

/** Rounded, as the constant is: what was in order stays so, or becomes equal. */
function numberOf(bound: Comparable | undefined): number {
  return typeof bound === "bigint" ? Number(bound) : Number.NaN;
}
