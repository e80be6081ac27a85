/** A few lines on a terminal's stderr that are drawn again in their place. */

import type { Screen } from "./screen.ts";
import type { Mark } from "./stream-lines.ts";

export type LiveFrame = {
  draw(lines: readonly string[]): void;
  /** Takes the lines away, for a line that is to stay; the next `draw` puts them below it. */
  clear(): void;
  /** Leaves the last lines where they are, and gives the cursor back. */
  done(): void;
  /** A mark in its colour. */
  paint(mark: Mark, text: string): string;
};

export async function openLiveFrame({ noteColors }: Screen): Promise<LiveFrame> {
  const { createLogUpdate } = await import("log-update");
  const update = createLogUpdate(process.stderr);
  const { green, yellow, red } = noteColors;
  const colours = { "[ok]": green, "[!]": yellow, "[x]": red, "": (text: string) => text };
  return {
    draw: (lines) => update(lines.join("\n")),
    clear: () => update.clear(),
    done: () => update.done(),
    paint: (mark, text) => (mark === "" ? text : text.replace(mark, colours[mark](mark))),
  };
}
