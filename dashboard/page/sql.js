/** The SQL console: one statement at a time, cancellable, with its error under the place it is at. */

import { postJson, problemOf, problemText } from "./api.js";
import { completion } from "./completion.js";
import { byId, h, setAttribute, setText } from "./dom.js";
import { replaceAll } from "./editing.js";
import { count, many } from "./format.js";
import { createGrid } from "./grid.js";
import { drawChart, planChart } from "./result-chart.js";
import { delimited, pointAt } from "./result-text.js";
import { forgetAll, readHistory, remember } from "./sql-history.js";
import { editorKey, format, movesByKey } from "./sql-keys.js";
import { currentVersion, view } from "./state.js";

/** @typedef {import("../tables.ts").QueryAnswer} Answer */

/** `keep(sql)` puts the text into the address. @param {{ keep: (sql: string) => void }} act */
export function sqlView({ keep }) {
  const editor = h("textarea", {
    id: "sql",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    rows: 5,
    "aria-describedby": "sql-hint sql-problem",
  });
  const run = h("button", { type: "submit", class: "primary" }, "Run");
  const cancel = h("button", { type: "button", hidden: true }, "Cancel (Esc)");
  const layout = h("button", { type: "button", title: "One clause a line (Shift+Alt+F)" }, "Format");
  const progress = h("span", { class: "progress", id: "sql-progress" });
  const problem = h("pre", { class: "problem", id: "sql-problem", role: "alert", hidden: true });
  const examples = h("div", { class: "examples" });
  const grid = createGrid("Result", "result", { isSortable: true });
  const foot = h("p", { class: "foot" });
  const copy = h("button", { type: "button", class: "plain" }, "Copy");
  const save = h("button", { type: "button", class: "plain" }, "Save CSV");
  const draw = h("button", { type: "button", class: "plain", "aria-pressed": "false" }, "Chart");
  const feet = h("div", { class: "feet", hidden: true }, foot, copy, save, draw);
  const picture = h("canvas", { id: "sql-chart", role: "img", "aria-label": "No chart yet" });
  const why = h("p", { class: "empty", hidden: true });
  const chartBox = h("div", { class: "sql-chart", hidden: true }, picture, why);
  const past = h("select", { "aria-label": "Statements that were run" });
  const forget = h("button", { type: "button", class: "plain" }, "Clear history");
  /** @type {{ table: string, name: string, type: string }[]} */
  let columns = [];
  /** @type {readonly string[]} */
  let names = [];
  const offers = completion(editor, () => ({ tables: names, columns }));
  const form = h(
    "form",
    { class: "sql" },
    h(
      "label",
      { for: "sql" },
      "One SELECT over the tables; ",
      h("code", {}, "FROM t AT (VERSION => n)"),
      " reads an older version",
    ),
    editor,
    offers.list,
    h(
      "div",
      { class: "sql-bar" },
      run,
      cancel,
      layout,
      past,
      forget,
      progress,
      h(
        "span",
        { id: "sql-hint", class: "note" },
        "Ctrl+Enter runs, Ctrl+Space completes, Ctrl+/ comments, Alt+Up goes back, F6 goes to the result",
      ),
    ),
    examples,
  );
  byId("view-sql").append(form, problem, chartBox, grid.element, feet);
  /** @type {import("chart.js").Chart | null} */
  let chart = null;
  let isChart = false;
  /** Place in the history; -1 is what is being written. */
  let back = -1;
  let written = "";

  const showChart = () => {
    chart?.destroy();
    chart = null;
    const plan = isChart && answer !== null ? planChart(answer) : null;
    chartBox.hidden = plan === null;
    grid.element.hidden = plan !== null || answer === null || answer.columns.length === 0;
    picture.hidden = plan === null || typeof plan === "string";
    why.hidden = typeof plan !== "string";
    if (typeof plan === "string") setText(why, plan);
    else if (plan !== null) chart = drawChart(picture, plan);
    setAttribute(draw, "aria-pressed", String(isChart));
    setText(draw, isChart ? "Rows" : "Chart");
  };
  draw.addEventListener("click", () => {
    isChart = !isChart;
    showChart();
  });
  const showPast = (all = readHistory()) => {
    past.replaceChildren(
      h("option", { value: "" }, all.length === 0 ? "No history" : "History"),
      ...all.map((text, n) => h("option", { value: String(n) }, text.replace(/\s+/g, " ").slice(0, 80))),
    );
    past.disabled = all.length === 0;
    forget.hidden = all.length === 0;
  };
  showPast();
  past.addEventListener("change", () => {
    const text = readHistory()[Number(past.value)];
    if (past.value !== "" && text !== undefined) replaceAll(editor, text);
    past.value = "";
    editor.focus();
  });
  forget.addEventListener("click", () => {
    forgetAll();
    showPast();
    // The button is gone, and the keyboard with it.
    editor.focus();
  });
  /** @param {1 | -1} step */
  const goBack = (step) => {
    const all = readHistory();
    const next = Math.max(-1, Math.min(all.length - 1, back + step));
    if (next === back) return;
    if (back === -1) written = editor.value;
    back = next;
    replaceAll(editor, back === -1 ? written : (all[back] ?? ""));
    offers.close();
  };
  grid.element.hidden = true;
  /** @type {AbortController | null} */
  let running = null;
  /** @type {Answer | null} */
  let answer = null;

  const start = async () => {
    const { selectionStart, selectionEnd, value } = editor;
    const part = value.slice(selectionStart, selectionEnd);
    const sql = part.trim() === "" ? value : part;
    if (running !== null || sql.trim() === "") return;
    keep(value);
    showPast(remember(sql));
    back = -1;
    const controller = new AbortController();
    running = controller;
    const startedAt = performance.now();
    const tick = () => setText(progress, `Running ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    const timer = setInterval(tick, 200);
    setBusy(true);
    tick();
    try {
      answer = await postJson("/api/query", { sql }, controller.signal);
      if (answer !== null) showAnswer(answer);
      showProblem(null, sql);
    } catch (error) {
      showProblem(
        controller.signal.aborted ? { message: "Cancelled", code: "CANCELLED" } : problemOf(error),
        sql,
      );
    } finally {
      clearInterval(timer);
      setText(progress, "");
      setBusy(false);
      running = null;
    }
  };
  /** @param {boolean} isBusy */
  const setBusy = (isBusy) => {
    setAttribute(run, "aria-disabled", isBusy ? "true" : null);
    cancel.hidden = !isBusy;
    grid.element.classList.toggle("old", isBusy);
  };
  /** @param {Answer} found */
  const showAnswer = ({ columns, rows, truncated, version, elapsedMs }) => {
    grid.element.hidden = columns.length === 0;
    feet.hidden = false;
    grid.show({ columns, rows });
    showChart();
    const size = truncated
      ? `First ${count(rows.length)} rows shown: the result was cut`
      : many(rows.length, "row");
    setText(
      foot,
      `${size}, ${count(Math.round(elapsedMs))} ms${version === null ? "" : `, version ${version}`}`,
    );
  };
  /** @param {{ code: string, message: string, hint?: string, position?: number } | null} found @param {string} sql */
  const showProblem = (found, sql) => {
    problem.hidden = found === null;
    setAttribute(editor, "aria-invalid", found === null || found.code === "CANCELLED" ? null : "true");
    setText(problem, found === null ? "" : [problemText(found), ...pointAt(sql, found.position)].join("\n"));
  };

  /** @param {string} message */
  const tell = (message) => showProblem({ code: "SQL_UNFINISHED", message }, editor.value);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void start();
  });
  cancel.addEventListener("click", () => running?.abort());
  editor.addEventListener("keydown", (event) => {
    if (offers.handles(event)) return;
    if (editorKey(editor, event, tell)) offers.close();
    else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      goBack(event.key === "ArrowUp" ? 1 : -1);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      void start();
    } else if (event.key === "Escape") running?.abort();
  });
  layout.addEventListener("click", () => {
    format(editor, tell);
    offers.close();
    editor.focus();
  });
  movesByKey(byId("view-sql"), () => {
    const result = feet.hidden ? [] : [grid.element.hidden ? draw : grid.table];
    return [editor, ...result, ...(past.disabled ? [] : [past])];
  });
  copy.addEventListener("click", async () => {
    if (answer === null) return;
    await navigator.clipboard.writeText(delimited(answer, "\t"));
    copy.textContent = "Copied";
    setTimeout(() => setText(copy, "Copy"), 1_500);
  });
  save.addEventListener("click", () => {
    if (answer === null) return;
    const address = URL.createObjectURL(new Blob([delimited(answer, ",")], { type: "text/csv" }));
    h("a", { href: address, download: "result.csv" }).click();
    URL.revokeObjectURL(address);
  });

  const showLink = view(
    ({ route }) => [route.tab === "sql" ? route.sql : null],
    (sql) => {
      if (sql !== null && sql !== "" && sql !== editor.value) editor.value = sql;
    },
  );
  const showExamples = view(
    (state) => [state.route.table, currentVersion(state), placesOf(state)],
    (table, version, places) => {
      if (table === null) return examples.replaceChildren();
      const name = /^[A-Za-z_]\w*$/.test(table) ? table : `"${table.replaceAll('"', '""')}"`;
      const older = Math.max(0, (version ?? 0) - 1);
      const texts = [
        `SELECT * FROM ${name} LIMIT 20`,
        `SELECT count(*) FROM ${name} AT (VERSION => ${older})`,
        ...(places === null
          ? []
          : [
              `SELECT ${places}.partition, count(*) AS n, max(${places}.offset) AS last FROM ${name} GROUP BY 1 ORDER BY 1`,
            ]),
      ];
      examples.replaceChildren(
        "Try: ",
        ...texts.map((text) => {
          const button = h("button", { type: "button", class: "example" }, text);
          button.addEventListener("click", () => {
            replaceAll(editor, text);
            offers.close();
            editor.focus();
          });
          return button;
        }),
      );
    },
  );
  /** Columns of the tables that were looked at: a completion is no reason to ask the store. @type {Map<string, { table: string, name: string, type: string }[]>} */
  const known = new Map();
  const learn = view(
    (state) => [state.tables, state.shown.detail],
    (tables, detail) => {
      names = tables?.tables.map(({ name }) => name) ?? [];
      if (detail !== null)
        known.set(
          detail.table,
          detail.schema.map(({ name, type }) => ({ table: detail.table, name, type })),
        );
      columns = [...known.values()].flat();
    },
  );
  return (/** @type {import("./state.js").State} */ state) => {
    learn(state);
    showLink(state);
    showExamples(state);
  };
}

/** The column that says where a row is from: that of rows, or of changes; null where the table has neither. @param {import("./state.js").State} state */
function placesOf({ route, shown: { detail } }) {
  const names = detail?.table === route.table ? detail.schema.map(({ name }) => name) : [];
  return ["_kafka", "_cdc"].find((name) => names.includes(name)) ?? null;
}
