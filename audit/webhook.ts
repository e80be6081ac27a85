/** Alerts of an audit for another program: one POST of JSON for each that begins or ends. */

import { LabError } from "../core/errors.ts";
import { type AuditAlert, alertKey } from "./alerts.ts";

export type WebhookMessage = ReturnType<typeof messageOf>;

/** How long one POST may take. */
const PATIENCE_MS = 10_000;

/** What is sent of an alert; `id` is the same for its beginning and its end. Times are ISO 8601 in UTC. */
export function messageOf(alert: AuditAlert, status: "firing" | "resolved", atMs: number) {
  const { windowMs, sinceMs, ...rest } = alert;
  return {
    ...{ id: alertKey(alert).replaceAll("\n", "|"), status, ...rest },
    window: windowMs === null ? null : new Date(windowMs).toISOString(),
    startsAt: new Date(sinceMs).toISOString(),
    endsAt: status === "resolved" ? new Date(atMs).toISOString() : null,
  };
}

/** Sends one; any answer of 200 to 299 will do. WEBHOOK_FAILED for any other, and for none. */
export async function post(url: string, message: WebhookMessage, signal: AbortSignal): Promise<void> {
  const failed = (what: string, cause?: unknown) =>
    new LabError("WEBHOOK_FAILED", `${new URL(url).host} did not take an alert: ${what}`, {
      hint: "see that the address of --webhook is right and takes a POST of JSON; it is tried again at the next look",
      details: { id: message.id, status: message.status },
      ...(cause === undefined ? {} : { cause }),
    });
  let status: number;
  try {
    const response = await fetch(url, {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(message) },
      ...{ redirect: "error", signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]) },
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    signal.throwIfAborted();
    throw failed((error as Error).message, error);
  }
  if (status < 200 || status > 299) throw failed(`status ${status}`);
}
