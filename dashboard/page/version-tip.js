/** What the version under the mouse is, in a box above the timeline. */

import { byId } from "./dom.js";
import { tipLines } from "./version-line.js";

/** @typedef {import("../tables.ts").VersionEntry} VersionEntry */

/**
 * `entryAt` is the version at a place of the strip, `centre` where it is drawn, both in CSS pixels from the left.
 * @param {HTMLElement} slider @param {HTMLElement} strip
 * @param {{ entryAt: (x: number) => VersionEntry | undefined, centre: (version: number) => number, marks: () => import("../tables.ts").VersionMarks }} know
 */
export function versionTip(slider, strip, { entryAt, centre, marks }) {
  const tip = byId("strip-tip");
  slider.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    const { left, width } = strip.getBoundingClientRect();
    const entry = entryAt(event.clientX - left);
    tip.hidden = entry === undefined;
    if (entry === undefined) return;
    if (tip.dataset.version !== String(entry.version)) tip.replaceChildren(...tipLines(entry, marks()));
    tip.dataset.version = String(entry.version);
    const most = Math.max(0, width - tip.offsetWidth);
    tip.style.left = `${Math.min(most, Math.max(0, centre(entry.version) - tip.offsetWidth / 2))}px`;
  });
  slider.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  return {
    /** Versions are others by now. */
    forget() {
      tip.dataset.version = "";
    },
  };
}
