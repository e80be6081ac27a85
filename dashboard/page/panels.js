/** Rows, schema, files and offsets of the version that is looked at. */

import { problemText } from "./api.js";
import { beginningOf } from "./beginning.js";
import { byId, h, setAttribute, setText } from "./dom.js";
import { bytes, count, many } from "./format.js";
import { createGrid } from "./grid.js";
import { currentVersion, historyOf, view } from "./state.js";

/** @typedef {import("./state.js").Detail} Detail */

/** @param {{ tryAgain: () => void }} act */
export function panelsView({ tryAgain }) {
  const rows = gridPanel("view-rows", "Rows of the version", "rows");
  const files = gridPanel("view-files", "Files of the version", "files");
  const schema = byId("view-schema");

  const showProgress = view(
    (state) => [
      state.shown,
      currentVersion(state),
      state.connection.status,
      historyOf(state)?.isLoaded ?? false,
    ],
    ({ detail, isLoading, problem }, version, connection, isLoaded) => {
      const isBehind = isLoading && detail !== null && detail.version !== version;
      document.documentElement.dataset.loading = String(isLoading);
      const waiting = detail === null ? (version === null ? "" : `Reading version ${version}...`) : "";
      const line = isBehind
        ? `Showing ${detail.version} while ${version} loads`
        : connection === "lost"
          ? "Disconnected: versions seen before can still be looked at"
          : waiting;
      const retry = problem === null ? [] : [problemText(problem), " ", retryButton(tryAgain)];
      const isEmpty = version === null && isLoaded;
      for (const panel of [rows, files]) panel.say(isEmpty ? "No versions" : line, retry);
    },
  );

  const showBeginning = view(
    (state) => [JSON.stringify(beginningOf(state))],
    (told) => rows.begin(JSON.parse(told)),
  );

  const showDetail = view(
    (state) => [state.shown.detail],
    (detail) => {
      rows.showRows(detail);
      files.showFiles(detail);
      schema.replaceChildren(...(detail === null ? [] : schemaOf(detail)));
    },
  );

  const showOffsets = view(
    (state) => [historyOf(state)?.entries.find(({ version }) => version === currentVersion(state))],
    (entry) => byId("offsets-box").replaceChildren(entry === undefined ? "" : offsetsOf(entry)),
  );

  return (/** @type {import("./state.js").State} */ state) => {
    showProgress(state);
    showDetail(state);
    showBeginning(state);
    showOffsets(state);
  };
}

/** @param {() => void} tryAgain */
function retryButton(tryAgain) {
  const button = h("button", { class: "plain", type: "button" }, "Try again");
  button.addEventListener("click", tryAgain);
  return button;
}

/** @param {string} place @param {string} label @param {string} id */
function gridPanel(place, label, id) {
  const grid = createGrid(label, id);
  const foot = h("p", { class: "foot" });
  const progress = h("p", { class: "progress" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const empty = h("p", { class: "empty", hidden: true });
  byId(place).append(
    h("div", { class: "bar-line", "aria-hidden": "true" }),
    problem,
    empty,
    grid.element,
    h("div", { class: "feet" }, foot, progress),
  );

  /** @param {import("./grid.js").Table} table @param {string} text @param {string} nothing */
  const show = (table, text, nothing) => {
    grid.show(table);
    grid.element.hidden = table.rows.length === 0;
    empty.hidden = table.rows.length > 0 || nothing === "";
    setText(empty, nothing);
    setText(foot, text);
  };
  const none = { columns: [], rows: [] };
  let isBeginning = false;
  return {
    /** What there is to do before there is a table. @param {import("./beginning.js").Beginning | null} beginning */
    begin(beginning) {
      if (beginning === null && !isBeginning) return;
      isBeginning = beginning !== null;
      empty.hidden = !beginning?.text;
      grid.element.hidden = isBeginning;
      empty.replaceChildren(beginning?.text ?? "", ...(beginning?.commands ?? []).map(command));
    },
    /** @param {string} text @param {(Node | string)[]} trouble */
    say(text, trouble) {
      setText(progress, text);
      problem.hidden = trouble.length === 0;
      problem.replaceChildren(...trouble);
    },
    /** @param {Detail | null} detail */
    showRows(detail) {
      if (detail === null) return show(none, "", "");
      const { preview, version, rows: total } = detail;
      if ("problem" in preview) return show(none, "", problemText(preview.problem));
      const shown = preview.rows.length;
      const all = total === null || preview.truncated ? ` of ${count(total)}` : "";
      const of = shown === Number(total) ? many(shown, "row") : `${count(shown)}${all} rows`;
      show(
        preview,
        shown === 0 ? "" : `${of}, version ${version}`,
        shown === 0 ? `No rows in version ${version}` : "",
      );
    },
    /** @param {Detail | null} detail */
    showFiles(detail) {
      if (detail === null) return show(none, "", "");
      const partitions = detail.partitionColumns;
      const columns = [
        { name: "path", type: "relative to the table" },
        ...partitions.map((name) => ({ name, type: "partition" })),
        { name: "rows", type: "long" },
        { name: "bytes", type: "long" },
      ];
      const rows = detail.files.map((file) => [
        file.path,
        ...partitions.map((name) => file.partition[name] ?? null),
        ...[file.rows, file.sizeBytes],
      ]);
      const cut = detail.numFiles > rows.length ? `, the first ${count(rows.length)} are listed` : "";
      const text = `${many(detail.numFiles, "file")}, ${bytes(detail.sizeBytes)}, version ${detail.version}${cut}`;
      show(
        { columns, rows },
        rows.length === 0 ? "" : text,
        rows.length === 0 ? `No files in version ${detail.version}` : "",
      );
    },
  };
}

const command = (/** @type {string} */ text) => h("code", { class: "command" }, text);

/** @param {Detail} detail */
function schemaOf({ schema, partitionColumns, properties, protocol, txns, version }) {
  const fields = schema.map(({ name, type, nullable }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h("td", { class: "type" }, type),
      h("td", { class: "nullable" }, nullable ? "may be null" : "never null"),
      h("td", {}, partitionColumns.includes(name) ? "partition" : ""),
    ),
  );
  const features = protocol.features.length > 0 ? `, features ${protocol.features.join(", ")}` : "";
  const facts = [
    ["Protocol", `reader ${protocol.minReaderVersion}, writer ${protocol.minWriterVersion}${features}`],
    ...Object.entries(properties),
    ...txns.map(({ appId, version: last }) => [`txn ${appId}`, `settled to ${count(last)}`]),
  ];
  const heads = ["Column", "Type", "Null", ""].map((name) => h("th", { scope: "col" }, name));
  return [
    h(
      "div",
      {
        class: "scroll plain-table",
        tabindex: 0,
        role: "region",
        "aria-label": `Schema of version ${version}`,
      },
      h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...fields)),
      h("h3", {}, "Properties"),
      h(
        "dl",
        { class: "facts" },
        ...facts.flatMap(([name = "", value = ""]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
    ),
  ];
}

/** @param {import("../tables.ts").VersionEntry} entry */
function offsetsOf({ offsets, version }) {
  if (offsets.length === 0) return h("p", { class: "empty" }, `Version ${version} took nothing from Kafka`);
  const heads = ["Partition", "First", "Last", "Count"].map((name, n) =>
    h("th", { scope: "col", class: n > 0 ? "num" : "" }, name),
  );
  const rows = offsets.map(({ topic, partition, first, last }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, `${topic}-${partition}`),
      ...[first, last, BigInt(last) - BigInt(first) + 1n].map((n) => h("td", { class: "num" }, count(n))),
    ),
  );
  return h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

/** Sideways only: the page stays where it is. @param {HTMLElement} list @param {HTMLElement} tab */
function bringIntoSight(list, tab) {
  const [left, right] = [
    tab.offsetLeft - list.offsetLeft,
    tab.offsetLeft - list.offsetLeft + tab.offsetWidth,
  ];
  const room = 40;
  if (left < list.scrollLeft + room) list.scrollLeft = left - room;
  else if (right > list.scrollLeft + list.clientWidth - room)
    list.scrollLeft = right - list.clientWidth + room;
}

/** Tabs are links: which is chosen, and which panel shows. @param {{ go: (href: string) => void }} act */
export function tabsView({ go }) {
  const tabs = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("[role=tab]")]);
  tabs.forEach((tab, n) => {
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: n + 1, ArrowLeft: n - 1, Home: 0, End: -1 };
      const next =
        event.key in to ? tabs.at(to[/** @type {keyof typeof to} */ (event.key)] % tabs.length) : undefined;
      if (event.key === " ") go(tab.href);
      else if (next === undefined) return;
      event.preventDefault();
      next?.focus();
      if (next !== undefined) go(next.href);
    });
  });
  const list = /** @type {HTMLElement} */ (tabs[0]?.parentElement);
  const showMore = () => {
    const { scrollLeft, clientWidth, scrollWidth } = list;
    const more = [scrollLeft > 2 ? "left" : "", scrollLeft + clientWidth < scrollWidth - 2 ? "right" : ""];
    setAttribute(list, "data-more", more.join(" ").trim() || null);
  };
  list.addEventListener("scroll", showMore, { passive: true });
  new ResizeObserver(showMore).observe(list);
  return view(
    ({ route }) => [route.tab],
    (chosen) => {
      for (const tab of tabs) {
        const isChosen = tab.dataset.tab === chosen;
        setAttribute(tab, "aria-selected", String(isChosen));
        setAttribute(tab, "tabindex", isChosen ? 0 : -1);
        byId(`view-${tab.dataset.tab}`).hidden = !isChosen;
        if (isChosen) bringIntoSight(list, tab);
      }
    },
  );
}
