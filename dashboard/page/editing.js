/** Changes of an editor's text that its own undo knows of. */

/**
 * Puts `text` in the place of what stands between `from` and `to`, and selects from `start` to `end` afterwards.
 * @param {HTMLTextAreaElement} editor @param {{ from: number, to: number, text: string, start: number, end: number }} change
 */
export function replaceText(editor, { from, to, text, start, end }) {
  if (editor.value.slice(from, to) !== text) {
    editor.focus();
    editor.setSelectionRange(from, to);
    // No other way leaves Ctrl+Z whole; a browser that has taken it out gets the text all the same.
    const isDone = document.execCommand(text === "" ? "delete" : "insertText", false, text);
    if (!isDone) editor.setRangeText(text, from, to, "end");
  }
  editor.setSelectionRange(start, end);
}

/** @param {HTMLTextAreaElement} editor @param {string} text */
export const replaceAll = (editor, text) =>
  replaceText(editor, { from: 0, to: editor.value.length, text, start: text.length, end: text.length });
