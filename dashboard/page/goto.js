/** Going to a version by its number, a time or an offset, and step by step. */

import { byId, setAttribute, setText } from "./dom.js";
import { repeatWhileHeld } from "./gestures.js";

/** A time, or an offset of a partition. @param {string} text */
export const isPoint = (text) => /^\d+:\d+$/.test(text) || /^\d{4}-\d\d-\d\d/.test(text);

/**
 * `edges` tells the oldest and the newest version; while not all are known, 0 for the oldest.
 * @param {{ pin: (version: number) => void, find: (point: string) => void, step: (by: number) => void, edges: () => readonly [number, number] }} act
 */
export function goToForm({ pin, find, step, edges }) {
  const field = /** @type {HTMLInputElement} */ (byId("goto-version"));
  repeatWhileHeld(byId("older"), () => step(-1));
  repeatWhileHeld(byId("newer"), () => step(1));
  byId("goto").addEventListener("submit", (event) => {
    event.preventDefault();
    const [first, last] = edges();
    const text = field.value.trim();
    if (isPoint(text)) return find(text);
    const version = Number(text || "none");
    const isThere = Number.isInteger(version) && version >= first && version <= last;
    setAttribute(field, "aria-invalid", isThere ? null : "true");
    setText(
      byId("goto-problem"),
      isThere
        ? ""
        : `There are versions ${first} to ${last}; a time is written 2026-11-29T20:15:03Z, an offset 0:1234`,
    );
    byId("goto-problem").className = isThere ? "sr" : "field-problem";
    if (isThere) pin(version);
  });
  field.addEventListener("blur", () => setAttribute(field, "aria-invalid", null));
  return {
    select: () => field.select(),
    /** @param {number | null} version @param {{ isOldest: boolean, isNewest: boolean }} edge */
    show(version, { isOldest, isNewest }) {
      if (document.activeElement !== field) field.value = version === null ? "" : String(version);
      setAttribute(byId("older"), "aria-disabled", isOldest ? "true" : null);
      setAttribute(byId("newer"), "aria-disabled", isNewest ? "true" : null);
    },
  };
}
