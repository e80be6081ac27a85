/** What is wrong with a value of lab.yaml, in the words of its settings: the schema's library speaks of its own types. Pure. */

import type { z } from "zod";

type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "keys with values",
  record: "keys with values",
};

/** What stands behind `KEY is VALUE:`, such as `a list is expected, such as [id]`. */
export function faultText(issue: Issue, given: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return expected([kindOf(issue.expected)], given);
    case "invalid_value":
      return `is none of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "must not be empty";
      if (issue.origin === "array") return `needs ${entries(issue.minimum)} or more`;
      return `must be ${issue.minimum} or more`;
    case "too_big":
      if (issue.origin === "string") return `must be ${count(issue.maximum, "character")}`;
      if (issue.origin === "array") return `has more than ${entries(issue.maximum)}`;
      return `must be ${issue.maximum} or less`;
    case "invalid_format":
      return `is no ${issue.format === "url" ? "URL" : issue.format}`;
    case "invalid_union":
      return unionText(issue, given);
    case "invalid_key":
      return "has an empty name in it";
    default:
      return lowerFirst(issue.message);
  }
}

/** Of several forms none was met: the reason of the one that could have been, and the words that are forms of their own. */
function unionText(issue: z.core.$ZodIssueInvalidUnion, given: unknown): string {
  const all = issue.errors.flat().flatMap(leaves);
  const [reason] = all.flatMap((one) => (one.code === "custom" ? [one.message] : []));
  const words = all.flatMap((one) => (one.code === "invalid_value" ? one.values.map(String) : []));
  if (reason !== undefined) return words.length > 0 ? `${reason}, nor ${words.join(" or ")}` : reason;
  const kinds = all.flatMap((one) => (one.code === "invalid_type" ? [kindOf(one.expected)] : []));
  return expected([...kinds, ...words], given);
}

function leaves(issue: Issue): Issue[] {
  return issue.code === "invalid_union" ? issue.errors.flat().flatMap(leaves) : [issue];
}

/** A single value in place of a list is what is most often meant as one. */
function expected(kinds: readonly string[], given: unknown): string {
  const isOneForAList = kinds.includes("a list") && typeof given === "string";
  const example = isOneForAList ? `, such as [${String(given)}]` : "";
  const isPlural = kinds.length === 1 && kinds[0] === KINDS.object;
  return `${[...new Set(kinds)].join(" or ")} ${isPlural ? "are" : "is"} expected${example}`;
}

const kindOf = (expected: string) => KINDS[expected] ?? expected;
const count = (many: number | bigint, noun: string) => `${many} ${noun}${BigInt(many) === 1n ? "" : "s"}`;
const entries = (many: number | bigint) => (BigInt(many) === 1n ? "1 entry" : `${many} entries`);

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
