/** Predicates over the columns of a file, and what may come of them for its rows. Pure: no SQL, no log. */

import type { DataType } from "../delta/types.ts";
import { type Comparable, type Constant, compare } from "./prune-values.ts";

/** A column or a member of structs that holds plain values. */
export type PruneColumn = {
  /** Its names in files, outermost first. */
  path: readonly string[];
  type: DataType;
  isPartition: boolean;
  /** Statistics of files may be those of a narrower type, and off by its rounding. */
  isWidened: boolean;
};

/** All other operators are made of these. `unknown` may come out in any way. */
export type Predicate =
  | { kind: "unknown" }
  | { kind: "and" | "or"; parts: readonly Predicate[] }
  | { kind: "not"; part: Predicate }
  | { kind: "is-null"; column: PruneColumn }
  | { kind: "compare"; column: PruneColumn; operator: Operator; constant: Constant | null }
  /** Text that starts with `prefix`; unless `isWhole`, more is asked of it than that. */
  | { kind: "prefix"; column: PruneColumn; prefix: Uint8Array; isWhole: boolean };

export type Operator = "=" | "<" | "<=";

/** What is known of a column in some rows. Bounds are outer ones: values lie between, and need not reach them. */
export type Facts = {
  mayBeNull: boolean;
  mayBeValue: boolean;
  min: Comparable | undefined;
  max: Comparable | undefined;
};

export const NOTHING_KNOWN: Facts = {
  mayBeNull: true,
  mayBeValue: true,
  min: undefined,
  max: undefined,
};

/** A set of truth values that rows may have: never fewer than they do. */
export type Outcomes = number;
export const TRUE = 1;
const FALSE = 2;
const NULL = 4;
const ANY = TRUE | FALSE | NULL;

/** What the predicate may be for the rows of a file. Empty only for a file without rows. */
export function outcomesOf(predicate: Predicate, factsOf: (column: PruneColumn) => Facts): Outcomes {
  switch (predicate.kind) {
    case "unknown":
      return ANY;
    case "and":
      return predicate.parts.reduce((found, part) => and(found, outcomesOf(part, factsOf)), TRUE);
    case "or":
      return not(predicate.parts.reduce((found, part) => and(found, not(outcomesOf(part, factsOf))), TRUE));
    case "not":
      return not(outcomesOf(predicate.part, factsOf));
    case "is-null": {
      const { mayBeNull, mayBeValue } = factsOf(predicate.column);
      return (mayBeNull ? TRUE : 0) | (mayBeValue ? FALSE : 0);
    }
    case "compare":
      return predicate.constant === null
        ? NULL
        : comparison(predicate.operator, factsOf(predicate.column), predicate.constant);
    case "prefix":
      return prefixed(factsOf(predicate.column), predicate.prefix, predicate.isWhole);
  }
}

/** Each mention of a column. */
export function columnsOf(predicate: Predicate): PruneColumn[] {
  switch (predicate.kind) {
    case "unknown":
      return [];
    case "and":
    case "or":
      return predicate.parts.flatMap(columnsOf);
    case "not":
      return columnsOf(predicate.part);
    default:
      return [predicate.column];
  }
}

function not(outcomes: Outcomes): Outcomes {
  return (outcomes & NULL) | (outcomes & TRUE ? FALSE : 0) | (outcomes & FALSE ? TRUE : 0);
}

function and(a: Outcomes, b: Outcomes): Outcomes {
  if (a === 0 || b === 0) return 0;
  const both = a & b & TRUE;
  const either = (a | b) & FALSE;
  const isNull = (a & NULL && b & (NULL | TRUE)) || (b & NULL && a & (NULL | TRUE));
  return both | either | (isNull ? NULL : 0);
}

function comparison(operator: Operator, facts: Facts, constant: Constant): Outcomes {
  const nulls = facts.mayBeNull ? NULL : 0;
  if (!facts.mayBeValue) return nulls;
  const low = facts.min === undefined ? -1 : compare(facts.min, constant);
  const high = facts.max === undefined ? 1 : compare(facts.max, constant);
  // Bounds the wrong way around are none.
  return nulls | (low > high ? TRUE | FALSE : between(operator, low, high));
}

/** Of values from one that compares as `low` to one that compares as `high`. */
function between(operator: Operator, low: number, high: number): Outcomes {
  switch (operator) {
    case "<":
      return (low < 0 ? TRUE : 0) | (high >= 0 ? FALSE : 0);
    case "<=":
      return (low <= 0 ? TRUE : 0) | (high > 0 ? FALSE : 0);
    case "=":
      return (low <= 0 && high >= 0 ? TRUE : 0) | (low !== 0 || high !== 0 ? FALSE : 0);
  }
}

function prefixed(facts: Facts, prefix: Uint8Array, isWhole: boolean): Outcomes {
  const nulls = facts.mayBeNull ? NULL : 0;
  if (!facts.mayBeValue) return nulls;
  const start = (bound: Comparable | undefined, missing: number) =>
    bound instanceof Uint8Array ? Buffer.compare(bound.subarray(0, prefix.length), prefix) : missing;
  const [low, high] = [start(facts.min, -1), start(facts.max, 1)];
  if (low > high) return nulls | TRUE | FALSE;
  const mayFail = !isWhole || low !== 0 || high !== 0;
  return nulls | (low <= 0 && high >= 0 ? TRUE : 0) | (mayFail ? FALSE : 0);
}
