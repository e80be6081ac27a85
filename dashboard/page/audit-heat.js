/** Topics by hours as a grid of signs, and the windows of the hour that is open. */

import { heatOf, SIGNS, timeIn, windowsOf } from "./audit-words.js";
import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { count, visible } from "./format.js";

/**
 * @typedef {import("../audit.ts").AuditDay} AuditDay
 * @typedef {import("../audit.ts").AuditedTopic} AuditedTopic
 * @typedef {import("./audit-words.js").AuditRoute} AuditRoute
 * @typedef {import("./audit-words.js").Hour} Hour
 */

/** A topic that goes to several tables has a line for each. @param {AuditedTopic} topic */
const nameOf = ({ topic, table }) =>
  table === null || table === topic.replace(/[^A-Za-z0-9_]/g, "_") ? topic : `${topic} in ${table}`;

/** @param {(topic: string | null, hour: string | null) => void} open */
export function heatView(open) {
  const grid = byId("heat");
  /** The cell that Tab leads to. */
  let focused = { row: 0, column: 0 };
  byId("heat-legend").append(
    ...Object.entries(SIGNS).map(([state, { sign, meaning }]) =>
      h(
        "li",
        {},
        h("span", { class: "heat-sign", "data-state": state, "aria-hidden": "true" }, sign),
        meaning,
      ),
    ),
  );
  const cellAt = (/** @type {number} */ row, /** @type {number} */ column) =>
    /** @type {HTMLElement | undefined} */ (
      byId("heat-rows").children[row]?.querySelectorAll("button")[column]
    );

  grid.addEventListener("keydown", (event) => {
    const moves = /** @type {Record<string, readonly [number, number]>} */ ({
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Home: [0, -1_000],
      End: [0, 1_000],
    });
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const rows = byId("heat-rows").children;
    const row = Math.max(0, Math.min(rows.length - 1, focused.row + move[0]));
    const columns = rows[row]?.querySelectorAll("button").length ?? 0;
    const column = Math.max(0, Math.min(columns - 1, focused.column + move[1]));
    cellAt(row, column)?.focus();
  });
  grid.addEventListener("focusin", (event) => {
    const cell = /** @type {HTMLElement} */ (event.target);
    if (cell.dataset.row === undefined) return;
    focused = { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
    rove();
  });
  grid.addEventListener("click", (event) => {
    const cell = /** @type {HTMLElement} */ (event.target).closest("button");
    if (cell === null) return;
    open(cell.dataset.name ?? null, cell.dataset.hour ?? null);
    byId("hour-title").focus();
  });
  byId("hour-close").addEventListener("click", () => {
    open(null, null);
    cellAt(focused.row, focused.column)?.focus();
  });

  function rove() {
    for (const cell of grid.querySelectorAll("button")) {
      const isHere =
        Number(cell.dataset.row) === focused.row && Number(cell.dataset.column) === focused.column;
      setAttribute(cell, "tabindex", isHere ? 0 : -1);
    }
  }

  return {
    /** @param {AuditDay | null} day @param {AuditRoute} route @param {number} nowMs */
    show(day, route, nowMs) {
      const topics =
        day === null ? [] : day.topics.map((topic) => ({ topic, hours: heatOf(day, topic, nowMs) }));
      showHead(topics[0]?.hours ?? []);
      keepInLine(
        byId("heat-rows"),
        topics.map((one, row) => ({ ...one, row })),
        ({ topic }) => nameOf(topic),
        () =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("span", { class: "heat-name" }), h("span", { class: "note" })),
          ),
        (line, one) => showLine(line, one, route),
      );
      focused = {
        row: Math.max(0, Math.min(focused.row, topics.length - 1)),
        column: Math.max(0, Math.min(focused.column, (topics[0]?.hours.length ?? 1) - 1)),
      };
      rove();
      showHour(day, topics, route);
    },
  };
}

/** @param {readonly Hour[]} hours */
function showHead(hours) {
  keepInLine(
    byId("heat-head"),
    [
      { key: "topic", text: "Topic" },
      ...hours.map(({ startMs, label }) => ({ key: String(startMs), text: label })),
    ],
    ({ key }) => key,
    () => h("th", { scope: "col" }),
    (cell, { text }) => setText(cell, text.replace(/:00$/, "")),
  );
}

/** @param {HTMLElement} line @param {{ topic: AuditedTopic, hours: readonly Hour[], row: number }} one @param {AuditRoute} route */
function showLine(line, { topic, hours, row }, route) {
  const [name, percent] = /** @type {HTMLElement} */ (line.firstElementChild).children;
  if (name) setText(name, visible(nameOf(topic)));
  if (percent) setText(percent, ` ${topic.percent.toFixed(2)} %`);
  while (line.children.length > hours.length + 1) line.lastElementChild?.remove();
  hours.forEach((hour, column) => {
    const cell =
      line.children[column + 1] ??
      line.appendChild(h("td", {}, h("button", { type: "button", class: "heat-sign", tabindex: -1 })));
    const button = /** @type {HTMLElement} */ (cell.firstElementChild);
    const key = new Date(hour.startMs).toISOString();
    const isOpen = route.topic === nameOf(topic) && route.hour === key;
    Object.assign(button.dataset, { row, column, name: nameOf(topic), hour: key, state: hour.state });
    setText(button, SIGNS[hour.state].sign);
    setAttribute(button, "aria-label", `${visible(nameOf(topic))}, ${hour.label}: ${hour.text}`);
    setAttribute(button, "title", `${hour.label}: ${hour.text}`);
    setAttribute(button, "aria-pressed", String(isOpen));
  });
}

/** @param {AuditDay | null} day @param {readonly { topic: AuditedTopic, hours: readonly Hour[] }[]} topics @param {AuditRoute} route */
function showHour(day, topics, route) {
  const found = topics.find(({ topic }) => nameOf(topic) === route.topic);
  const index = found?.hours.findIndex(({ startMs }) => new Date(startMs).toISOString() === route.hour) ?? -1;
  const hour = found?.hours[index];
  byId("hour").hidden = hour === undefined;
  if (day === null || found === undefined || hour === undefined) return;
  const { timeZone } = day;
  setText(
    byId("hour-title"),
    `${visible(nameOf(found.topic))}, ${hour.label} to ${timeIn(hour.endMs, timeZone)}: ${SIGNS[hour.state].meaning}`,
  );
  const windows = windowsOf(found.topic, hour, index === 0, timeZone);
  const rows = windows.length > 0 ? windows : [null];
  keepInLine(
    byId("windows"),
    rows,
    (window) => window?.window ?? "none",
    () => h("tr"),
    (row, window) => {
      if (window === null) {
        row.replaceChildren(h("td", { colspan: 5, class: "note" }, "No message of this hour is known"));
        return;
      }
      const { label, produced, settled, letters, amissTexts } = window;
      row.replaceChildren(
        h("th", { scope: "row" }, label),
        ...[produced, settled, letters].map((n) => h("td", { class: "num" }, count(n))),
        h("td", { class: "amiss-text" }, amissTexts.join("; ")),
      );
    },
  );
}
