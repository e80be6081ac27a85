/** What becomes of a stream that stands still: it is told, its client is made anew, and at last it ends. */

import type { LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Source } from "../kafka/ports.ts";
import type { StreamMetrics } from "./metrics.ts";
import type { Verdict } from "./patience.ts";

/** Carries out what `patience` says. */
export function createWatchdog(options: {
  source: Pick<Source, "rejoin">;
  metrics: Pick<StreamMetrics, "rejoin">;
  log: Log;
  giveUp(error: LabError): void;
}): (verdict: Verdict | null) => void {
  const { source, metrics, log, giveUp } = options;

  return (verdict) => {
    if (verdict?.kind === "give up") giveUp(verdict.error);
    if (verdict?.kind === "tell")
      log.warn(
        { event: "stalled", code: "NO_PROGRESS", standingMs: Math.round(verdict.standingMs) },
        "there are records to read, and none come",
      );
    if (verdict?.kind === "rejoin") {
      metrics.rejoin();
      log.warn(
        { event: "rejoin", code: "NO_PROGRESS", standingMs: Math.round(verdict.standingMs) },
        "still none come: joining the group anew with a new client",
      );
      source
        .rejoin()
        .catch((error: unknown) => log.warn({ event: "rejoin", err: String(error) }, "not joined anew"));
    }
  };
}
