/** Looks at the audit again and again, and tells of each alert once when it begins and once when it ends. */

import { asLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import { type AuditAlert, type AuditLook, alertKey, auditAlerts, changedAlerts } from "./alerts.ts";

export type AuditWatchOptions = {
  look: (signal: AbortSignal) => Promise<AuditLook>;
  /** Tells of one alert; where it rejects it is tried again after the next look. */
  tell: (alert: AuditAlert, status: "firing" | "resolved", signal: AbortSignal) => Promise<void>;
  /** Alerts whose beginning was told, and not their end, by an earlier watch. */
  told?: readonly AuditAlert[];
  /** Keeps that for a later one. */
  keepTold?: (told: readonly AuditAlert[]) => Promise<void>;
  /** Told after each look that did not fail. */
  onLook?: (look: AuditLook, alerts: readonly AuditAlert[]) => void | Promise<void>;
  log: Log;
  everyMs: number;
  signal: AbortSignal;
};

export type AuditWatch = {
  /** As of the last look. */
  alerts(): readonly AuditAlert[];
  /** Resolves once `signal` has aborted. */
  ended: Promise<void>;
};

/** A look that fails changes nothing: what was amiss still is, as far as anybody knows. */
export function watchAudit(options: AuditWatchOptions): AuditWatch {
  const { log, signal } = options;
  let alerts: readonly AuditAlert[] = options.told ?? [];
  let told: readonly AuditAlert[] = options.told ?? [];

  async function once(): Promise<void> {
    const look = await options.look(signal);
    alerts = auditAlerts(look);
    await options.onLook?.(look, alerts);
    const { began, ended } = changedAlerts(told, alerts);
    for (const alert of ended)
      await tell(alert, "resolved", () => told.filter((one) => alertKey(one) !== alertKey(alert)));
    for (const alert of began) await tell(alert, "firing", () => [...told, alert]);
  }

  /** What cannot be told of one keeps no other back. */
  async function tell(
    alert: AuditAlert,
    status: "firing" | "resolved",
    after: () => readonly AuditAlert[],
  ): Promise<void> {
    try {
      await options.tell(alert, status, signal);
      told = after();
      await options.keepTold?.(told);
    } catch (error) {
      signal.throwIfAborted();
      log.warn(
        { event: "audit-tell", code: asLabError(error).code, err: error },
        "an alert could not be told",
      );
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await once().catch((error: unknown) => {
        if (!signal.aborted) log.warn({ event: "audit-look", err: error }, "looking at the audit failed");
      });
      await sleep(options.everyMs, signal).catch(() => {});
    }
  }

  return { alerts: () => alerts, ended: run() };
}
