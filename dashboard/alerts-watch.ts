/** Looks at the lab now and then, whether or not somebody watches, so that alerts know how long something lasts. */

import type { Log } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import { type Alert, alertsOf, KEEP_SECONDS, type Sample, sampleOf } from "./alerts.ts";
import type { LabControl } from "./control.ts";

const LOOK_EVERY_MS = 10_000;
const LOOK_DEADLINE_MS = 5_000;

/** Runs until `signal` aborts. `alerts()` is what the last look says. New alerts are logged once, each. */
export function watchAlerts(options: {
  control: Pick<LabControl, "parts">;
  log: Log;
  now: () => number;
  signal: AbortSignal;
  everyMs?: number;
}): { alerts(): Alert[]; ended: Promise<void> } {
  const { control, log, now, signal, everyMs = LOOK_EVERY_MS } = options;
  let samples: Sample[] = [];
  let alerts: Alert[] = [];

  async function look(): Promise<void> {
    const parts = await control.parts(AbortSignal.any([signal, AbortSignal.timeout(LOOK_DEADLINE_MS)]));
    const atMs = now();
    samples = [...samples.filter((one) => atMs - one.atMs <= KEEP_SECONDS * 1000), sampleOf(parts, atMs)];
    const known = new Set(alerts.map(idOf));
    alerts = alertsOf(samples);
    for (const alert of alerts) {
      if (known.has(idOf(alert))) continue;
      const { name, severity, topic, table, part, message } = alert;
      log.warn({ event: "alert", code: name, severity, topic, table, of: part }, message);
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await look().catch((error: unknown) => {
        if (!signal.aborted) log.warn({ event: "alert-look", err: error }, "looking at the lab failed");
      });
      await sleep(everyMs, signal).catch(() => {});
    }
  }
  return { alerts: () => alerts, ended: run() };
}

const idOf = ({ name, topic, table, part }: Alert) => `${name} ${topic} ${table} ${part}`;
