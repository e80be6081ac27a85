/** Wires the page: the address, the live feed, what is loaded for it, and the views that show it. */

import { formatAddress, NOWHERE, parseAddress } from "./address.js";
import { addressBar } from "./address-bar.js";
import { alertsView } from "./alerts.js";
import { getJson, problemText } from "./api.js";
import { asking } from "./asking.js";
import { besideOf } from "./beside.js";
import { breakView } from "./break.js";
import { chartView } from "./chart.js";
import { commitView } from "./commit.js";
import { compareView } from "./compare.js";
import { connectDialog } from "./dialog.js";
import { byId, h, setText } from "./dom.js";
import { openFeed } from "./feed.js";
import { flowView } from "./flow.js";
import { headerView } from "./header.js";
import { historyKeeper } from "./histories.js";
import { ledgerView } from "./ledger.js";
import { lettersView } from "./letters.js";
import { marksKeeper } from "./marks.js";
import { panelsView, tabsView } from "./panels.js";
import { timeView } from "./scrubber.js";
import { sqlView } from "./sql.js";
import {
  currentVersion,
  historyOf,
  holdState,
  initialState,
  isUnknownTable,
  summaryOf,
  view,
} from "./state.js";
import { isTyping } from "./timeline-keys.js";
import { upkeepView } from "./upkeep.js";
import { versionKeeper } from "./versions.js";
import { placeIn } from "./zoom.js";

/** @typedef {import("./state.js").State} State */

const addresses = addressBar();
const time = timeView({
  ...{ pin, goLive },
  find: (point) => go({ ...state.get().route, version: null, point }),
  compare: (version) => go({ ...state.get().route, tab: "compare", from: version, to: null, version: null }),
});
const chart = chartView();
const repaint = () => {
  time.repaint();
  chart.repaint();
};
const keepHistory = historyKeeper((history) => state.set({ history }));
const keepMarks = marksKeeper((marks) => state.set({ marks }));
const keepVersion = versionKeeper((shown) => state.set({ shown }));
const feed = openFeed({
  onEvent(name, data) {
    if (name === "snapshot")
      state.set({
        flow: data.flow ?? state.get().flow,
        tables: data.tables ?? state.get().tables,
        ledger: data.ledger,
        alerts: data.alerts,
        chaos: data.chaos,
        jobs: data.jobs,
      });
    else if (name !== "heartbeat") state.set({ [name]: data });
  },
  onStatus: (connection) => state.set({ connection }),
});
const header = headerView({
  choose: (table) =>
    go({ ...NOWHERE, table, tab: state.get().route.tab === "sql" ? "rows" : state.get().route.tab }),
  pin: () => pin(currentVersion(state.get()) ?? 0),
  goLive,
  retryNow: () => feed.retryNow(),
  themeChanged: repaint,
});
const panels = panelsView({
  tryAgain() {
    keepVersion.forget();
    followVersion(state.get());
  },
});
const state = holdState(initialState(location.href, Date.now()), [
  chooseTable,
  view((now) => [now.route.table, summaryOf(now)], followHistory),
  view((now) => [historyOf(now)], followMarks),
  followVersion,
  header,
  flowView(),
  ledgerView(),
  alertsView(),
  breakView(),
  lettersView(),
  upkeepView(),
  commitView(),
  compareView({ go: (change) => go({ ...state.get().route, ...change }) }),
  time.render,
  tabsView({ go: (href) => go(parseAddress(href)) }),
  panels,
  chart.render,
  sqlView({ keep: (sql) => go({ ...state.get().route, tab: "sql", sql }, true) }),
  view((now) => [now.route, summaryOf(now)?.name ?? null], resolvePoint),
  view((now) => [now.route], linkTabs),
  view((now) => [now.route, historyOf(now), now.tables], notice),
  view((now) => [now.route.table, now.route.version, now.route.tab], title),
]);

/** Moves the page to a state; `isQuiet` leaves no entry in the browser's history. @param {import("./state.js").Route} route @param {boolean} [isQuiet] */
function go(route, isQuiet = false) {
  addresses.write(formatAddress(route), isQuiet);
  state.set({ route });
}

/** The first step into the past can be gone back from; those after it only move it. @param {number} version */
function pin(version) {
  const { route } = state.get();
  go({ ...route, version, point: null }, route.version !== null);
  // The server has begun by the time that the timeline is drawn.
  followVersion(state.get());
}

function goLive() {
  const { route } = state.get();
  if (route.version !== null) go({ ...route, version: null });
}

/** Without a table in the address, the one with most rows that belongs to no other. @param {State} now */
function chooseTable({ tables, route }) {
  if (route.table !== null || tables === null) return;
  const names = tables.tables.map(({ name }) => name);
  const plain = tables.tables.filter(({ name }) => besideOf(name, names) === null);
  const [first] = (plain.length > 0 ? plain : [...tables.tables]).sort(
    (a, b) => Number(b.rows ?? 0) - Number(a.rows ?? 0),
  );
  if (first !== undefined) go({ ...route, table: first.name }, true);
}

/** @param {string | null} table @param {import("../tables.ts").TableSummary | null} summary */
function followHistory(table, summary) {
  if (table !== null && summary !== null && summary.version !== null)
    keepHistory.follow(table, summary.id, summary.version);
}

/** @param {State["history"]} kept */
function followMarks(kept) {
  const newest = kept?.entries.at(-1);
  if (kept !== null && newest !== undefined) keepMarks.follow(kept.table, kept.id, newest);
}

/** The version before the last one shown: which way the user travels. */
let lastShown = 0;

/** @param {State} now */
function followVersion(now) {
  const version = currentVersion(now);
  const kept = historyOf(now);
  if (version === null || kept === null) return;
  const step = version < lastShown ? -1 : 1;
  const ahead = now.route.version === null ? [] : [version + step, version + 2 * step];
  const known = ahead.filter((n) => kept.entries[placeIn(kept.entries, n)]?.version === n);
  const point = (/** @type {number} */ n) => ({ table: kept.table, id: kept.id, version: n });
  keepVersion.show(point(version), known.map(point));
  lastShown = version;
}

/** @param {import("./state.js").Route} route */
function linkTabs(route) {
  for (const tab of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("[role=tab]"))) {
    const name = /** @type {import("./address.js").Tab} */ (tab.dataset.tab);
    tab.setAttribute("href", formatAddress({ ...route, tab: name }));
  }
}

const resolving = asking(({ problem }) => {
  setText(byId("goto-problem"), problem === null ? "" : problemText(problem));
  byId("goto-problem").className = problem === null ? "sr" : "field-problem";
});

/** The version that a time or an offset means takes their place in the address. @param {import("./state.js").Route} route @param {string | null} known */
function resolvePoint(route, known) {
  const { point, table } = route;
  if (point === null || table === null || known !== table) return;
  const name = /^\d+:\d+$/.test(point) ? "offset" : "at";
  void resolving.ask(
    (signal) =>
      getJson(
        `/api/tables/${encodeURIComponent(table)}/at?${new URLSearchParams({ [name]: point })}`,
        signal,
      ),
    (/** @type {{ version: number }} */ { version }) =>
      go({ ...state.get().route, version, point: null }, true),
  );
}

/** What is wrong with the address: no such table, no such version. */
function notice(
  /** @type {State["route"]} */ route,
  /** @type {State["history"]} */ kept,
  /** @type {State["tables"]} */ tables,
) {
  const box = byId("notice");
  const isUnknown = isUnknownTable({ route, tables });
  const oldest = kept?.entries[0]?.version ?? 0;
  const newest = kept?.entries.at(-1)?.version ?? 0;
  const isGone =
    route.version !== null &&
    kept?.isLoaded === true &&
    kept.entries.length > 0 &&
    (route.version < oldest || route.version > newest);
  box.hidden = !isUnknown && !isGone;
  if (isUnknown)
    box.replaceChildren(`There is no table ${route.table}. `, h("a", { href: "/" }, "Show another"));
  else if (isGone) {
    const nearest = (route.version ?? 0) < oldest ? oldest : newest;
    const why = (route.version ?? 0) < oldest ? "is no longer in the log" : "does not exist yet";
    const link = h("a", { href: formatAddress({ ...route, version: nearest }) }, `version ${nearest}`);
    box.replaceChildren(
      `Version ${route.version} of ${route.table} ${why}. Shown is the nearest, `,
      link,
      ".",
    );
  }
}

/** Once the cursor rests: the window's title costs more than all else that is drawn for a version, and nobody can listen to sixty a second. */
const TITLE_AFTER_MS = 120;
let titleTimer = 0;

/** @param {string | null} table @param {number | null} version @param {string} tab */
function title(table, version, tab) {
  const place = tab === "sql" ? "SQL" : `${table ?? ""}${version === null ? "" : ` at version ${version}`}`;
  clearTimeout(titleTimer);
  titleTimer = window.setTimeout(() => {
    document.title = `${place ? `${place} - ` : ""}Delta Stream Lab`;
    setText(byId("announce"), version === null ? "" : `Pinned to version ${version}`);
  }, TITLE_AFTER_MS);
}

// What scrolls can be reached by keyboard, in every browser.
for (const box of document.querySelectorAll("section.scroll")) box.setAttribute("tabindex", "0");

const { showKeys } = connectDialog();
document.addEventListener("lab:record", () => {
  /** @type {HTMLDialogElement} */ (byId("dialog")).close();
  go({ ...state.get().route, tab: "commit" });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "?" && !isTyping(event.target)) showKeys();
});
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (
    link === null ||
    !isPlain ||
    link.hasAttribute("download") ||
    !/^\/(t\/|sql|$)/.test(link.getAttribute("href") ?? "")
  )
    return;
  event.preventDefault();
  go(parseAddress(link.href));
});
addEventListener("popstate", () => {
  addresses.forget();
  state.set({ route: parseAddress(location.href) });
});
setInterval(() => state.set({ clock: Date.now() }), 1_000);
state.set({});
