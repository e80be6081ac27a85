/** An audit answer for people and as JSON. */

import type { TopicAnswer } from "../audit/answer.ts";
import type { DayAnswer } from "../audit/day-answer.ts";
import type { Finding, Named } from "../audit/findings.ts";
import { WINDOW_MS } from "../audit/header.ts";
import type { AuditDay, AuditedTopic } from "../dashboard/audit.ts";
import { tableNameOf } from "../ingest/identity.ts";
import { momentText } from "../query/dates.ts";
import { visible } from "../query/formats/display.ts";
import { count, listing, moment, plural } from "./lines.ts";
import type { Screen } from "./screen.ts";

export type NamedAnswer = DayAnswer & { date: string; timeZone: string; startMs: number; endMs: number };

/** Most findings of a topic that are listed for people. */
const MOST_SHOWN = 20;

export function auditDocument(
  { date, timeZone, startMs, endMs, ...answer }: NamedAnswer,
  withWindows: boolean,
): AuditDay {
  return {
    ...{ date, timeZone, from: momentText(startMs), to: momentText(endMs), answer: answer.answer },
    ...{ auditLag: answer.auditLag, brokersClock: answer.isBrokersClock },
    topics: answer.topics.map((topic) => topicDocument(topic, withWindows)),
  };
}

/** A topic's answer as JSON: times are text, offsets too. */
function topicDocument(
  { findings, origins, windows, completeToMs, spanMs: _, ...topic }: TopicAnswer,
  withWindows: boolean,
): AuditedTopic {
  return {
    ...topic,
    completeTo: momentText(completeToMs),
    findings: findings.map(({ windowMs, sinceMs, epoch, named, ...finding }) => ({
      ...finding,
      epoch: epoch ?? null,
      window: windowMs === undefined ? null : momentText(windowMs),
      since: sinceMs === undefined ? null : momentText(sinceMs),
      ...(named && {
        sequences: named.sequences,
        exact: named.isExact,
        places: named.places.map((place) => ({ ...place, offset: String(place.offset) })),
      }),
    })),
    origins: origins.map(({ heardMs, passedMs, ...origin }) => ({
      ...origin,
      heard: heardMs === null ? null : momentText(heardMs),
      passed: passedMs === null ? null : momentText(passedMs),
    })),
    ...(withWindows && {
      windows: windows.map(({ windowMs, ...window }) => ({ window: momentText(windowMs), ...window })),
    }),
  };
}

export function auditPage(answer: NamedAnswer, screen: Screen): string {
  const { bold, green, red, yellow } = screen.outColors;
  const colored = { yes: green, "not yet": yellow, never: red };
  const hours = (answer.endMs - answer.startMs) / 3_600_000;
  const lines = [
    `${bold(`${answer.date} ${answer.timeZone}`)}: ${colored[answer.answer](answer.answer)}${hours === 24 ? "" : ` (a day of ${hours} hours)`}`,
  ];
  if (answer.topics.length === 0) lines.push("no topic was heard of in these days");
  if (answer.auditLag > 0)
    lines.push(`${plural(answer.auditLag, "message")} of heartbeats are not in the audit table yet`);
  if (!answer.isBrokersClock)
    lines.push("heartbeats do not bear the broker's time: clocks that are ahead cannot be told");
  for (const topic of answer.topics) lines.push("", ...topicLines(topic, colored, screen));
  return `${lines.join("\n")}\n`;
}

function topicLines(
  topic: TopicAnswer,
  colored: Record<TopicAnswer["answer"], (text: string) => string>,
  screen: Screen,
): string[] {
  const { answer, percent, produced, settled, letters, unproven, unstamped, absent, findings } = topic;
  const parts = [`${count(settled)} of ${plural(produced, "message")} settled`];
  if (letters > 0) parts.push(`${count(letters)} of them as dead letters`);
  if (unproven > 0) parts.push(`${count(unproven)} that no heartbeat speaks of`);
  if (unstamped > 0) parts.push(`${count(unstamped)} more without a stamp`);
  if (absent) parts.push(`${count(absent)} that are neither row nor letter`);
  const name =
    topic.table === null || topic.table === tableNameOf(topic.topic)
      ? topic.topic
      : `${topic.topic} in ${topic.table}`;
  const head = `${visible(name)}: ${colored[answer](answer)}, ${percent.toFixed(2)} %, ${parts.join(", ")}`;
  if (findings.length === 0) return [head];
  const heads = [
    { name: "origin" },
    { name: "window" },
    { name: "where" },
    { name: "why" },
    { name: "messages", right: true },
    { name: "since" },
    { name: "" },
  ];
  const rows = findings.slice(0, MOST_SHOWN).map((finding) => rowOf(finding));
  const more = findings.length - rows.length;
  return [
    head,
    listing({ heads, rows }, screen),
    ...(more > 0 ? [`+${count(more)} more; --json lists all`] : []),
  ];
}

function rowOf({ origin, windowMs, stage, cause, count: messages, sinceMs, named }: Finding): string[] {
  return [
    visible(origin),
    windowMs === undefined ? "the day" : `${moment(momentText(windowMs))} + ${WINDOW_MS / 60_000} min`,
    stage,
    cause,
    messages === 0 ? "" : count(messages),
    sinceMs === undefined ? "" : moment(momentText(sinceMs)),
    named ? namesOf(named) : "",
  ];
}

/** Most ranges or places that are told of a finding in its line. */
const MOST_NAMED = 3;

/** `no. 3, 7-9 of the window`, and where they are in Kafka. */
function namesOf({ sequences, isExact, places }: Named): string {
  const some = sequences
    .slice(0, MOST_NAMED)
    .map(([first, last]) => (first === last ? first : `${first}-${last}`));
  const more = sequences.length > MOST_NAMED ? ", ..." : "";
  const at = places.slice(0, MOST_NAMED).map(({ partition, offset }) => `${partition}:${offset}`);
  const where = at.length === 0 ? "" : ` at ${at.join(", ")}${places.length > MOST_NAMED ? ", ..." : ""}`;
  return `${isExact ? "" : "among "}no. ${some.join(", ")}${more}${where}`;
}
