/** `lab audit day`: the answer for a day, at once or when it is complete. */

import { dayAsked } from "../audit/day.ts";
import { answerDay, type DayAnswer } from "../audit/day-answer.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { sleep } from "../core/retry.ts";
import type { AuditValues } from "./audit.ts";
import { auditDocument, auditPage } from "./audit-print.ts";
import { withAuditReading } from "./audit-reading.ts";
import { requireAuditTable } from "./audit-table.ts";
import type { Context } from "./command.ts";

/** Between two looks of `--wait`, in ms: heartbeats come every ten seconds. */
const LOOK_MS = 5_000;

export async function auditDay(context: Context, values: AuditValues, asked: string): Promise<number> {
  const { screen, common, signal } = context;
  const { timeZone, auditTable, auditTopic } = values;
  if (asked === "")
    throw new LabError("USAGE", "which day is asked about?", { hint: "lab audit day yesterday" });
  const { date, ...span } = dayAsked(timeZone, asked, Date.now());
  return withAuditReading(context, values, async (reading, kafka) => {
    await requireAuditTable(reading.query.catalog, { table: auditTable, topic: auditTopic }, signal);
    for (let last = ""; ; ) {
      const explaining = { allRows: values.rows, kafka: values.trace ? kafka : undefined };
      // Who waits wants to know when, and pays for names once.
      const how = values.wait && !values.rows ? reading : { ...reading, explaining };
      const answer = await answerDay(how, values.topic, span, Date.now(), signal);
      if (!values.wait || answer.answer !== "not yet") {
        const told = { date, timeZone, ...span, ...answer };
        screen.out(
          common.json ? `${toJson(auditDocument(told, values.windows), 2)}\n` : auditPage(told, screen),
        );
        return answer.answer === "yes" ? 0 : 3;
      }
      const why = waitingFor(answer);
      if (why !== last) screen.note(`not yet: ${why}`);
      last = why;
      await sleep(LOOK_MS, signal);
    }
  });
}

/** The first thing that keeps a day open, in a few words. */
function waitingFor({ topics }: DayAnswer): string {
  for (const { topic, findings } of topics)
    for (const { cause, origin } of findings)
      return origin === "" ? `${topic}: ${cause}` : `${topic}, ${origin}: ${cause}`;
  return "no topic was heard of";
}
