/** Keys of the SQL console beside those that run a statement: comments, layout, and the way between its parts. */

import { replaceAll, replaceText } from "./editing.js";
import { toggleComment } from "./sql-comment.js";
import { layOut } from "./sql-layout.js";

/**
 * Ctrl+/ makes lines comments and back, Shift+Alt+F lays the text out.
 * @param {HTMLTextAreaElement} editor @param {KeyboardEvent} event @param {(problem: string) => void} tell
 * @returns {boolean} whether the key was one of these
 */
export function editorKey(editor, event, tell) {
  if (event.key === "/" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    replaceText(editor, toggleComment(editor.value, editor.selectionStart, editor.selectionEnd));
    return true;
  }
  // By its place: with Alt some keyboards make another character of it.
  if (event.code === "KeyF" && event.shiftKey && event.altKey && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    format(editor, tell);
    return true;
  }
  return false;
}

/** Lays the text out; where that cannot be, it is told why, and the text stays as it is. @param {HTMLTextAreaElement} editor @param {(problem: string) => void} tell */
export function format(editor, tell) {
  const text = layOut(editor.value);
  if (text === null) tell("not laid out: a bracket, a text or a comment does not end");
  else replaceAll(editor, text);
}

/**
 * F6 goes on from part to part, Shift+F6 back; where no other part is there, the browser has the key.
 * @param {HTMLElement} box holds them all @param {() => readonly HTMLElement[]} parts those that can be gone to now
 */
export function movesByKey(box, parts) {
  box.addEventListener("keydown", (event) => {
    if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey) return;
    const there = parts();
    const at = there.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = at < 0 ? there[0] : there.at((at + (event.shiftKey ? -1 : 1)) % there.length);
    if (next === undefined || next === document.activeElement) return;
    event.preventDefault();
    next.focus();
  });
}
