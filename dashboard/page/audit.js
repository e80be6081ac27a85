/** The page of audits: asks for a day again and again while it is looked at, and shows its answer, clock, hours and origins. */

import { getJson, problemOf, problemText, Refusal } from "./api.js";
import { heatView } from "./audit-heat.js";
import {
  answerText,
  clockOf,
  findingText,
  formatAuditAddress,
  hoursOf,
  parseAuditAddress,
  shiftDate,
  timeIn,
  unauditedText,
} from "./audit-words.js";
import { byId, h, keepInLine, setAttribute, setText, time } from "./dom.js";
import { clock, count, visible } from "./format.js";
import { connectTheme } from "./theme.js";

/** @typedef {import("../audit.ts").AuditDay} AuditDay */

const ASK_EVERY_MS = 10_000;
const MOST_FINDINGS = 50;

let route = parseAuditAddress(location.href);
/** @type {AuditDay | null} */
let day = null;
/** Why there is no day. @type {ReturnType<typeof unauditedText>} */
let unaudited = null;
let asking = new AbortController();

const heat = heatView((topic, hour) => {
  go({ ...route, topic, hour }, "replace");
});

/** @param {typeof route} to @param {"push" | "replace"} how */
function go(to, how) {
  const isOtherDay = to.date !== route.date || to.zone !== route.zone;
  route = to;
  const address = formatAuditAddress(route);
  if (how === "push") history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  if (isOtherDay) void ask();
  else show();
}

addEventListener("popstate", () => {
  route = parseAuditAddress(location.href);
  void ask();
});

/** Asks at once, and again while the page is seen. */
async function ask() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  setAttribute(document.documentElement, "data-connection", day === null ? "connecting" : "live");
  for (;;) {
    if (!document.hidden) await askOnce(signal);
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    if (signal.aborted) return;
  }
}

/** @param {AbortSignal} signal */
async function askOnce(signal) {
  const query = new URLSearchParams({ date: route.date, tz: route.zone });
  try {
    const answer = /** @type {AuditDay} */ (await getJson(`/api/audit?${query}`, signal));
    if (signal.aborted) return;
    day = answer;
    unaudited = null;
    connected("live", `Asked ${clock(new Date().toISOString())}`);
    byId("notice").hidden = true;
    show();
  } catch (error) {
    if (signal.aborted) return;
    const isOutage = error instanceof Refusal && error.isOutage;
    connected(isOutage ? "lost" : "live", isOutage ? "Disconnected: what is shown is old" : "Connected");
    // An answer of another day must not stand under this one's name.
    if (!isOutage) day = null;
    const problem = problemOf(error);
    unaudited = unauditedText(problem);
    byId("notice").hidden = unaudited !== null;
    setText(byId("notice"), unaudited === null ? problemText(problem) : "");
    show();
  }
}

/** @param {string} status @param {string} text */
function connected(status, text) {
  setAttribute(document.documentElement, "data-connection", status);
  setText(byId("connection"), text);
}

let spoken = "";

function show() {
  const shownDate = day?.date ?? (/^\d{4}/.test(route.date) ? route.date : "");
  const date = /** @type {HTMLInputElement} */ (byId("date"));
  const zone = /** @type {HTMLInputElement} */ (byId("zone"));
  if (document.activeElement !== date && shownDate !== "") date.value = shownDate;
  if (document.activeElement !== zone) zone.value = route.zone;
  const { text, why } = day !== null ? answerText(day) : (unaudited ?? { text: "Not known", why: "" });
  byId("answer").dataset.answer = day?.answer ?? "unknown";
  setText(byId("answer-text"), text);
  setText(byId("answer-why"), why);
  showWay();
  if (spoken !== "" && spoken !== text) setText(byId("announce"), `${shownDate}: ${text}`);
  spoken = text;
  showClock();
  heat.show(day, route, Date.now());
  showOrigins();
  showAmiss();
}

/** What there is to do before anything is audited; the parts of a day say nothing then. */
function showWay() {
  const commands = day === null ? (unaudited?.commands ?? []) : [];
  byId("way").hidden = commands.length === 0;
  keepInLine(
    byId("way"),
    commands,
    (command) => command,
    () => h("code", { class: "command" }),
    setText,
  );
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".of-a-day")))
    part.hidden = commands.length > 0;
}

function showClock() {
  const bar = byId("clock-bar");
  if (day === null) {
    bar.replaceChildren();
    setText(byId("clock-text"), "");
    return;
  }
  const nowMs = Date.now();
  const { now, complete, completeMs } = clockOf(day, nowMs);
  const { timeZone } = day;
  keepInLine(
    bar,
    ["now", "complete"],
    (name) => name,
    () => h("div"),
    (element, name) => {
      element.className = `clock-${name}`;
      element.style.width = `${(name === "now" ? now : complete) * 100}%`;
    },
  );
  const hours = hoursOf(day);
  keepInLine(
    byId("clock-hours"),
    hours.filter((_, n) => n % 6 === 0),
    ({ startMs }) => String(startMs),
    () => h("span"),
    (element, { startMs }) => {
      setText(element, timeIn(startMs, timeZone));
      element.style.left = `${(hours.findIndex((hour) => hour.startMs === startMs) / hours.length) * 100}%`;
    },
  );
  const isOver = completeMs >= Date.parse(day.to);
  const length = hours.length === 24 ? "" : `, a day of ${hours.length} hours`;
  const by = now >= 1 ? "The day is over by the clock" : `By the clock it is ${timeIn(nowMs, timeZone)}`;
  const what = isOver
    ? "all origins have passed its end"
    : `all origins have passed ${timeIn(completeMs, timeZone)}`;
  const sentence = `${by}${length}; ${what}.`;
  setText(byId("clock-text"), sentence);
  setAttribute(byId("clock"), "aria-label", `The day's clock. ${sentence}`);
}

function showOrigins() {
  const rows = (day?.topics ?? []).flatMap(({ topic, origins }) =>
    origins.map((origin) => ({ topic, ...origin })),
  );
  keepInLine(
    byId("origins"),
    rows,
    ({ topic, origin }) => `${topic} ${origin}`,
    () => h("tr"),
    (row, { topic, origin, host, state, heard, passed, produced, settled }) => {
      row.dataset.state = state;
      row.replaceChildren(
        h("td", {}, visible(topic)),
        h("th", { scope: "row" }, visible(origin)),
        h("td", {}, visible(host ?? "")),
        h("td", { class: "state" }, state),
        h("td", {}, heard === null ? "never" : time(heard, clock(heard))),
        h("td", {}, passed === null ? "" : time(passed, clock(passed))),
        h("td", { class: "num" }, count(produced)),
        h("td", { class: "num" }, count(settled)),
      );
    },
  );
}

function showAmiss() {
  const all = (day?.topics ?? []).flatMap(({ topic, findings }) =>
    findings.map((finding) => ({ topic, finding })),
  );
  const shown = all.slice(0, MOST_FINDINGS);
  const note =
    day === null
      ? ""
      : all.length === 0
        ? "Nothing"
        : all.length > shown.length
          ? `The first ${MOST_FINDINGS} of ${count(all.length)}`
          : "";
  setText(byId("amiss-note"), note);
  byId("amiss").replaceChildren(
    ...shown.map(({ topic, finding }) => {
      const { window, since } = finding;
      const when = window === null ? "" : `${timeIn(Date.parse(window), day?.timeZone ?? "UTC")}: `;
      const how = since === null || window !== null ? "" : `, since ${clock(since)}`;
      return h("li", {}, h("strong", {}, visible(topic)), ` ${when}${findingText(finding)}${how}`);
    }),
  );
}

function wireForm() {
  const date = /** @type {HTMLInputElement} */ (byId("date"));
  const zone = /** @type {HTMLInputElement} */ (byId("zone"));
  const asked = () => ({ date: date.value, zone: zone.value.trim() || "UTC", topic: null, hour: null });
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    go(asked(), "push");
  });
  date.addEventListener("change", () => {
    if (date.validity.valid && date.value !== "") go(asked(), "push");
  });
  for (const [id, days] of /** @type {const} */ ([
    ["day-before", -1],
    ["day-after", 1],
  ]))
    byId(id).addEventListener("click", () => {
      if (date.value === "") return;
      date.value = shiftDate(date.value, days);
      go(asked(), "push");
    });
  byId("zones").append(...Intl.supportedValuesOf("timeZone").map((name) => h("option", { value: name })));
}

/** What is wider than its box is scrolled with the keyboard, too; a box that is not would be a stop for nothing. */
function watchBoxes() {
  const boxes = new ResizeObserver(() => {
    for (const box of document.querySelectorAll(".scroll"))
      setAttribute(box, "tabindex", box.scrollWidth > box.clientWidth ? 0 : null);
  });
  for (const part of document.querySelectorAll(".scroll, .scroll > *")) boxes.observe(part);
}

connectTheme(() => {});
watchBoxes();
wireForm();
addEventListener("visibilitychange", () => {
  if (!document.hidden) void ask();
});
void ask();
