/** The section of the page about the dashboard: how soon it shows what, and how it moves. Pure. */

import { exact, table, three, when } from "./markdown.ts";
import type { PageRecord } from "./results.ts";

export function dashboard({
  result: { commits, rounds, window, load, drag, jump, step },
  ...head
}: Extract<PageRecord, { bench: "dashboard" }>): string {
  const rows = [
    ["page opened: first paint", three(load.paintMs)],
    ["page opened: the newest version named and drawn", three(load.timelineMs)],
    ["page opened: its rows", three(load.rowsMs)],
    ["a version anywhere in the history: its number", three(jump.versionMs)],
    ["a version anywhere in the history: its rows", three(jump.rowsMs)],
    ["the same, 95 of 100", three(jump.rowsMs95)],
    ["the version before: its rows", three(step.rowsMs)],
    ["the same, 95 of 100", three(step.rowsMs95)],
    [`dragged over all for ${exact(drag.seconds)} s: a frame, 95 of 100`, three(drag.frameMs95)],
    ["dragged over all: the main thread in a frame", three(drag.mainThreadMs)],
  ];
  return `## The dashboard

A table of ${exact(commits)} commits in a real Chromium, a window of ${window.join(" by ")}, ${rounds} rounds, each in a fresh profile; ${when(head)}. Versions anywhere in the history are
others in each round; times are the page's own, from the key to the frame that shows it.

${table(["what", "ms"], rows)}

Dragged over all versions it draws ${three(drag.framesPerSecond)} frames/s.`;
}
