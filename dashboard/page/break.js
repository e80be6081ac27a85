/** Break it: each fault says what should happen, then what did, and the ledger has the last word. */

import { getJson, postJson, problemOf, problemText } from "./api.js";
import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { clock } from "./format.js";
import { ledgerOf } from "./ledger.js";
import { verdictOf } from "./ledger-words.js";
import { view } from "./state.js";

/**
 * @typedef {import("../chaos.ts").Fault & { refusal: string | null }} Offer
 * @typedef {import("../chaos-run.ts").ChaosRun} Run
 */

/** What can be broken changes with what runs. */
const ASK_EVERY_MS = 3_000;
const SIGN = { whole: "\u2713 ", broken: "\u2717 ", unknown: "? " };

export function breakView() {
  const verdict = h("p", { class: "break-verdict", id: "break-verdict" });
  const heal = h("button", { type: "button", hidden: true }, "Heal now");
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const note = h("p", { class: "empty", hidden: true });
  const cards = h("ul", { class: "cards" });
  const log = h("section", { class: "scroll did", "aria-label": "What it did", tabindex: 0 });
  const nothing = h("p", { class: "empty" }, "What a fault did, with the new pid, stands here.");
  byId("view-break").append(
    h("div", { class: "work-bar" }, verdict, heal),
    problem,
    note,
    h(
      "div",
      { class: "break-columns" },
      h("div", { class: "scroll cards-box", tabindex: 0, role: "region", "aria-label": "Faults" }, cards),
      h("div", { class: "did-box" }, nothing, log),
    ),
  );
  /** @type {readonly Offer[]} */
  let offers = [];
  let isOn = true;
  let table = "";
  let sending = "";
  /** Reset wants its name typed. */
  let confirming = false;
  /** @type {readonly Run[]} */
  let runs = [];
  let timer = 0;
  let controller = new AbortController();

  /** @param {unknown} error */
  const tell = (error) => {
    problem.hidden = error === null;
    if (error !== null) setText(problem, `${problemText(problemOf(error))} Nothing was broken.`);
  };
  const ask = async () => {
    controller.abort();
    controller = new AbortController();
    try {
      const found = await getJson(`/api/chaos?table=${encodeURIComponent(table)}`, controller.signal);
      offers = found.faults;
      isOn = found.isOn;
      note.hidden = true;
    } catch (error) {
      if (controller.signal.aborted) return;
      note.hidden = false;
      setText(note, problemText(problemOf(error)));
      offers = [];
    }
    showCards();
  };
  /** @param {string} name */
  const cause = async (name) => {
    sending = name;
    confirming = false;
    tell(null);
    showCards();
    try {
      await postJson(`/api/chaos/${name}`, { table }, new AbortController().signal);
    } catch (error) {
      tell(error);
    }
    sending = "";
    showCards();
  };
  heal.addEventListener("click", () => void cause("heal"));

  const showCards = () => {
    const current = runs.find((run) => !run.isOver);
    if (!isOn) {
      note.hidden = false;
      setText(note, "Chaos is off here. Start the lab with LAB_CHAOS=1 to break it on purpose.");
    }
    keepInLine(
      cards,
      isOn ? offers : [],
      ({ name }) => name,
      makeCard,
      (card, offer) => {
        const why =
          offer.refusal ??
          (current !== undefined
            ? `${current.fault.title} is not over yet`
            : sending !== ""
              ? "Sending..."
              : null);
        const [button, should, reason] = /** @type {HTMLElement[]} */ ([...card.children]);
        if (button === undefined || should === undefined || reason === undefined) return;
        setText(button, sending === offer.name ? "Sending..." : offer.title);
        setAttribute(button, "aria-disabled", why === null ? null : "true");
        setText(should, `Should: ${offer.should}`);
        setText(reason, why === null || sending === offer.name ? "" : `Not now: ${why}.`);
        const form = card.querySelector("form");
        const wantsName = offer.name === "reset" && confirming && why === null;
        if (wantsName && form === null) card.append(confirmForm());
        if (!wantsName) form?.remove();
        button.onclick = () => {
          if (why !== null) return;
          if (offer.name !== "reset") return void cause(offer.name);
          confirming = true;
          showCards();
          card.querySelector("input")?.focus();
        };
      },
    );
  };
  const confirmForm = () => {
    const input = h("input", { type: "text", autocomplete: "off", "aria-label": "Type reset" });
    const form = h(
      "form",
      {},
      h("label", {}, "Type reset: ", input),
      h("button", { type: "submit", class: "danger" }, "Delete all"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (input.value.trim() === "reset") void cause("reset");
      else input.setAttribute("aria-invalid", "true");
    });
    return form;
  };

  const follow = view(
    (state) => [state.route.tab === "break", state.route.table ?? ""],
    (isOpen, name) => {
      clearInterval(timer);
      table = name;
      confirming = false;
      tell(null);
      if (!isOpen || name === "") return;
      void ask();
      timer = window.setInterval(() => void ask(), ASK_EVERY_MS);
    },
  );
  const showRuns = view(
    (state) => [state.chaos],
    (found) => {
      runs = found;
      nothing.hidden = found.length > 0;
      showCards();
      keepInLine(
        log,
        found,
        ({ id }) => String(id),
        makeRun,
        (element, run) => {
          const [head, lines, end] = /** @type {HTMLElement[]} */ ([...element.children]);
          if (head === undefined || lines === undefined || end === undefined) return;
          setText(head, `${run.fault.title}, ${run.target.table}`);
          keepInLine(
            lines,
            run.lines.map((line, n) => ({ ...line, n })),
            ({ n }) => String(n),
            () => h("li"),
            (item, { at, text }) => setText(item, `${clock(at)} ${text}`),
          );
          setAttribute(end, "data-verdict", run.verdict);
          const words = {
            whole: "Nothing lost, nothing doubled",
            broken: "The ledger does not add up",
            unknown: "Cannot tell",
          };
          setText(
            end,
            run.verdict === null
              ? run.isOver
                ? "No verdict"
                : "Watching..."
              : `${SIGN[run.verdict]}${words[run.verdict]}`,
          );
        },
      );
    },
  );
  const showVerdict = view(
    (state) => [ledgerOf(state), state.chaos, state.clock],
    (ledger, found, now) => {
      const { verdict: is, text } =
        ledger === null
          ? { verdict: /** @type {const} */ ("unknown"), text: "No ledger of this table" }
          : verdictOf(ledger);
      verdict.dataset.verdict = is;
      setText(verdict, `${SIGN[is]}${text}`);
      const lasting = found.find(
        (run) => !run.isOver && run.healsAt !== null && Date.parse(run.healsAt) > now,
      );
      heal.hidden = lasting === undefined;
      if (lasting !== undefined)
        setText(heal, `Heal now (${Math.ceil((Date.parse(String(lasting.healsAt)) - now) / 1000)} s left)`);
    },
  );
  return (/** @type {import("./state.js").State} */ state) => {
    follow(state);
    showRuns(state);
    showVerdict(state);
  };
}

const makeCard = () =>
  h("li", {}, h("button", { type: "button" }), h("p", { class: "should" }), h("p", { class: "note" }));

const makeRun = () => h("article", {}, h("h3"), h("ol"), h("p", { class: "run-end" }));
