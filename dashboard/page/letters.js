/** Dead letters: listed, looked into byte by byte, replayed, dropped. Nothing is ticked at first. */

import { getJson, postJson, problemOf, problemText } from "./api.js";
import { asking } from "./asking.js";
import { ownerOf } from "./beside.js";
import { openDialog } from "./dialog.js";
import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { clock, count, many, visible } from "./format.js";
import { jobText } from "./jobs.js";
import { view } from "./state.js";

/** @typedef {{ topic: string, partition: number, offset: string, stage: string, code: string, message: string, attempt: number, lastAt: string, state: string, version: string | null }} Letter */
/** @typedef {Letter & { key: string | null, value: string | null, headers: readonly { key: string, value: string | null }[] }} Content */

const placeOf = (/** @type {Letter} */ { partition, offset }) => `${partition}:${offset}`;

export function lettersView() {
  const which = h(
    "select",
    { "aria-label": "Letters in this state" },
    ...["open", "replayed", "dropped", "all"].map((name) => h("option", { value: name }, name)),
  );
  const refresh = h("button", { type: "button" }, "Refresh");
  const all = h("input", { type: "checkbox", "aria-label": "Choose all listed" });
  const trial = h("button", { type: "button" }, "Try replay");
  const replay = h("button", { type: "button" }, "Replay");
  const drop = h("button", { type: "button", class: "danger" }, "Drop");
  const chosenText = h("span", { class: "note", id: "letters-chosen" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const empty = h("p", { class: "empty" });
  const job = h("p", { class: "job", role: "status", id: "letters-job" });
  const body = h("tbody");
  const table = h(
    "table",
    { "aria-label": "Dead letters", hidden: true },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}, all),
        ...["Record", "Stage", "Code", "Reason", "Tries", "State", ""].map((name) =>
          h("th", { scope: "col" }, name),
        ),
      ),
    ),
    body,
  );
  byId("view-letters").append(
    h("div", { class: "work-bar" }, h("label", {}, "State", which), refresh, trial, replay, drop, chosenText),
    problem,
    job,
    h(
      "div",
      { class: "scroll plain-table", tabindex: 0, role: "region", "aria-label": "List of dead letters" },
      empty,
      table,
    ),
  );
  let name = "";
  /** @type {readonly Letter[]} */
  let letters = [];
  /** @type {Set<string>} */
  const chosen = new Set();
  let doneJob = 0;

  const asked = asking(({ isAsking, problem: found }) => {
    problem.hidden = found === null;
    if (found !== null) setText(problem, problemText(found));
    if (isAsking && letters.length === 0) setText(empty, "Reading the letters...");
    table.classList.toggle("old", isAsking);
  });
  const list = () =>
    asked.ask(
      (signal) => getJson(`/api/letters/${encodeURIComponent(name)}?state=${which.value}`, signal),
      (/** @type {readonly Letter[]} */ found) => {
        letters = found;
        const keys = new Set(found.map(keyOf));
        for (const key of chosen) if (!keys.has(key)) chosen.delete(key);
        show();
      },
    );
  const show = () => {
    table.hidden = letters.length === 0;
    empty.hidden = letters.length > 0;
    setText(empty, which.value === "open" ? "No dead letters. Good." : `No letters that are ${which.value}.`);
    keepInLine(body, letters, keyOf, makeRow, (row, letter) => {
      const [tick, record, stage, code, reason, tries, state] = [...row.children];
      const box = tick?.firstElementChild;
      if (box instanceof HTMLInputElement) {
        box.checked = chosen.has(keyOf(letter));
        box.disabled = letter.state !== "open";
        box.setAttribute("aria-label", `Choose ${letter.topic}-${placeOf(letter)}`);
        box.onchange = () => {
          chosen[box.checked ? "add" : "delete"](keyOf(letter));
          showChosen();
        };
      }
      const texts = [
        `${letter.topic}-${letter.partition} ${count(letter.offset)}`,
        letter.stage,
        letter.code,
        visible(letter.message),
        String(letter.attempt),
      ];
      for (const [n, cell] of [record, stage, code, reason, tries].entries())
        if (cell) setText(cell, texts[n] ?? "");
      if (state)
        setText(state, `${letter.state}${letter.version === null ? "" : ` in version ${letter.version}`}`);
      const look = /** @type {HTMLButtonElement | null} */ (row.querySelector("button"));
      if (look !== null) look.onclick = () => void inspect(letter);
    });
    showChosen();
  };
  const showChosen = () => {
    const open = letters.filter(({ state }) => state === "open");
    all.checked = open.length > 0 && open.every((letter) => chosen.has(keyOf(letter)));
    all.disabled = open.length === 0;
    for (const button of [trial, replay, drop])
      setAttribute(button, "aria-disabled", chosen.size === 0 ? "true" : null);
    setText(
      chosenText,
      chosen.size === 0 ? "Choose letters to replay or drop them." : `${many(chosen.size, "letter")} chosen`,
    );
  };
  all.addEventListener("change", () => {
    for (const letter of letters)
      if (letter.state === "open") chosen[all.checked ? "add" : "delete"](keyOf(letter));
    show();
  });
  /** @param {Letter} letter */
  const inspect = async (letter) => {
    const signal = openDialog(
      `${letter.topic}-${letter.partition} offset ${count(letter.offset)}`,
      h("p", { class: "note" }, "Reading..."),
    );
    try {
      const query = new URLSearchParams({ topic: letter.topic, place: placeOf(letter) });
      const found = await getJson(`/api/letters/${encodeURIComponent(name)}/one?${query}`, signal);
      if (signal.aborted) return;
      openDialog(
        `${letter.topic}-${letter.partition} offset ${count(letter.offset)}`,
        ...found.map(contentOf),
      );
    } catch (error) {
      if (signal.aborted) return;
      openDialog("The letter cannot be read", h("p", { class: "problem" }, problemText(problemOf(error))));
    }
  };
  /** @param {"replay" | "drop"} kind @param {boolean} dryRun */
  const act = async (kind, dryRun) => {
    const some = letters.filter((letter) => chosen.has(keyOf(letter)));
    const [first] = some;
    if (first === undefined) return;
    problem.hidden = true;
    const ofTopic = some.filter(({ topic }) => topic === first.topic);
    try {
      await postJson(
        `/api/letters/${encodeURIComponent(name)}/${kind}`,
        { topic: first.topic, letters: ofTopic.map(placeOf), dryRun },
        new AbortController().signal,
      );
    } catch (error) {
      problem.hidden = false;
      setText(problem, problemText(problemOf(error)));
    }
  };
  refresh.addEventListener("click", () => void list());
  which.addEventListener("change", () => void list());
  trial.addEventListener("click", () => void act("replay", true));
  replay.addEventListener("click", () => void act("replay", false));
  drop.addEventListener("click", () =>
    confirmDrop(
      letters.filter((letter) => chosen.has(keyOf(letter))),
      () => void act("drop", false),
    ),
  );

  const open = view(
    (state) => [
      state.route.tab === "letters",
      ownerOf(state.route.table ?? "", state.tables?.tables.map(({ name }) => name) ?? []),
    ],
    (isOpen, table) => {
      if (name !== table) {
        letters = [];
        chosen.clear();
        show();
      }
      name = table;
      if (isOpen && table !== "") void list();
    },
  );
  const showJob = view(
    (state) => [state.jobs, state.clock, state.route.tab === "letters"],
    (jobs, now, isOpen) => {
      const last = jobs.find((one) => one.table === name && /replay|drop/i.test(one.what));
      setText(job, last === undefined ? "" : jobText(last, now));
      if (last?.endedAt && last.id > doneJob) {
        doneJob = last.id;
        if (isOpen) void list();
      }
    },
  );
  return (/** @type {import("./state.js").State} */ state) => {
    open(state);
    showJob(state);
  };
}

const keyOf = (/** @type {Letter} */ letter) =>
  `${letter.topic} ${placeOf(letter)} ${letter.attempt} ${letter.lastAt}`;

const makeRow = () =>
  h(
    "tr",
    {},
    h("td", {}, h("input", { type: "checkbox" })),
    h("th", { scope: "row" }),
    h("td"),
    h("td"),
    h("td", { class: "reason" }),
    h("td", { class: "num" }),
    h("td"),
    h("td", {}, h("button", { type: "button", class: "plain" }, "Inspect")),
  );

/** @param {readonly Letter[]} some @param {() => void} yes */
function confirmDrop(some, yes) {
  const [example] = some;
  if (example === undefined) return;
  const button = h("button", { type: "button", class: "danger" }, `Drop ${many(some.length, "letter")}`);
  button.addEventListener("click", () => {
    /** @type {HTMLDialogElement} */ (byId("dialog")).close();
    yes();
  });
  openDialog(
    "Drop letters",
    h(
      "p",
      {},
      `${many(some.length, "letter")} will count as done with and never become rows, for example ${example.topic}-${example.partition} offset ${count(example.offset)}: ${visible(example.message)}`,
    ),
    h("p", {}, "Their bytes stay in the table of letters."),
    button,
  );
}

/** @param {Content} letter */
function contentOf(letter) {
  const part = (/** @type {string} */ name, /** @type {string | null} */ base64) => [
    h("dt", {}, name),
    h("dd", { class: base64 === null ? "null" : "" }, ...bytesOf(base64)),
  ];
  return h(
    "dl",
    { class: "whole-row letter" },
    ...[
      ["Reason", visible(letter.message)],
      ["Code", letter.code],
      ["Stage", letter.stage],
      ["Attempt", String(letter.attempt)],
      ["State", letter.state],
      ["Since", clock(letter.lastAt)],
    ].flatMap(([name = "", text = ""]) => [h("dt", {}, name), h("dd", {}, text)]),
    ...part("Key", letter.key),
    ...part("Value", letter.value),
    ...letter.headers.flatMap(({ key, value }) => part(`Header ${visible(key)}`, value)),
  );
}

const MOST_BYTES = 4_096;
const LINE_BYTES = 16;

/** As text, what hides written out, and below it byte by byte. @param {string | null} base64 @returns {Node[]} */
function bytesOf(base64) {
  if (base64 === null) return [document.createTextNode("NULL")];
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const text = visible(new TextDecoder().decode(bytes));
  const lines = [];
  for (let at = 0; at < Math.min(bytes.length, MOST_BYTES); at += LINE_BYTES) {
    const some = [...bytes.slice(at, at + LINE_BYTES)];
    const hex = some.map((b) => b.toString(16).padStart(2, "0")).join(" ");
    const ascii = some.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(LINE_BYTES * 3)} ${ascii}`);
  }
  const cut = bytes.length > MOST_BYTES ? `, the first ${count(MOST_BYTES)} are shown` : "";
  return [
    h("p", {}, text === "" ? "(empty)" : text),
    h(
      "details",
      {},
      h("summary", {}, `${many(bytes.length, "byte")}${cut}`),
      h("pre", { class: "hex" }, lines.join("\n")),
    ),
  ];
}
