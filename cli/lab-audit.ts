/** What the dashboard knows of audits: answers for days, and the watch over today and yesterday. */

import type { Registry } from "prom-client";
import type { AuditAlert } from "../audit/alerts.ts";
import type { AuditReading } from "../audit/day-answer.ts";
import { isLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Alert } from "../dashboard/alerts.ts";
import type { AuditControl, AuditDay } from "../dashboard/audit.ts";
import type { Admin, Kafka } from "../kafka/ports.ts";
import { openQuery } from "../query/query.ts";
import { readExpected } from "./audit-expected.ts";
import { auditDocument } from "./audit-print.ts";
import { requireAuditTable } from "./audit-table.ts";
import { tablesOfTopic } from "./audit-tables.ts";
import type { LabYaml } from "./lab-yaml.ts";

export type LabAuditOptions = {
  store: string;
  limits: Parameters<typeof openQuery>[0]["limits"];
  kafka: Kafka;
  lab: LabYaml | null;
  audit: { table: string; topic: string };
  expect: string | undefined;
  timeZone: string;
  webhook: string | undefined;
  data: string;
  registry: Registry;
  log: Log;
  signal: AbortSignal;
};

/** An answer serves all who ask within this time. */
const FRESH_MS = 3_000;
const LOOK_EVERY_MS = 30_000;

/** Connects at the first question, and anew after the connection broke. CONFIG_INVALID where `audit.yaml` is wrong. */
export async function createLabAudit(
  options: LabAuditOptions,
): Promise<AuditControl & { close(): Promise<void> }> {
  const { store, kafka, lab, audit, data, registry, log, signal } = options;
  const expected = await readExpected(options.expect);
  const query = openQuery({ store, ...(options.limits && { limits: options.limits }) });
  let connecting: Promise<Admin> | null = null;
  const fresh = new Map<string, { untilMs: number; answer: Promise<AuditDay> }>();

  async function withReading<T>(work: (reading: AuditReading) => Promise<T>): Promise<T> {
    connecting ??= kafka.admin();
    const current = connecting;
    try {
      const reading = { query, admin: await current, audit, expected };
      return await work({
        ...reading,
        tablesOf: (topic, waiting) => tablesOfTopic(query, topic, { lab }, waiting),
      });
    } catch (error) {
      if (isLabError(error, "BROKER_UNREACHABLE") && connecting === current) {
        connecting = null;
        current.then((admin) => admin.close()).catch(() => {});
      }
      throw error;
    }
  }

  async function answer(asked: string, timeZone: string, waiting: AbortSignal): Promise<AuditDay> {
    const { answerDay } = await import("../audit/day-answer.ts");
    const { dayAsked } = await import("../audit/day.ts");
    const { date, ...span } = dayAsked(timeZone, asked, Date.now());
    await requireAuditTable(query.catalog, audit, waiting);
    return withReading(async (reading) => {
      const how = { ...reading, explaining: { allRows: false } };
      const found = await answerDay(how, undefined, span, Date.now(), waiting);
      return auditDocument({ date, timeZone, ...span, ...found }, true);
    });
  }

  const { startAuditWatch } = await import("./audit-watch.ts");
  const { lookAt } = await import("../audit/look.ts");
  const watch = await startAuditWatch({
    ...{ registry, log, signal, data, everyMs: LOOK_EVERY_MS, webhook: options.webhook },
    look: async (looking) => {
      const atMs = Date.now();
      try {
        return await withReading((reading) => lookAt(reading, options.timeZone, atMs, looking));
      } catch (error) {
        // Most labs audit nothing.
        if (isLabError(error, "TABLE_NOT_FOUND", "NOT_A_TABLE", "TOPIC_MISSING"))
          return { atMs, answers: [], skews: [], late: [], rollUps: [] };
        throw error;
      }
    },
  });

  return {
    async day(date, timeZone, _waiting) {
      const key = `${date} ${timeZone}`;
      const known = fresh.get(key);
      if (known && known.untilMs > Date.now()) return known.answer;
      // Others may wait for the same answer when the first who asked is gone.
      const asked = answer(date, timeZone, signal);
      fresh.clear();
      fresh.set(key, { untilMs: Date.now() + FRESH_MS, answer: asked });
      return asked;
    },
    alerts: () => watch.alerts().map(alertOf),
    async close() {
      await watch.ended;
      const admin = await connecting?.catch(() => null);
      await admin?.close();
      await query.close();
    },
  };
}

/** As the page lists alerts: the part is who or what it is about. */
function alertOf({ name, severity, topic, table, origin, cause, sinceMs, message }: AuditAlert): Alert {
  return {
    ...{ name, severity, topic, table, message },
    part: `${topic}, ${origin ?? table ?? ""} (${cause})`,
    since: new Date(sinceMs).toISOString(),
  };
}
