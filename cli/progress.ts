/** Progress of long work on stderr: a bar where someone looks, a plain line now and then where nobody does, JSON where a program asked for it. */

import type { Screen } from "./screen.ts";

export type Progress = { update(done: number): void; end(): void };

const BAR_CELLS = 24;
const FRAME_MS = 250;
const PLAIN_MS = 10_000;

/** `total` null: only the count and the speed are known. */
export function progress(
  screen: Screen,
  label: string,
  total: number | null,
  now: () => number = Date.now,
): Progress {
  const startedMs = now();
  let shownMs = startedMs;
  let isDrawn = false;
  let isTold = false;

  function line(done: number): string {
    const perSecond = done / Math.max(0.001, (now() - startedMs) / 1000);
    const speed = `${Math.round(perSecond).toLocaleString("en")}/s`;
    if (total === null) return `${label}  ${done.toLocaleString("en")}  ${speed}`;
    const part = Math.min(1, done / total);
    const filled = Math.round(part * BAR_CELLS);
    const left = perSecond > 0 ? `ETA ${Math.ceil((total - done) / perSecond)} s` : "";
    const bar = `[${"#".repeat(filled)}${".".repeat(BAR_CELLS - filled)}]`;
    return `${label}  ${bar} ${Math.floor(part * 100)} %  ${done.toLocaleString("en")}/${total.toLocaleString("en")}  ${speed}  ${left}`;
  }

  return {
    update(done) {
      if (screen.isProgressJson) {
        if (isTold && now() - shownMs < FRAME_MS && done !== total) return;
        isTold = true;
        shownMs = now();
        return screen.note(JSON.stringify({ progress: { step: label, done, total } }));
      }
      const wait = screen.isNoteLive ? FRAME_MS : PLAIN_MS;
      if (now() - shownMs < wait) return;
      shownMs = now();
      if (!screen.isNoteLive) return screen.note(line(done));
      screen.draw(line(done).slice(0, screen.columns() - 1));
      isDrawn = true;
    },
    end() {
      if (isDrawn) screen.draw("");
    },
  };
}
