/** The choice of a theme, kept for the next visit; `boot.js` puts it in place before anything is painted. */

import { byId } from "./dom.js";

/** @param {() => void} changed */
export function connectTheme(changed) {
  const select = /** @type {HTMLSelectElement} */ (byId("theme"));
  const root = document.documentElement;
  select.value = root.dataset.theme ?? "system";
  select.addEventListener("change", () => {
    if (select.value === "system") delete root.dataset.theme;
    else root.dataset.theme = select.value;
    localStorage.setItem("theme", select.value);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
