/** A table of any number of rows: only those in sight are in the document, updated in place. */

import { openDialog } from "./dialog.js";
import { h, setAttribute, setText } from "./dom.js";
import { cell, isNumeric } from "./format.js";
import { nestedText } from "./nested.js";
import { sortRows } from "./sort.js";

const ROW_PX = 28;
const SPARE_ROWS = 12;
const MEASURED_ROWS = 200;
/** Widths of a character in cells, in names and in types of columns. */
const CELL_PX = 7.7;
const NAME_PX = 9.4;
const TYPE_PX = 6.6;

/** `marks` has a sign for each row, for its look. @typedef {{ columns: readonly { name: string, type: string }[], rows: readonly (readonly unknown[])[], marks?: readonly string[] }} Table */

/** With `isSortable` the heads of columns sort. @param {string} label @param {string} id @param {{ isSortable?: boolean }} [options] */
export function createGrid(label, id, { isSortable = false } = {}) {
  const columns = h("colgroup");
  const headRow = h("tr", { "aria-rowindex": 1 });
  const above = spacer();
  const below = spacer();
  const body = h("tbody", {}, above.row, below.row);
  const table = h(
    "table",
    { role: "grid", "aria-label": label, tabindex: 0 },
    columns,
    h("thead", {}, headRow),
    body,
  );
  const element = h("div", { class: "grid" }, table);
  /** @type {Table} */
  let data = { columns: [], rows: [] };
  /** As they came. @type {Table["rows"]} */
  let source = [];
  /** @type {{ column: number, direction: 1 | -1 } | null} */
  let order = null;
  let active = -1;
  let headText = "";
  /** Height and place as they were last seen, 0 out of sight: to ask for them after a change has the browser lay the page out at once. */
  let [height, top] = [0, 0];

  /** Up, down, and as it came. @param {number} column */
  const sortBy = (column) => {
    order =
      order?.column !== column
        ? { column, direction: 1 }
        : order.direction === 1
          ? { column, direction: -1 }
          : null;
    const type = data.columns[column]?.type ?? "";
    data = { ...data, rows: order === null ? source : sortRows(source, column, type, order.direction) };
    for (const [n, head] of [...headRow.children].entries())
      setAttribute(
        head,
        "aria-sort",
        n !== order?.column ? "none" : order.direction === 1 ? "ascending" : "descending",
      );
    active = -1;
    element.scrollTop = top = 0;
    showRows();
  };

  const showHead = () => {
    const text = JSON.stringify(data.columns);
    if (text === headText) return;
    headText = text;
    headRow.replaceChildren(
      ...data.columns.map(({ name, type }, n) => {
        const place = isSortable
          ? h("button", { type: "button", class: "sort", title: `Sort by ${name}` }, name)
          : h("span", {}, name);
        place.addEventListener("click", () => isSortable && sortBy(n));
        return h(
          "th",
          { scope: "col", class: isNumeric(type) ? "num" : "", "aria-sort": isSortable ? "none" : null },
          place,
          h("small", {}, type),
        );
      }),
    );
    const widths = data.columns.map((column, n) => widthOf(column, n, data.rows));
    columns.replaceChildren(
      ...widths.map((width) => {
        const col = h("col");
        col.style.width = `${width}px`;
        return col;
      }),
    );
    table.style.minWidth = `${widths.reduce((a, b) => a + b, 0)}px`;
  };

  const showRows = () => {
    // They are made when it comes into sight.
    if (height === 0) return;
    const visible = Math.ceil(height / ROW_PX);
    const first = Math.max(0, Math.min(Math.floor(top / ROW_PX), data.rows.length - visible) - SPARE_ROWS);
    const last = Math.min(data.rows.length, first + visible + 2 * SPARE_ROWS);
    while (body.children.length - 2 > last - first) below.row.previousElementSibling?.remove();
    while (body.children.length - 2 < last - first) body.insertBefore(h("tr"), below.row);
    for (let n = first; n < last; n++) showRow(/** @type {HTMLElement} */ (body.children[n - first + 1]), n);
    above.resize(first, data.columns.length);
    below.resize(data.rows.length - last, data.columns.length);
    const isShown = active >= first && active < last;
    setAttribute(table, "aria-activedescendant", isShown ? `${id}-${active}` : null);
  };

  /** @param {HTMLElement} row @param {number} n */
  const showRow = (row, n) => {
    row.id = `${id}-${n}`;
    row.dataset.row = String(n);
    setAttribute(row, "aria-rowindex", n + 2);
    setAttribute(row, "data-mark", data.marks?.[n] ?? null);
    setAttribute(row, "aria-selected", n === active ? "true" : null);
    while (row.children.length > data.columns.length) row.lastElementChild?.remove();
    data.columns.forEach(({ type }, c) => {
      const place = /** @type {HTMLElement} */ (row.children[c] ?? row.appendChild(h("td")));
      const text = cell(data.rows[n]?.[c], type);
      place.className = `${isNumeric(type) ? "num" : ""}${text === null ? " null" : ""}`;
      setText(place, text ?? "NULL");
    });
  };

  const lookAgain = () => {
    [height, top] = [element.clientHeight, element.scrollTop];
    showRows();
  };
  /** @param {number} n */
  const choose = (n) => {
    active = Math.max(0, Math.min(data.rows.length - 1, n));
    const place = active * ROW_PX;
    const room = element.clientHeight - 2 * ROW_PX;
    if (place < element.scrollTop) element.scrollTop = place;
    if (place > element.scrollTop + room - ROW_PX) element.scrollTop = place - room + ROW_PX;
    lookAgain();
  };
  const open = () => {
    const row = data.rows[active];
    if (row !== undefined)
      openDialog(`Row ${active + 1}`, ...originOf(data.columns, row), wholeRow(data.columns, row));
  };

  element.addEventListener("scroll", () => requestAnimationFrame(lookAgain), { passive: true });
  new ResizeObserver(lookAgain).observe(element);
  body.addEventListener("click", (event) => {
    const row = event.target instanceof Element ? event.target.closest("tr") : null;
    if (row?.dataset.row === undefined || getSelection()?.toString()) return;
    choose(Number(row.dataset.row));
    open();
  });
  table.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(element.clientHeight / ROW_PX) - 2);
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: data.rows.length,
    };
    if (event.target !== table) return;
    if (event.key === "Enter") open();
    else if (event.key in to) choose(to[/** @type {keyof typeof to} */ (event.key)]);
    else return;
    event.preventDefault();
  });

  return {
    element,
    /** What the keys of rows go to. */
    table,
    /** Replaces what is shown and keeps the place in it. @param {Table} next */
    show(next) {
      data = next;
      source = next.rows;
      order = null;
      if (isSortable) headText = "";
      active = Math.min(active, data.rows.length - 1);
      setAttribute(table, "aria-rowcount", data.rows.length + 1);
      setAttribute(table, "aria-colcount", data.columns.length);
      showHead();
      showRows();
    },
  };
}

/** @param {{ name: string, type: string }} column @param {number} n @param {Table["rows"]} rows */
function widthOf({ name, type }, n, rows) {
  const longest = rows
    .slice(0, MEASURED_ROWS)
    .reduce((most, row) => Math.max(most, cell(row[n], type)?.length ?? 4), 0);
  const head = Math.max(Math.min(name.length, 30) * NAME_PX, Math.min(type.length, 18) * TYPE_PX) + 6;
  return Math.round(Math.max(Math.min(longest, 38) * CELL_PX, head)) + 24;
}

/** Stands for the rows out of sight. */
function spacer() {
  const place = h("td");
  const row = h("tr", { class: "spacer", "aria-hidden": "true" }, place);
  return {
    row,
    /** @param {number} rows @param {number} columns */
    resize(rows, columns) {
      place.colSpan = Math.max(1, columns);
      place.style.height = `${rows * ROW_PX}px`;
      row.hidden = rows === 0;
    },
  };
}

/** A way to the commit and the file that a row came with, where it says from which record it is. @param {Table["columns"]} columns @param {readonly unknown[]} row */
function originOf(columns, row) {
  const place = /** @type {any} */ (row[columns.findIndex(({ name }) => name === "_kafka")]);
  if (typeof place !== "object" || place === null || place.topic == null || place.offset == null) return [];
  const button = h(
    "button",
    { type: "button", class: "plain" },
    `Where is ${place.topic}-${place.partition} offset ${place.offset} from?`,
  );
  button.addEventListener("click", () =>
    document.dispatchEvent(
      new CustomEvent("lab:record", {
        detail: { topic: place.topic, partition: place.partition, offset: place.offset },
      }),
    ),
  );
  return [h("p", {}, button)];
}

/** Every column of one row, values in full. @param {Table["columns"]} columns @param {readonly unknown[]} row */
function wholeRow(columns, row) {
  return h(
    "dl",
    { class: "whole-row" },
    ...columns.flatMap(({ name, type }, n) => {
      const value = row[n];
      const text =
        typeof value === "object" && value !== null ? nestedText(value, type, "  ") : cell(value, type);
      return [
        h("dt", {}, name, h("small", {}, type)),
        h("dd", { class: text === null ? "null" : "" }, text ?? "NULL"),
      ];
    }),
  );
}
