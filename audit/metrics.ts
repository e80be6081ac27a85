/** A look at the audit as numbers for Prometheus; the rules of `alerts.ts` are about these. */

import { Gauge, type Registry } from "prom-client";
import { ALERT_LIMITS, type AuditLook, incomplete } from "./alerts.ts";

/** Returns what keeps the numbers of a look; those of what is well again are gone. */
export function createAuditMetrics(registry: Registry): (look: AuditLook) => void {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `lab_audit_${name}`, help, labelNames, registers: [registry] });
  const where = ["topic", "table"] as const;
  const windows = gauge(
    "incomplete_windows",
    `Windows that are not complete ${ALERT_LIMITS.incompleteAfter / 60_000} minutes after their end.`,
    [...where, "origin", "stage", "cause"],
  );
  const amiss = gauge(
    "missing_messages",
    "Messages of windows of yesterday and today that were stated and are not there.",
    [...where, "origin", "stage", "cause"],
  );
  const doubled = gauge("doubled_messages", "Messages that are there more often than they were sent.", [
    ...where,
    "origin",
    "stage",
  ]);
  const silent = gauge("silent_seconds", "Time since the last heartbeat of an origin that is waited for.", [
    "topic",
    "origin",
  ]);
  const skew = gauge("skew_seconds", "How far a producer's clock is ahead of the broker's.", [
    "topic",
    "origin",
  ]);
  const late = gauge(
    "late_windows",
    "Windows that were stated anew within the last hour after they were closed.",
    ["topic", "origin"],
  );
  const behind = gauge("rollup_behind_seconds", "Age of the oldest commit that is not rolled up.", [
    ...where,
  ]);
  const passed = gauge("complete_to_timestamp_seconds", "Event time that all origins have passed.", [
    ...where,
  ]);
  const looked = gauge("looked_timestamp_seconds", "When the audit was last looked at.");
  // Without a look there is no time of one: 0 would be long ago.
  looked.remove();

  return (look) => {
    for (const one of [windows, amiss, doubled, silent, skew, late, behind, passed]) one.reset();
    for (const answer of look.answers) {
      const { topic } = answer;
      const table = answer.table ?? "";
      for (const { origin, stage, cause, windows: count } of incomplete(answer, look.atMs))
        windows.inc({ topic, table, origin: origin ?? "", stage, cause }, count);
      for (const { origin, stage, cause, count, windowMs, sinceMs } of answer.findings) {
        if (cause === "doubled") doubled.inc({ topic, table, origin, stage }, count);
        else if (windowMs !== undefined) amiss.inc({ topic, table, origin, stage, cause }, count);
        else if ((cause === "silent" || cause === "dead") && sinceMs !== undefined)
          silent.set({ topic, origin }, (look.atMs - sinceMs) / 1_000);
      }
      passed.set({ topic, table }, answer.completeToMs / 1_000);
    }
    for (const { topic, origin, skewMs } of look.skews) skew.set({ topic, origin }, skewMs / 1_000);
    for (const { topic, origin } of look.late) late.inc({ topic, origin });
    for (const { topic, table, sinceMs } of look.rollUps)
      behind.set({ topic, table }, (look.atMs - sinceMs) / 1_000);
    looked.set(look.atMs / 1_000);
  };
}
