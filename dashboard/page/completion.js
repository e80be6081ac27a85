/** The list of what could be typed next, below an editor: a combobox for keyboard, mouse and screen reader. */

import { h, setAttribute } from "./dom.js";
import { replaceText } from "./editing.js";
import { accept, offersAt, pieceAt } from "./sql-complete.js";

/**
 * Ctrl+Space asks for it, typing a name does so by itself; Up, Down, Enter and Tab choose, Esc closes.
 * @param {HTMLTextAreaElement} editor @param {() => Parameters<typeof offersAt>[2]} known
 */
export function completion(editor, known) {
  const list = h("ul", {
    role: "listbox",
    id: "sql-offers",
    class: "offers",
    "aria-label": "Completions",
    hidden: true,
  });
  for (const [name, value] of [
    ["role", "combobox"],
    ["aria-autocomplete", "list"],
    ["aria-controls", "sql-offers"],
    ["aria-expanded", "false"],
  ])
    editor.setAttribute(String(name), String(value));
  /** @type {import("./sql-complete.js").Offer[]} */
  let offers = [];
  let chosen = 0;

  const close = () => {
    list.hidden = true;
    setAttribute(editor, "aria-expanded", "false");
    setAttribute(editor, "aria-activedescendant", null);
  };
  const mark = () => {
    for (const [n, item] of [...list.children].entries()) {
      item.setAttribute("aria-selected", String(n === chosen));
      if (n === chosen) item.scrollIntoView({ block: "nearest" });
    }
    setAttribute(editor, "aria-activedescendant", `sql-offer-${chosen}`);
  };
  const open = () => {
    offers = offersAt(editor.value, editor.selectionStart, known());
    if (offers.length === 0) return close();
    chosen = 0;
    list.replaceChildren(
      ...offers.map(({ text, note }, n) => {
        const item = h(
          "li",
          { role: "option", id: `sql-offer-${n}` },
          h("span", {}, text),
          h("small", {}, note),
        );
        item.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          take(n);
        });
        return item;
      }),
    );
    list.hidden = false;
    setAttribute(editor, "aria-expanded", "true");
    mark();
  };
  /** @param {number} n */
  const take = (n) => {
    const offer = offers[n];
    if (offer === undefined) return;
    const { sql, at } = accept(editor.value, editor.selectionStart, offer.text);
    replaceText(editor, { from: 0, to: editor.value.length, text: sql, start: at, end: at });
    close();
  };
  editor.addEventListener("input", () =>
    pieceAt(editor.value, editor.selectionStart).length >= 2 ? open() : close(),
  );
  let isPressing = false;
  document.addEventListener("pointerdown", () => (isPressing = true), true);
  for (const name of ["pointerup", "pointercancel"])
    document.addEventListener(
      name,
      () => {
        isPressing = false;
        // After the click: were the list gone before, Run would move from under the pointer and not be clicked.
        if (document.activeElement !== editor) setTimeout(close);
      },
      true,
    );
  editor.addEventListener("blur", () => {
    if (!isPressing) close();
  });
  return {
    list,
    close,
    /** True where the key was the list's own. @param {KeyboardEvent} event */
    handles(event) {
      if (event.ctrlKey && event.key === " ") open();
      else if (list.hidden) return false;
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        chosen = (chosen + (event.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length;
        mark();
      } else if (
        (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.shiftKey) ||
        event.key === "Tab"
      )
        take(chosen);
      else if (event.key === "Escape") close();
      else return false;
      event.preventDefault();
      return true;
    },
  };
}
