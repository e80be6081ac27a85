/** Upkeep: join small files, see what a vacuum would take, bring a version back; each with its progress and result. */

import { postJson, problemOf, problemText } from "./api.js";
import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { clock } from "./format.js";
import { jobText } from "./jobs.js";
import { currentVersion, historyOf, view } from "./state.js";

export function upkeepView() {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const jobs = h("ol", { class: "jobs" });
  const optimize = card(
    "Optimize",
    "Joins small files into large ones. No row changes; every version stays readable.",
  );
  const vacuum = card(
    "Vacuum, dry run",
    "Tells which files no version within the retention needs, and which versions could no longer be read without them. Nothing is deleted.",
  );
  const restore = card("Restore", "");
  const undo = h("button", { type: "button", hidden: true }, "Undo");
  restore.item.append(undo);
  byId("view-upkeep").append(
    problem,
    h(
      "div",
      { class: "break-columns" },
      h("ul", { class: "cards" }, optimize.item, vacuum.item, restore.item),
      h(
        "div",
        { class: "scroll did", tabindex: 0, role: "region", "aria-label": "Chores and their results" },
        h("p", { class: "empty" }, "Results stand here."),
        jobs,
      ),
    ),
  );
  let table = "";
  let version = /** @type {number | null} */ (null);
  let isBusy = false;

  /** @param {string} chore @param {object} body */
  const begin = async (chore, body) => {
    if (isBusy) return;
    problem.hidden = true;
    try {
      await postJson(`/api/tables/${encodeURIComponent(table)}/${chore}`, body, new AbortController().signal);
    } catch (error) {
      problem.hidden = false;
      setText(problem, problemText(problemOf(error)));
    }
  };
  optimize.button.addEventListener("click", () => void begin("optimize", {}));
  vacuum.button.addEventListener("click", () => void begin("vacuum", { dryRun: true }));
  restore.button.addEventListener("click", () => {
    if (version !== null && restore.button.getAttribute("aria-disabled") === null)
      void begin("restore", { version });
  });
  undo.addEventListener("click", () => void begin("restore", { version: Number(undo.dataset.version) }));

  return view(
    (state) => [
      state.jobs,
      state.route.table ?? "",
      currentVersion(state),
      historyOf(state)?.entries.at(-1)?.version ?? null,
      state.clock,
    ],
    (all, name, current, newest, now) => {
      table = name;
      version = current;
      const own = all.filter((job) => job.table === name);
      isBusy = own.some((job) => job.endedAt === null);
      const isNewest = current === newest;
      for (const { button } of [optimize, vacuum])
        setAttribute(button, "aria-disabled", isBusy ? "true" : null);
      setAttribute(restore.button, "aria-disabled", isBusy || isNewest ? "true" : null);
      setText(restore.button, current === null || isNewest ? "Restore" : `Restore version ${current}`);
      setText(
        restore.should,
        isNewest
          ? "Scrub to an older version: this makes the newest one equal to it. Nothing is deleted."
          : `Makes version ${Number(newest) + 1} equal to version ${current}. Nothing is deleted; Undo brings version ${newest} back.`,
      );
      const last = own.find(
        (job) => job.what.startsWith("Restore") && job.endedAt !== null && job.problem === null,
      );
      const made = /** @type {any} */ (last?.result)?.version;
      undo.hidden = typeof made !== "number";
      if (typeof made === "number") {
        undo.dataset.version = String(made - 1);
        setText(undo, `Undo: back to version ${made - 1}`);
        setAttribute(undo, "aria-disabled", isBusy ? "true" : null);
      }
      /** @type {HTMLElement} */ (jobs.previousElementSibling).hidden = own.length > 0;
      keepInLine(
        jobs,
        own,
        ({ id }) => String(id),
        () => h("li", {}, h("span"), h("progress", { max: 1, hidden: true })),
        (item, job) => {
          item.className = job.problem === null ? "" : "bad";
          const [words, bar] = item.children;
          if (words) setText(words, `${clock(job.startedAt)} ${jobText(job, now)}`);
          if (bar instanceof HTMLProgressElement) showProgress(bar, job);
        },
      );
    },
  );
}

/** Without a value the bar says that it is not known how much there is. @param {HTMLProgressElement} bar @param {import("../work.ts").Job} job */
function showProgress(bar, { what, endedAt, progress }) {
  bar.hidden = endedAt !== null;
  setAttribute(bar, "aria-label", `Progress of ${what}`);
  const isKnown = progress !== null && progress.total !== null && progress.total > 0;
  setAttribute(bar, "value", isKnown ? progress.done / /** @type {number} */ (progress.total) : null);
}

/** @param {string} title @param {string} text */
function card(title, text) {
  const button = h("button", { type: "button" }, title);
  const should = h("p", { class: "should" }, text);
  return { button, should, item: h("li", {}, button, should) };
}
