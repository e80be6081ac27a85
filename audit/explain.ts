/** From findings that count to findings that name: which messages, and at which stage it happened. */

import type { Admin, Kafka, Watermarks } from "../kafka/ports.ts";
import type { NamedTable } from "../query/catalog.ts";
import type { Query } from "../query/query.ts";
import type { TopicAnswer } from "./answer.ts";
import { type Cell, cellsOf, whyMissing } from "./cells.ts";
import { type Cause, type Finding, SKEW_MS, type TopicFacts } from "./findings.ts";
import { UNSTAMPED, WINDOW_MS } from "./header.ts";
import { absentOf, nameMessages } from "./name-messages.ts";
import { type CellKey, cellKey, readSeen, type Seen } from "./seen.ts";
import { type OffsetRange, searchTopic } from "./topic-search.ts";

export type Explaining = {
  query: Query;
  admin: Admin;
  /** Given where the topic is to be searched for what is missing. */
  kafka?: Pick<Kafka, "source"> | undefined;
  /** Rows of all windows are read, not only of those whose counts differ. */
  allRows: boolean;
};

/** Causes that rows may tell more of. */
const NAMEABLE: ReadonlySet<Cause> = new Set([
  "in flight",
  "lost",
  "gone",
  "forgotten",
  "doubled",
  "altered",
]);

/** The answer with its findings named as far as table and topic tell. */
export async function explain(
  answer: TopicAnswer,
  facts: TopicFacts,
  table: NamedTable | null,
  options: Explaining,
  signal: AbortSignal,
): Promise<TopicAnswer> {
  if (table === null) return answer;
  const cells = cellsOfAll(facts);
  const asked = cells.filter(
    (cell) =>
      options.allRows ||
      answer.findings.some((finding) => NAMEABLE.has(finding.cause) && isAbout(finding, cell)),
  );
  if (asked.length === 0) return answer;
  const seen = await readSeen(options.query, table, facts.topic, asked, signal);
  if (seen === undefined) return answer;
  const findings = answer.findings.filter(
    (finding) => !NAMEABLE.has(finding.cause) || !asked.some((cell) => isAbout(finding, cell)),
  );
  let absent = 0;
  for (const cell of asked) {
    const places = seen.get(cellKey(cell)) ?? [];
    absent += absentOf(cell.found, places);
    findings.push(...named(answer, cell, places, facts));
  }
  const { kafka } = options;
  const told = kafka ? await inTopic(findings, { facts, kafka, admin: options.admin }, signal) : findings;
  return withFindings({ ...answer, absent: options.allRows ? absent : answer.absent }, told);
}

type KnownCell = Cell & CellKey;

function cellsOfAll({ statements, settled }: TopicFacts): KnownCell[] {
  const origins = new Set([...statements, ...settled].map(({ origin }) => origin));
  origins.delete(UNSTAMPED.origin);
  return [...origins].flatMap((origin) => {
    const of = <T extends { origin: string }>(some: readonly T[]) =>
      some.filter((one) => one.origin === origin);
    return cellsOf(of(statements), of(settled)).map((cell) => ({ ...cell, origin }));
  });
}

const isAbout = (finding: Finding, { origin, epoch, windowMs }: CellKey) =>
  finding.origin === origin && finding.epoch === epoch && finding.windowMs === windowMs;

function named(answer: TopicAnswer, cell: KnownCell, seen: readonly Seen[], facts: TopicFacts): Finding[] {
  const { origin, epoch, windowMs } = cell;
  const known = answer.findings.find((finding) => NAMEABLE.has(finding.cause) && isAbout(finding, cell));
  const why = { ...cell, whyMissing: whyMissing(cell, facts) };
  if (known) return nameMessages(known, why, seen);
  // Counts agree, or more is there than was stated: only the rows tell what they hide.
  const blank: Finding = {
    ...{ origin, epoch, windowMs, stage: "ingest", cause: "altered", count: 0 },
    sinceMs: windowMs + WINDOW_MS,
  };
  return nameMessages(blank, why, seen).filter((finding) => finding !== blank);
}

/** Says of lost messages where they are in the topic; those that are not there never were, or the broker lost them. */
async function inTopic(
  findings: readonly Finding[],
  { facts, kafka, admin }: { facts: TopicFacts; kafka: Pick<Kafka, "source">; admin: Admin },
  signal: AbortSignal,
): Promise<Finding[]> {
  const lost = findings.filter(({ cause, named }) => cause === "lost" && named !== undefined);
  if (lost.length === 0) return [...findings];
  const cells = lost.map(({ origin, epoch, windowMs }) => ({ origin, epoch: epoch!, windowMs: windowMs! }));
  const marks = await admin.watermarks(facts.topic);
  const beganMs = Math.min(...cells.map(({ epoch, windowMs }) => Math.max(epoch, windowMs)));
  const since = await admin.offsetsAt(facts.topic, beganMs - SKEW_MS);
  const places = await searchTopic(kafka, facts.topic, searched(marks, since), cells, signal);
  // Where retention took the beginning nobody knows what was there.
  const isWhole = [...marks].every(([id, { low }]) => low === 0n || (since.get(id) ?? low) > low);
  return findings.flatMap((finding) => {
    if (!lost.includes(finding)) return [finding];
    const { named: which, origin, epoch, windowMs } = finding;
    const isMissing = (sequence: number) =>
      which!.sequences.some(([first, last]) => sequence >= first && sequence <= last);
    const there = (places.get(cellKey({ origin, epoch: epoch!, windowMs: windowMs! })) ?? []).filter(
      ({ sequence }) => isMissing(sequence),
    );
    if (there.length > 0) return [{ ...finding, named: { ...which!, places: there } }];
    return [isWhole && which!.isExact ? { ...finding, stage: "broker" as const } : finding];
  });
}

function searched(
  marks: ReadonlyMap<number, Watermarks>,
  since: ReadonlyMap<number, bigint>,
): Map<number, OffsetRange> {
  return new Map([...marks].map(([id, { low, high }]) => [id, { from: since.get(id) ?? low, to: high }]));
}

function withFindings(answer: TopicAnswer, findings: readonly Finding[]): TopicAnswer {
  const sorted = [...findings].sort(
    (a, b) =>
      a.origin.localeCompare(b.origin) ||
      (a.windowMs ?? -1) - (b.windowMs ?? -1) ||
      (a.epoch ?? 0) - (b.epoch ?? 0),
  );
  const amissIn = (windowMs: number) =>
    sorted.reduce((sum, one) => (one.windowMs === windowMs ? sum + one.count : sum), 0);
  const isYes = sorted.length === 0;
  return {
    ...answer,
    answer: answer.answer === "yes" && !isYes ? "not yet" : answer.answer,
    percent: isYes ? answer.percent : Math.min(answer.percent, 99.99),
    findings: sorted,
    windows: answer.windows.map((window) => ({ ...window, amiss: amissIn(window.windowMs) })),
  };
}
