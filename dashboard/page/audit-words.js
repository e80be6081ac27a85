/** An audit's answer as hours, signs and sentences. Pure. */

import { count, many, visible } from "./format.js";

/**
 * @typedef {import("../audit.ts").AuditDay} AuditDay
 * @typedef {import("../audit.ts").AuditedTopic} AuditedTopic
 * @typedef {import("../audit.ts").AuditFinding} AuditFinding
 * @typedef {"whole" | "empty" | "waiting" | "bad" | "open" | "future"} HourState
 * @typedef {{ startMs: number, endMs: number, label: string, state: HourState, produced: number, settled: number, amiss: number, text: string }} Hour
 */

const HOUR_MS = 3_600_000;

/** Signs and what they mean, for cells and legend. @type {Readonly<Record<HourState, { sign: string, meaning: string }>>} */
export const SIGNS = {
  whole: { sign: "\u2713", meaning: "complete" },
  empty: { sign: "\u00b7", meaning: "complete, and nothing was sent" },
  open: { sign: "\u2026", meaning: "not over for all origins" },
  waiting: { sign: "\u25d4", meaning: "messages are on their way" },
  bad: { sign: "\u2717", meaning: "messages are missing, doubled or changed" },
  future: { sign: "", meaning: "yet to come" },
};

/** Causes that go away by themselves. */
const PASSING = ["in flight", "lagging"];

/** Starts of the hours of a day: 23 to 25 of them, the last one perhaps shorter. @param {Pick<AuditDay, "from" | "to">} day */
export function hoursOf({ from, to }) {
  const [startMs, endMs] = [Date.parse(from), Date.parse(to)];
  const hours = [];
  for (let ms = startMs; ms < endMs; ms += HOUR_MS)
    hours.push({ startMs: ms, endMs: Math.min(endMs, ms + HOUR_MS) });
  return hours;
}

/** What clocks of a zone show at an instant, to the minute. @param {number} ms @param {string} timeZone */
export const timeIn = (ms, timeZone) =>
  new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(
    ms,
  );

/** The hours of a topic. Windows belong to the hour that they begin in. @param {AuditDay} day @param {AuditedTopic} topic @param {number} nowMs @returns {Hour[]} */
export function heatOf(day, topic, nowMs) {
  const completeToMs = Date.parse(topic.completeTo);
  return hoursOf(day).map(({ startMs, endMs }, n) => {
    // A day of an odd zone begins within a window, which belongs to it whole.
    const isIn = (/** @type {string | null} */ window) =>
      window !== null && Date.parse(window) < endMs && (n === 0 || Date.parse(window) >= startMs);
    const windows = (topic.windows ?? []).filter(({ window }) => isIn(window));
    const findings = topic.findings.filter(({ window }) => isIn(window));
    const sum = (/** @type {"produced" | "settled" | "amiss"} */ name) =>
      windows.reduce((total, window) => total + window[name], 0);
    const [produced, settled, amiss] = [sum("produced"), sum("settled"), sum("amiss")];
    const state = stateOf({ startMs, endMs, findings, produced, completeToMs, nowMs });
    const label = timeIn(startMs, day.timeZone);
    const what = amiss > 0 ? `${many(amiss, "message")} amiss, ` : "";
    const text = `${SIGNS[state].meaning}; ${what}${count(settled)} of ${many(produced, "message")} settled`;
    return { startMs, endMs, label, state, produced, settled, amiss, text };
  });
}

/**
 * @param {{ startMs: number, endMs: number, findings: readonly AuditFinding[], produced: number, completeToMs: number, nowMs: number }} known
 * @returns {HourState}
 */
function stateOf({ startMs, endMs, findings, produced, completeToMs, nowMs }) {
  if (findings.some(({ cause }) => !PASSING.includes(cause))) return "bad";
  if (findings.length > 0) return "waiting";
  if (startMs >= nowMs) return "future";
  if (completeToMs < endMs) return "open";
  return produced > 0 ? "whole" : "empty";
}

/** The windows of an hour with what is amiss in each. @param {AuditedTopic} topic @param {Hour} hour @param {boolean} isFirst @param {string} timeZone */
export function windowsOf(topic, hour, isFirst, timeZone) {
  return (topic.windows ?? [])
    .filter(({ window }) => {
      const ms = Date.parse(window);
      return ms < hour.endMs && (isFirst || ms >= hour.startMs);
    })
    .map((window) => ({
      ...window,
      label: timeIn(Date.parse(window.window), timeZone),
      amissTexts: topic.findings.filter((one) => one.window === window.window).map((one) => findingText(one)),
    }));
}

/** One finding in a sentence. @param {AuditFinding} finding */
export function findingText({ origin, stage, cause, count: messages, sequences, exact, places }) {
  const what = messages > 0 ? `${many(messages, "message")} ${cause}` : cause;
  const by = origin === "" ? "" : ` of ${visible(origin)}`;
  const some = (sequences ?? [])
    .slice(0, 5)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = (sequences ?? []).length > 5 ? ", ..." : "";
  const which = some.length === 0 ? "" : `, ${exact ? "" : "among "}no. ${some.join(", ")}${more}`;
  const at = (places ?? []).slice(0, 5).map(({ partition, offset }) => `${partition}:${offset}`);
  const where = at.length === 0 ? "" : `, at ${at.join(", ")}${(places ?? []).length > 5 ? ", ..." : ""}`;
  return `${what}${by} (${stage})${which}${where}`;
}

/** The answer, and in a few words why. @param {AuditDay} day @returns {{ text: string, why: string }} */
export function answerText({ answer, topics, auditLag }) {
  const text = { yes: "Yes", "not yet": "Not yet", never: "Never" }[answer];
  if (topics.length === 0) return { text, why: "no topic was heard of in these days" };
  const open = topics.filter((topic) => topic.answer !== "yes").length;
  const sum = (/** @type {"produced" | "settled" | "letters"} */ name) =>
    topics.reduce((total, topic) => total + topic[name], 0);
  const letters = sum("letters") === 0 ? "" : `, ${count(sum("letters"))} of them as dead letters`;
  const lag =
    auditLag === 0 ? "" : `; ${many(auditLag, "message")} of heartbeats are not in the audit table yet`;
  const which = open === 0 ? "" : `${count(open)} of ${many(topics.length, "topic")} open, `;
  return {
    text,
    why: `${which}${count(sum("settled"))} of ${many(sum("produced"), "message")} settled${letters}${lag}`,
  };
}

/**
 * Why there is no answer: nothing is audited yet, which most labs do not, and how to begin; or what went wrong. `commands` are those in the hint.
 * @param {{ code: string, message: string, hint?: string }} problem @returns {{ text: string, why: string, commands: readonly string[] } | null}
 */
export function unauditedText({ code, message, hint = "" }) {
  if (code !== "TABLE_NOT_FOUND") return null;
  const commands = [...hint.matchAll(/`([^`]+)`/g)].map(([, command]) => command ?? "");
  const why = `${message}. This page tells whether all that producers sent on a day is in the tables, once producers say what they send and a table keeps it:`;
  return { text: "Nothing is audited yet", why: `${why[0]?.toUpperCase()}${why.slice(1)}`, commands };
}

/** How far the day is by the clock, and complete for all topics, as shares of it. @param {AuditDay} day @param {number} nowMs */
export function clockOf({ from, to, topics }, nowMs) {
  const [startMs, endMs] = [Date.parse(from), Date.parse(to)];
  const share = (/** @type {number} */ ms) => Math.max(0, Math.min(1, (ms - startMs) / (endMs - startMs)));
  const completeMs = topics.reduce((least, { completeTo }) => Math.min(least, Date.parse(completeTo)), endMs);
  const isKnown = topics.length > 0;
  return {
    now: share(nowMs),
    complete: isKnown ? share(completeMs) : 0,
    completeMs: isKnown ? completeMs : startMs,
  };
}

/** @typedef {{ date: string, zone: string, topic: string | null, hour: string | null }} AuditRoute */

/** @param {string} address @returns {AuditRoute} */
export function parseAuditAddress(address) {
  const { searchParams } = new URL(address, "http://page");
  return {
    date: searchParams.get("date") ?? "today",
    zone: searchParams.get("tz") ?? "UTC",
    topic: searchParams.get("topic"),
    hour: searchParams.get("hour"),
  };
}

/** @param {AuditRoute} route */
export function formatAuditAddress({ date, zone, topic, hour }) {
  const query = new URLSearchParams({
    ...(date === "today" ? {} : { date }),
    ...(zone === "UTC" ? {} : { tz: zone }),
    ...(topic === null ? {} : { topic }),
    ...(hour === null ? {} : { hour }),
  });
  return query.size === 0 ? "/audit" : `/audit?${query}`;
}

/** The date so many days later. @param {string} date YYYY-MM-DD @param {number} days */
export const shiftDate = (date, days) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
