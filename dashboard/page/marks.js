/** Checkpoints and unreadable versions of the chosen table: asked for anew as it grows, at once after a vacuum. */

import { getJson } from "./api.js";

const AGAIN_MS = 15_000;

/** @param {(marks: import("./state.js").Marks) => void} onChange */
export function marksKeeper(onChange) {
  let of = "";
  let version = -1;
  let askedAt = 0;
  let timer = 0;
  let controller = new AbortController();

  /** @param {string} table @param {string | null} id @param {AbortSignal} signal */
  const ask = async (table, id, signal) => {
    askedAt = performance.now();
    try {
      const marks = await getJson(`/api/tables/${encodeURIComponent(table)}/marks`, signal);
      onChange({ ...marks, table, id });
    } catch {
      // They only add to what is shown; the next version asks again, and an outage is told of where it matters.
    }
  };
  return {
    /** @param {string} table @param {string | null} id @param {import("../tables.ts").VersionEntry} newest */
    follow(table, id, newest) {
      const now = `${id ?? ""} ${table}`;
      if (now === of && newest.version === version) return;
      const isOther = now !== of;
      of = now;
      version = newest.version;
      if (isOther) {
        controller.abort();
        controller = new AbortController();
      }
      clearTimeout(timer);
      const isUrgent = isOther || newest.operation.startsWith("VACUUM");
      const waitMs = isUrgent ? 0 : Math.max(0, askedAt + AGAIN_MS - performance.now());
      timer = window.setTimeout(() => void ask(table, id, controller.signal), waitMs);
    },
  };
}
