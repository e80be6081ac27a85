/** Two versions: what came, what went, what changed, in rows, columns, properties and files. */

import { getJson, problemText } from "./api.js";
import { asking } from "./asking.js";
import { likelyKey, pairRows, summary } from "./compare-words.js";
import { byId, h, setText } from "./dom.js";
import { cell, count } from "./format.js";
import { createGrid } from "./grid.js";
import { currentVersion, historyOf, summaryOf, view } from "./state.js";

/** @typedef {import("../tables.ts").TableDiff} TableDiff */

const MOST_ROWS = 1_000;
const REST_MS = 150;

/** @param {{ go: (change: Partial<import("./address.js").Route>) => void }} act */
export function compareView({ go }) {
  const number = (/** @type {string} */ id) =>
    h("input", { type: "text", inputmode: "numeric", autocomplete: "off", id, pattern: "\\d+" });
  const from = number("compare-from");
  const to = number("compare-to");
  const key = h("select", { id: "compare-key" });
  const previous = h("button", { type: "button" }, "With previous");
  const swap = h("button", { type: "button" }, "Swap");
  const cancel = h("button", { type: "button", hidden: true }, "Cancel");
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const line = h("p", { class: "compare-line", id: "compare-line", role: "status" });
  const note = h("p", { class: "foot" });
  const grid = createGrid("Rows that differ", "diff");
  const form = h(
    "form",
    { class: "work-bar", "aria-label": "Versions to compare" },
    h("label", {}, "From", from),
    h("label", {}, "to", to),
    h("button", { type: "submit" }, "Compare"),
    previous,
    swap,
    h("label", {}, "Key", key),
    cancel,
  );
  byId("view-compare").append(form, problem, line, grid.element, h("div", { class: "feet" }, note));
  grid.element.hidden = true;
  let timer = 0;
  /** @type {TableDiff | null} */
  let diff = null;
  let current = 0;
  let shownKey = "";

  const asked = asking(({ isAsking, problem: found }) => {
    cancel.hidden = !isAsking;
    if (isAsking) setText(line, `Comparing ${from.value} and ${to.value}...`);
    else if (found !== null) {
      // Rows of other versions than those that are named would look like theirs.
      diff = null;
      setText(line, "");
      setText(note, "");
      grid.element.hidden = true;
    }
    problem.hidden = found === null;
    if (found !== null) setText(problem, problemText(found));
    grid.element.classList.toggle("old", isAsking);
  });
  const show = () => {
    if (diff === null) return;
    const { columns } = diff;
    const rows = pairRows(diff, key.value === "" ? [] : [key.value]);
    const words = (/** @type {unknown} */ value, /** @type {number} */ n) =>
      cell(value, columns[n]?.type ?? "") ?? "NULL";
    setText(line, summary(diff, rows));
    grid.element.hidden = rows.length === 0;
    grid.show({
      columns: [{ name: "\u00b1", type: "" }, ...columns],
      rows: rows.map(({ sign, cells }) => [
        SIGNS[sign],
        ...cells.map(({ before, after, isChanged }, n) =>
          sign === "~"
            ? isChanged
              ? `${words(before, n)} \u2192 ${words(after, n)}`
              : after
            : sign === "+"
              ? after
              : before,
        ),
      ]),
      marks: rows.map(({ sign }) => sign),
    });
    const how =
      key.value === ""
        ? "No key: rows are compared as they are, each as often as it is there."
        : `Rows of one ${key.value} are one row.`;
    const cut = diff.truncated
      ? ` Listed are the first ${count(MOST_ROWS)} of each side; all are counted.`
      : "";
    setText(note, rows.length === 0 ? "" : `${how}${cut}`);
  };
  /** @param {string} table @param {number} a @param {number} b */
  const compare = (table, a, b) =>
    asked.ask(
      (signal) =>
        getJson(`/api/tables/${encodeURIComponent(table)}/diff?from=${a}&to=${b}&rows=${MOST_ROWS}`, signal),
      (/** @type {TableDiff} */ found) => {
        diff = found;
        const names = found.columns.map(({ name }) => name);
        if (shownKey !== `${table} ${names}`) {
          shownKey = `${table} ${names}`;
          key.replaceChildren(
            h("option", { value: "" }, "none"),
            ...names.map((name) => h("option", { value: name }, name)),
          );
          key.value = likelyKey(found.columns) ?? "";
        }
        show();
      },
    );

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (from.value.trim() !== "" && to.value.trim() !== "")
      go({ from: Number(from.value), to: Number(to.value) });
  });
  previous.addEventListener("click", () => go({ from: Math.max(0, current - 1), to: current }));
  swap.addEventListener("click", () => go({ from: Number(to.value), to: Number(from.value) }));
  cancel.addEventListener("click", () => {
    asked.cancel();
    setText(line, "Cancelled");
  });
  key.addEventListener("change", show);

  return view(
    (state) => [
      state.route,
      summaryOf(state)?.name ?? null,
      currentVersion(state),
      historyOf(state)?.entries[0]?.version ?? 0,
    ],
    (route, table, version, oldest) => {
      current = version ?? 0;
      clearTimeout(timer);
      if (route.tab !== "compare" || table === null || version === null) return;
      const a = route.from ?? Math.max(oldest, version - 1);
      const b = route.to ?? version;
      if (document.activeElement !== from) from.value = String(a);
      if (document.activeElement !== to) to.value = String(b);
      if (diff?.table === table && diff.from === a && diff.to === b) return;
      timer = window.setTimeout(() => void compare(table, a, b), REST_MS);
    },
  );
}

const SIGNS = { "+": "+", "-": "\u2212", "~": "~" };
