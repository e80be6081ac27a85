/** The commit microscope: what a version says, raw and in words, what it settled, and where a record of Kafka is. */

import { formatAddress, NOWHERE } from "./address.js";
import { getJson, problemText } from "./api.js";
import { asking } from "./asking.js";
import { byId, h, setText } from "./dom.js";
import { bytes, count, many, visible } from "./format.js";
import { currentVersion, historyOf, summaryOf, view } from "./state.js";

/** @typedef {import("../tables.ts").CommitDetail} CommitDetail */
/** @typedef {import("../tables.ts").RecordOrigin} RecordOrigin */

const REST_MS = 80;

export function commitView() {
  const head = h("h3", { id: "commit-head" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const settled = h("p", { class: "note", id: "commit-settled" });
  const lines = h("ol", { class: "actions" });
  const origin = h("div", { id: "commit-origin", role: "status" });
  const topic = h("input", { type: "text", class: "wide", autocomplete: "off", required: true });
  const partition = h("input", {
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    pattern: "\\d+",
    required: true,
  });
  const offset = h("input", {
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    pattern: "\\d+",
    required: true,
  });
  const form = h(
    "form",
    { class: "work-bar", "aria-label": "Find a record" },
    h("label", {}, "Topic", topic),
    h("label", {}, "Partition", partition),
    h("label", {}, "Offset", offset),
    h("button", { type: "submit" }, "Find the record"),
  );
  byId("view-commit").append(
    form,
    origin,
    problem,
    h(
      "div",
      { class: "scroll commit-box", tabindex: 0, role: "region", "aria-label": "Actions of the commit" },
      head,
      settled,
      lines,
    ),
  );
  let table = "";
  let timer = 0;
  const commit = asking(({ isAsking, problem: found }) => {
    problem.hidden = found === null;
    if (found !== null) setText(problem, problemText(found));
    lines.classList.toggle("old", isAsking);
  });
  const finding = asking(({ isAsking, problem: found }) => {
    if (isAsking) setText(origin, "Looking...");
    if (found !== null) setText(origin, problemText(found));
  });
  const find = () => {
    const record = {
      topic: topic.value.trim(),
      partition: partition.value.trim(),
      offset: offset.value.trim(),
    };
    const query = new URLSearchParams(record);
    void finding.ask(
      (signal) => getJson(`/api/tables/${encodeURIComponent(table)}/origin?${query}`, signal),
      (/** @type {RecordOrigin | null} */ found) =>
        origin.replaceChildren(...originWords(table, record, found)),
    );
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find();
  });
  document.addEventListener("lab:record", (event) => {
    const record = /** @type {CustomEvent} */ (event).detail;
    topic.value = record.topic;
    partition.value = String(record.partition);
    offset.value = String(record.offset);
    find();
  });

  /** @param {CommitDetail} found */
  const show = (found) => {
    setText(head, `Version ${found.version}: ${found.path}, ${bytes(found.bytes)}`);
    setText(
      settled,
      found.offsets.length === 0
        ? "It took nothing from Kafka."
        : `Settled ${found.offsets.map(({ topic, partition, first, last }) => `${topic}-${partition} ${count(first)}-${count(last)}`).join(", ")}`,
    );
    const more = found.more > 0 ? [h("li", { class: "note" }, `and ${many(found.more, "more action")}`)] : [];
    lines.replaceChildren(...found.lines.map(actionItem), ...more);
  };
  return view(
    (state) => [
      state.route.tab === "commit",
      summaryOf(state)?.name ?? null,
      currentVersion(state),
      historyOf(state)?.entries.find(({ offsets }) => offsets.length > 0)?.offsets[0] ?? null,
    ],
    (isOpen, name, version, first) => {
      table = name ?? "";
      if (topic.value === "" && first !== null) {
        topic.value = first.topic;
        partition.value = String(first.partition);
      }
      clearTimeout(timer);
      if (!isOpen || name === null || version === null) return;
      const path = `/api/tables/${encodeURIComponent(name)}/commits/${version}`;
      timer = window.setTimeout(() => void commit.ask((signal) => getJson(path, signal), show), REST_MS);
    },
  );
}

/** @param {import("../tables.ts").CommitDetail["lines"][number]} line */
const actionItem = ({ kind, raw, text }) =>
  h(
    "li",
    {},
    h("p", {}, h("strong", {}, kind), ` ${visible(text)}`),
    h("details", {}, h("summary", {}, "as written"), h("pre", {}, indented(raw))),
  );

/** Longs stay as they are written: nothing here is parsed into a float. @param {string} raw */
function indented(raw) {
  let depth = 0;
  let out = "";
  for (const token of raw.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:\s]+/g) ?? []) {
    if (token === "}" || token === "]") out += `\n${"  ".repeat(--depth)}${token}`;
    else if (token === "{" || token === "[") out += `${token}\n${"  ".repeat(++depth)}`;
    else if (token === ",") out += `,\n${"  ".repeat(depth)}`;
    else out += token === ":" ? ": " : visible(token);
  }
  return out.replace(/([{[])\n\s*\n\s*([}\]])/g, "$1$2");
}

/**
 * @param {string} table @param {{ topic: string, partition: string, offset: string }} record @param {RecordOrigin | null} found
 * @returns {(Node | string)[]}
 */
function originWords(table, { topic, partition, offset }, found) {
  const place = `${topic}-${partition} offset ${count(offset)}`;
  if (found === null)
    return [h("p", {}, `${place}: no version says that it took this record, and no file has a row of it.`)];
  const link =
    found.version === null
      ? "a version that is no longer in the log"
      : h(
          "a",
          { href: formatAddress({ ...NOWHERE, table, tab: "commit", version: found.version }) },
          `version ${found.version}`,
        );
  const files = (/** @type {readonly string[]} */ paths) => paths.map((path) => visible(path)).join(", ");
  const brought =
    found.broughtBy.length > 0
      ? `in ${files(found.broughtBy)}`
      : "without a row that is still readable: a letter, left out, or vacuumed since";
  const held =
    found.heldBy.length > 0
      ? `Now in ${files(found.heldBy)}.`
      : "No file of the newest version has a row of it.";
  return [h("p", {}, `${place} came with `, link, ` ${brought}. ${held}`)];
}
