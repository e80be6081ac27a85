/** `lab audit watch`: looks at the audit of today and yesterday, serves what it sees as metrics, and tells of alerts. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import type { AuditAlert, AuditLook } from "../audit/alerts.ts";
import { dateIn } from "../audit/day.ts";
import { lookAt } from "../audit/look.ts";
import { createAuditMetrics } from "../audit/metrics.ts";
import { type AuditWatch, watchAudit } from "../audit/watch.ts";
import { messageOf, post } from "../audit/webhook.ts";
import { LabError } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { toJson } from "../core/ops.ts";
import type { AuditValues } from "./audit.ts";
import { withAuditReading } from "./audit-reading.ts";
import { requireAuditTable } from "./audit-table.ts";
import type { Context } from "./command.ts";
import { servePart } from "./serve-part.ts";

export async function auditWatch(context: Context, values: AuditValues): Promise<number> {
  const { screen, signal, env, common } = context;
  const { timeZone, auditTable, auditTopic } = values;
  dateIn(timeZone, Date.now());
  requireUrl(values.webhook);
  const log = await context.openLog();
  const registry = new Registry();
  await withAuditReading(context, values, async (reading) => {
    await requireAuditTable(reading.query.catalog, { table: auditTable, topic: auditTopic }, signal);
    // Who looks at both outputs in one place need not read each alert twice.
    const isLookedAt = screen.isOutLive && screen.isNoteLive && !common.json && !common.verbose;
    const watch = await startAuditWatch({
      ...(isLookedAt && { alertLog: silentLog }),
      ...{ registry, log, signal, everyMs: values.every, data: values.data, webhook: values.webhook },
      look: (looking) => lookAt(reading, timeZone, Date.now(), looking),
      onTell: (alert, status) => {
        const message = messageOf(alert, status, Date.now());
        screen.out(common.json ? `${toJson(message)}\n` : `${lineOf(message)}\n`);
      },
    });
    const state = () => ({ part: "audit", pid: process.pid, alerts: watch.alerts() });
    const source = { isHealthy: () => true, isReady: () => true, state, registry };
    const part = await servePart("audit", source, values, env);
    log.info({ event: "ops", port: part.port }, "serving /healthz, /readyz, /state and /metrics");
    try {
      if (!signal.aborted) await once(signal, "abort");
      await watch.ended;
    } finally {
      await part.close();
    }
  });
  return 0;
}

/** A watch as the command and the dashboard run it. USAGE for what is no address of a webhook. What a webhook was told is kept in the data folder, so that a new start does not tell it again. */
export async function startAuditWatch(options: {
  look: (signal: AbortSignal) => Promise<AuditLook>;
  registry: Registry;
  log: Log;
  /** Takes the alerts themselves; default: `log`. */
  alertLog?: Log;
  signal: AbortSignal;
  everyMs: number;
  data: string;
  webhook: string | undefined;
  onTell?: (alert: AuditAlert, status: "firing" | "resolved") => void;
}): Promise<AuditWatch> {
  const { look, log, alertLog = log, data, webhook, onTell } = options;
  requireUrl(webhook);
  const observe = createAuditMetrics(options.registry);
  // Whoever only reads the log, or the screen, is told at each start.
  const kept = webhook === undefined ? undefined : toldFile(data, webhook);
  return watchAudit({
    ...{ log, everyMs: options.everyMs, signal: options.signal },
    look,
    onLook: observe,
    ...(kept && { told: await kept.read(), keepTold: kept.write }),
    async tell(alert, status, signal) {
      if (webhook !== undefined) await post(webhook, messageOf(alert, status, Date.now()), signal);
      const { name, severity, topic, table, origin, cause, message } = alert;
      const fields = { event: "audit-alert", code: name, status, severity, topic, table, origin, cause };
      if (status === "firing") alertLog.warn(fields, message);
      else alertLog.info(fields, "over");
      onTell?.(alert, status);
    },
  });
}

function lineOf({ status, name, topic, origin, message }: ReturnType<typeof messageOf>): string {
  return `${status === "firing" ? "alert" : "over "}  ${name}  ${topic}${origin ? `, ${origin}` : ""}: ${message}`;
}

/** USAGE for what is no address. */
function requireUrl(text: string | undefined): void {
  if (text === undefined || /^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : "")) return;
  throw new LabError("USAGE", `${JSON.stringify(text)} is no address of a webhook`, {
    hint: "give one as https://alerts.example.org/lab",
    details: { webhook: text },
  });
}

/** What was told to a webhook: a file for each. */
function toldFile(data: string, webhook: string) {
  const file = join(
    data,
    `audit-told-${createHash("sha256").update(webhook).digest("hex").slice(0, 8)}.json`,
  );
  return {
    async read(): Promise<AuditAlert[]> {
      try {
        return JSON.parse(await readFile(file, "utf8")) as AuditAlert[];
      } catch {
        // There is none, or a kill cut it short: what still holds is told once more.
        return [];
      }
    },
    async write(told: readonly AuditAlert[]): Promise<void> {
      await mkdir(data, { recursive: true });
      await writeFile(`${file}.new`, JSON.stringify(told));
      await rename(`${file}.new`, file);
    },
  };
}
