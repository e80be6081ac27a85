/** What a person sees while `lab up` runs: one screen that is redrawn, or a plain line now and then. */

import { setTimeout as delay } from "node:timers/promises";
import type { Part } from "../dashboard/control.ts";
import type { PartStatus, Supervisor } from "../services/supervisor.ts";
import type { Context } from "./command.ts";
import { readAlerts, readParts } from "./lab-state.ts";
import { openLiveFrame } from "./live-frame.ts";
import { statusChanges, statusLines, statusSentence } from "./status-lines.ts";

const FRAME_MS = 500;
const PLAIN_MS = 10_000;

/** Returns when `until` aborts. The screen is left with its last frame on it and the cursor back. */
export async function showStatus(
  context: Context,
  options: {
    data: string;
    supervisor: Supervisor;
    address: string | null;
    /** Services alone: there is nothing to count, only changes are told. */
    isServicesOnly: boolean;
    until: AbortSignal;
  },
): Promise<void> {
  const { screen } = context;
  const { until, supervisor, data } = options;
  const isLive = screen.isNoteLive && !options.isServicesOnly;
  const startedMs = performance.now();
  const frame = isLive ? await openLiveFrame(screen) : null;
  let before: PartStatus[] = supervisor.parts();
  let plainDueMs = startedMs + PLAIN_MS;
  try {
    while (!until.aborted) {
      const parts: Part[] = options.isServicesOnly
        ? []
        : await readParts(data, { signal: until, timeoutMs: 3000 });
      const supervised = supervisor.parts();
      for (const line of statusChanges(before, supervised)) {
        frame?.clear();
        screen.note(`${new Date().toISOString().slice(11, 19)}Z ${line}`);
      }
      before = supervised;
      const upMs = performance.now() - startedMs;
      const lastLine = `Logs in ${data}/logs. Ctrl+C stops: flush, commit, exit.`;
      const alerts = frame === null ? [] : ((await readAlerts(data, { signal: until })) ?? []);
      frame?.draw(
        statusLines(
          { address: options.address, upMs, supervised, parts, alerts, lastLine, nowMs: Date.now() },
          { columns: screen.columns(), rows: screen.rows() - 1, paint: frame.paint },
        ),
      );
      if (frame === null && !options.isServicesOnly && performance.now() >= plainDueMs) {
        screen.note(`${new Date().toISOString().slice(11, 19)}Z ${statusSentence(parts)}`);
        plainDueMs += PLAIN_MS;
      }
      await delay(FRAME_MS, undefined, { signal: until });
    }
  } catch (error) {
    if (!until.aborted) throw error;
  } finally {
    frame?.done();
  }
}
