/** The ledger of the chosen table: a verdict, the equation that supports it, and what breaks it. */

import { formatAddress, NOWHERE } from "./address.js";
import { whyUncounted } from "./beginning.js";
import { ownerOf } from "./beside.js";
import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { clock, count } from "./format.js";
import { byMinute, culpritText, findingsOf, termsFor, total, verdictOf } from "./ledger-words.js";
import { view } from "./state.js";

/** @typedef {import("../ledger-watch.ts").TableLedger} TableLedger */

export function ledgerView() {
  const toggle = byId("ledger-by");
  let isByMinute = false;
  /** The last verdict that was not good, until somebody has read it. @type {{ table: string, text: string, at: string } | null} */
  let unread = null;
  let last = "";
  /** @type {TableLedger | null} */
  let shown = null;

  toggle.addEventListener("click", () => {
    isByMinute = !isByMinute;
    setAttribute(toggle, "aria-pressed", String(isByMinute));
    showTerms(shown, isByMinute);
  });
  byId("ledger-read").addEventListener("click", () => {
    unread = null;
    byId("ledger-was").hidden = true;
    byId("ledger-verdict").focus();
  });

  return view(
    (state) => [ledgerOf(state), state.connection.status, whyUncounted(state)],
    (ledger, connection, why) => {
      shown = ledger;
      const isLost = connection === "lost" && ledger !== null;
      const { verdict, text } = isLost
        ? { verdict: "unknown", text: "Cannot tell: the page is disconnected" }
        : ledger === null
          ? { verdict: "unknown", text: why }
          : verdictOf(ledger);
      const box = byId("ledger");
      box.dataset.verdict = verdict;
      setText(byId("ledger-verdict"), text);
      setText(
        byId("ledger-checked"),
        ledger?.checkedAt ? `counted ${clock(ledger.checkedAt)}, by a reader of its own` : "",
      );
      if (verdict === "broken" && ledger !== null)
        unread = { table: ledger.table, text, at: new Date().toISOString() };
      byId("ledger-was").hidden = unread === null || verdict === "broken" || unread.table !== ledger?.table;
      if (unread !== null) setText(byId("ledger-was-text"), `At ${clock(unread.at)}: ${unread.text}`);
      // Changes of the verdict are spoken, counts are not.
      if (last !== "" && last !== `${ledger?.table} ${verdict}`) setText(byId("announce"), `Ledger: ${text}`);
      last = `${ledger?.table} ${verdict}`;
      showFindings(ledger);
      showTerms(ledger, isByMinute);
    },
  );
}

/** That of the stream which fills the table, or the one that it lies beside. @param {import("./state.js").State} state */
export function ledgerOf({ ledger, route }) {
  const owner = ownerOf(route.table ?? "", ledger?.map(({ table }) => table) ?? []);
  return (
    ledger?.find(({ table }) => table === route.table) ?? ledger?.find(({ table }) => table === owner) ?? null
  );
}

/** @param {TableLedger | null} ledger */
function showFindings(ledger) {
  const box = byId("ledger-findings");
  const isBroken = ledger?.verdict === "broken";
  box.hidden = !isBroken;
  if (!isBroken || ledger === null) return;
  const items = [
    ...findingsOf(ledger),
    ...ledger.culprits
      .slice(0, 3)
      .map((culprit) => ({ text: culpritText(culprit), sql: null, version: culprit.version })),
  ];
  const key = JSON.stringify(items);
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  box.replaceChildren(
    ...items.map((item) => {
      const address =
        item.sql !== null
          ? formatAddress({ ...NOWHERE, table: ledger.table, tab: "sql", sql: item.sql })
          : "version" in item
            ? formatAddress({ ...NOWHERE, table: ledger.table, tab: "commit", version: Number(item.version) })
            : null;
      return h("li", {}, address === null ? item.text : h("a", { href: address }, item.text));
    }),
  );
}

/** @param {TableLedger | null} ledger @param {boolean} isByMinute */
function showTerms(ledger, isByMinute) {
  const lines = ledger?.lines ?? [];
  byId("ledger-table").hidden = lines.length === 0;
  const terms = termsFor(lines, ledger?.isMerged ?? false);
  const columns = isByMinute
    ? (ledger === null ? [] : byMinute(ledger)).map((minute) => ({
        name: new Date(minute.minute).toISOString().slice(11, 16),
        terms: minute,
      }))
    : [
        { name: "all", terms: Object.fromEntries(ALL.map((name) => [name, total(lines, name)])) },
        ...lines.map((line) => ({ name: `${line.topic}-${line.partition}`, terms: line })),
      ];
  byId("ledger-table").setAttribute(
    "aria-label",
    isByMinute ? "The equation by minute, UTC" : "The equation by partition",
  );
  keepInLine(
    byId("ledger-head"),
    ["", ...columns.map(({ name }) => name)],
    (name) => name,
    () => h("th", { scope: "col" }),
    (cell, name) => {
      setText(cell, name);
      cell.className = name === "" ? "" : "num";
    },
  );
  keepInLine(
    byId("ledger-terms"),
    terms,
    ({ name }) => name,
    () => h("tr", {}, h("th", { scope: "row" })),
    (row, { name, sign, title, isBad, of }) => {
      const head = /** @type {HTMLElement} */ (row.firstElementChild);
      setText(head, `${sign} ${name}`.trim());
      head.title = title;
      while (row.children.length > columns.length + 1) row.lastElementChild?.remove();
      columns.forEach(({ terms: own }, n) => {
        const cell = /** @type {HTMLElement} */ (
          row.children[n + 1] ?? row.appendChild(h("td", { class: "num" }))
        );
        const value = String(of(own));
        setText(cell, count(value));
        cell.className = `num${isBad && value !== "0" ? " bad" : ""}`;
      });
    },
  );
}

const ALL = [
  "produced",
  "distinct",
  "letters",
  "skipped",
  "removedByRestore",
  "waiting",
  "lost",
  "doubled",
  "strange",
];
