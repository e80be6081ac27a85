/** What someone at a terminal sees of streams at work: how far a run with an end has come, or how those are that go on until they are stopped. */

import type { StreamReport } from "../ingest/report.ts";
import { followCatchUp } from "./catch-up.ts";
import { fitLines, fitTo } from "./fit-lines.ts";
import { openLiveFrame } from "./live-frame.ts";
import type { Screen } from "./screen.ts";
import { streamLines } from "./stream-lines.ts";

export type StreamWatch = {
  /** Takes away what is drawn, for a line that is to stay. */
  clear(): void;
  end(): void;
};

const FRAME_MS = 500;
const LAST_LINE = "Ctrl+C stops: commit, exit.";

/** `label` says what is done to what: `merge people`. With `once` a bar, elsewhere than on a terminal too, as plain lines. */
export async function watchStreams(
  screen: Screen,
  watched: { label: string; once: boolean; reports: () => readonly StreamReport[] },
): Promise<StreamWatch> {
  const { label, once, reports } = watched;
  const clearLine = () => {
    if (screen.isNoteLive) screen.draw("");
  };
  if (once) return { clear: clearLine, ...followCatchUp(screen, label, reports) };
  const frame = await openLiveFrame(screen);
  const draw = () => {
    const fit = { columns: screen.columns(), rows: screen.rows() - 2, paint: frame.paint };
    frame.draw([...fitLines(streamLines(reports(), Date.now()), fit), fitTo(LAST_LINE, fit.columns)]);
  };
  draw();
  const timer = setInterval(draw, FRAME_MS);
  return {
    clear: () => frame.clear(),
    end() {
      clearInterval(timer);
      frame.clear();
      frame.done();
    },
  };
}
