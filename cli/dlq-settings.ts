/** Which letters `lab dlq` means: flags to a filter. */

import { choice, integer, type Kind, list, named, toggle } from "../core/setting-kinds.ts";
import { setting, type Values } from "../core/settings.ts";
import { LETTER_CODES } from "../letters/codes.ts";
import type { LetterFilter, LetterState, OffsetSpan } from "../letters/filter.ts";
import { momentOf } from "../query/moment.ts";
import { nearNames } from "../query/near-names.ts";

/** `17`, `0-99`, `2:17` or `2:0-99`. */
export const offsetSpan: Kind<OffsetSpan> = {
  placeholder: "[p:]a[-b]",
  show: ({ partition, first, last }) => `${partition === null ? "" : `${partition}:`}${first}-${last}`,
  parse(text) {
    const [, partition, first, last = first] = /^(?:(\d+):)?(\d+)(?:-(\d+))?$/.exec(text) ?? [];
    if (first === undefined || last === undefined)
      throw new Error("is neither an offset (17), a range (0-99), nor one of a partition (2:17, 2:0-99)");
    const span = { first: BigInt(first), last: BigInt(last) };
    if (span.last < span.first) throw new Error("ends before it begins");
    return { partition: partition === undefined ? null : Number(partition), ...span };
  },
};

/** A code of docs/formats.md, in capitals or not. */
const letterCode: Kind<string> = {
  placeholder: "code",
  words: LETTER_CODES,
  show: (code) => code,
  parse(text) {
    const code = text.trim().toUpperCase();
    if ((LETTER_CODES as readonly string[]).includes(code)) return code;
    const near = nearNames(code, LETTER_CODES);
    const guess = near.length > 0 ? `; did you mean ${near.join(" or ")}?` : ": docs/formats.md lists them";
    throw new Error(`is no code that a letter can have${guess}`);
  },
};

const STAGES = ["decode", "schema", "transform", "constraint", "partition", "route"] as const;
const STATES = ["open", "replayed", "dropped"] as const;

export const FILTER = {
  topic: setting<string | undefined>({
    flag: "--topic",
    env: "LAB_DLQ_TOPIC",
    kind: named("topic"),
    default: undefined,
    description: "only letters of this topic",
  }),
  partition: setting<number[]>({
    flag: "--partition",
    env: "LAB_DLQ_PARTITION",
    kind: list(integer(0)),
    default: [],
    description: "only of these partitions of the topic",
  }),
  offset: setting<OffsetSpan[]>({
    flag: "--offset",
    env: "LAB_DLQ_OFFSET",
    kind: list(offsetSpan),
    default: [],
    description: "only at these offsets: 17, 0-99, 2:17 in partition 2 alone",
  }),
  stage: setting<(typeof STAGES)[number][]>({
    flag: "--stage",
    env: "LAB_DLQ_STAGE",
    kind: list(choice(...STAGES)),
    default: [],
    description: "only what went wrong there",
  }),
  code: setting<string[]>({
    flag: "--code",
    env: "LAB_DLQ_CODE",
    kind: list(letterCode),
    default: [],
    description: "only with these error codes, such as WRONG_TYPE",
  }),
  since: setting<string | undefined>({
    flag: "--since",
    env: "LAB_DLQ_SINCE",
    kind: named("time"),
    default: undefined,
    description: "only what became a letter at this time or later: 2026-11-29T20:15:03Z, UTC without a zone",
  }),
  until: setting<string | undefined>({
    flag: "--until",
    env: "LAB_DLQ_UNTIL",
    kind: named("time"),
    default: undefined,
    description: "only what became a letter before this time",
  }),
  state: setting<LetterState[]>({
    flag: "--state",
    env: "LAB_DLQ_STATE",
    kind: list(choice(...STATES)),
    default: [],
    defaultText: "open",
    description: "letters in these states",
  }),
  limit: setting<number | undefined>({
    flag: "--limit",
    env: "LAB_DLQ_LIMIT",
    kind: integer(1),
    default: undefined,
    defaultText: "100 for list, else none",
    description: "only the first so many, by topic, partition and offset",
  }),
  all: setting<boolean>({
    flag: "--all",
    env: "LAB_DLQ_ALL",
    kind: toggle,
    default: false,
    description: "list: closed letters, too; replay, drop: every open letter, where nothing else chooses",
  }),
} as const;

/** USAGE for a time that is none. */
export function letterFilter(values: Values<typeof FILTER>): LetterFilter {
  const { topic, partition, offset, stage, code, since, until, state, limit } = values;
  return {
    ...(state.length > 0 ? { states: state } : {}),
    ...(topic === undefined ? {} : { topics: [topic] }),
    partitions: partition,
    offsets: offset,
    stages: stage,
    codes: code,
    ...(since === undefined ? {} : { sinceMs: momentOf(since) }),
    ...(until === undefined ? {} : { untilMs: momentOf(until) }),
    ...(limit === undefined ? {} : { limit }),
  };
}
