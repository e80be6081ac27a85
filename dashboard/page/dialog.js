/** The one dialog of the page: native, so focus stays inside, Esc closes, and focus goes back. */

import { byId, h, setText } from "./dom.js";

let shown = new AbortController();

/**
 * Shows this instead of what the dialog showed. The signal is aborted once it is closed or shows something else: what is
 * still being fetched for it must not open it again.
 * @param {string} title @param {...Node} body
 */
export function openDialog(title, ...body) {
  shown.abort();
  shown = new AbortController();
  const dialog = /** @type {HTMLDialogElement} */ (byId("dialog"));
  setText(byId("dialog-title"), title);
  byId("dialog-body").replaceChildren(...body);
  if (!dialog.open) dialog.showModal();
  return shown.signal;
}

export function connectDialog() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dialog"));
  // The event comes later than the closing: by then the dialog may show something else.
  dialog.addEventListener("close", () => {
    if (!dialog.open) shown.abort();
  });
  byId("dialog-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  const showKeys = () => openDialog("Keyboard", keyList());
  byId("keys").addEventListener("click", showKeys);
  return { showKeys };
}

const KEYS = [
  ["[ and ]", "previous and next version"],
  ["Left, Right", "on the timeline: previous and next version"],
  ["Page Up, Page Down", "on the timeline: a tenth of what it shows"],
  ["+, -, 0", "on the timeline: fewer versions, more, all of them; the wheel and two fingers do it, too"],
  ["Home, End", "on the timeline: oldest and newest version"],
  ["m, M", "on the timeline: next and previous version that is not a plain append"],
  ["g", "on the timeline: type a version, a time, or PARTITION:OFFSET"],
  ["c", "on the timeline: compare this version with the newest"],
  ["l", "on the timeline: go live"],
  ["Up, Down, Enter", "in a table of rows: choose a row, see all of it"],
  ["Ctrl+Enter", "in the SQL editor: run (the selection, if there is one)"],
  ["Ctrl+/", "in the SQL editor: make lines comments, and back"],
  ["Shift+Alt+F", "in the SQL editor: lay the statement out, a clause a line"],
  ["Alt+Up, Alt+Down", "in the SQL editor: what was run before"],
  ["F6, Shift+F6", "in the SQL console: from the editor to the result, to the history, and back"],
  ["Esc", "in the SQL editor: cancel the running query"],
  ["?", "this list"],
];

const keyList = () =>
  h(
    "dl",
    { class: "keys-list" },
    ...KEYS.flatMap(([key = "", does = ""]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]),
  );
