/** `lab audit`: is a day complete in the tables, and if not, what is missing of whom, where, and why? */

import type { DayAnswer } from "../audit/day-answer.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { sleep } from "../core/retry.ts";
import { named, toggle } from "../core/setting-kinds.ts";
import { SETTINGS as COMMON_SETTINGS, setting, type Values } from "../core/settings.ts";
import type { Admin, Kafka } from "../kafka/ports.ts";
import { nearNames } from "../query/near-names.ts";
import { ASK, withQuery } from "./ask.ts";
import { auditDocument, auditPage } from "./audit-print.ts";
import { type Context, defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { KAFKA, kafkaAccess } from "./kafka-settings.ts";

const ACTIONS = ["day", "retire"] as const;
/** Between two looks of `--wait`, in ms. */
const LOOK_MS = 5_000;

const SETTINGS = {
  ...ASK,
  topic: setting<string | undefined>({
    flag: "--topic",
    kind: named("topic"),
    default: undefined,
    defaultText: "all that were heard of",
    description: "the topic that is asked about; retire needs one",
  }),
  timeZone: setting<string>({
    flag: "--tz",
    env: "LAB_AUDIT_TZ",
    kind: named("zone"),
    default: "UTC",
    description: "whose day it is, as Europe/Berlin",
  }),
  wait: setting<boolean>({
    flag: "--wait",
    kind: toggle,
    default: false,
    description: "day: block until it is complete, or never will be",
  }),
  expect: setting<string | undefined>({
    flag: "--expect",
    env: "LAB_AUDIT_EXPECT",
    kind: named("file"),
    default: undefined,
    defaultText: "audit.yaml, where there is one",
    description: "a file of the origins that each topic has to hear of",
  }),
  auditTopic: setting<string>({
    flag: "--audit-topic",
    env: "LAB_AUDIT_TOPIC",
    kind: named("topic"),
    default: "audit",
    description: "where producers send their heartbeats",
  }),
  auditTable: setting<string>({
    flag: "--audit-table",
    env: "LAB_AUDIT_TABLE",
    kind: named("table"),
    default: "audit",
    description: "the table, in the store, that holds them",
  }),
  ...KAFKA,
  data: COMMON_SETTINGS.data,
  connectTimeout: CONNECT_TIMEOUT,
} as const;

type AuditValues = Values<typeof SETTINGS>;

export const audit = defineCommand({
  name: "audit",
  summary: "Tell whether a day is complete in the tables, and what is missing where; exit 3 while it is not",
  args: [
    { name: "day|retire", description: "what to do", required: true },
    {
      name: "DATE|ORIGIN",
      description: "day: which, as 2026-11-29, or today or yesterday; retire: who will send no more",
      required: true,
    },
  ],
  examples: [
    "lab audit day yesterday",
    "lab audit day 2026-11-29 --topic orders --tz Europe/Berlin --json",
    "lab audit day yesterday --wait && ./nightly-report.sh",
    "lab audit retire shop-7 --topic orders",
  ],
  settings: SETTINGS,
  stops: "tidily",
  seeAlso: ["produce", "ingest", "verify"],
  async run(context, values, [action = "", what = ""]) {
    if (action === "day") return day(context, values, what);
    if (action === "retire") return retire(context, values, what);
    const near = nearNames(action, ACTIONS);
    throw new LabError("USAGE", `lab audit cannot ${action}`, {
      hint: near.length > 0 ? `did you mean ${near.join(" or ")}?` : `it can ${ACTIONS.join(" and ")}`,
    });
  },
});

async function day(context: Context, values: AuditValues, asked: string): Promise<number> {
  const { screen, common, signal, lab } = context;
  const { answerDay } = await import("../audit/day-answer.ts");
  const { dateIn, dayIn } = await import("../audit/day.ts");
  const { auditedTopics } = await import("../audit/facts.ts");
  const { readExpected } = await import("./audit-expected.ts");
  const { requireAuditTable } = await import("./audit-table.ts");
  const { tablesOfTopic } = await import("./audit-tables.ts");
  const { timeZone, auditTable, auditTopic } = values;
  const date = relativeDate(asked, (ms) => dateIn(timeZone, ms));
  const span = dayIn(timeZone, date);
  const expected = await readExpected(values.expect);
  return withAdmin(context, values, async (admin) =>
    withQuery(values, async (query) => {
      await requireAuditTable(query.catalog, { table: auditTable, topic: auditTopic }, signal);
      for (;;) {
        const topics = values.topic ? [values.topic] : await auditedTopics(query, auditTable, span, signal);
        for (const topic of expected.keys())
          if (values.topic === undefined && !topics.includes(topic)) topics.push(topic);
        const audited = [];
        for (const topic of topics)
          audited.push({
            topic,
            tables: await tablesOfTopic(query, topic, { lab }, signal),
            expected: expected.get(topic) ?? [],
          });
        const reading = { query, audit: { table: auditTable, topic: auditTopic }, admin };
        const answer = await answerDay(reading, audited, span, Date.now(), signal);
        if (!values.wait || answer.answer !== "not yet") {
          const named = { date, timeZone, ...span, ...answer };
          screen.out(common.json ? `${toJson(auditDocument(named), 2)}\n` : auditPage(named, screen));
          return answer.answer === "yes" ? 0 : 3;
        }
        screen.note(`not yet: ${waitingFor(answer)}`);
        await sleep(LOOK_MS, signal);
      }
    }),
  );
}

/** The first thing that keeps a day open, in a few words. */
function waitingFor({ topics }: DayAnswer): string {
  for (const { topic, findings } of topics)
    for (const { cause, origin } of findings) return `${topic}, ${origin}: ${cause}`;
  return "no topic was heard of";
}

async function retire(context: Context, values: AuditValues, origin: string): Promise<number> {
  const { topic, auditTopic } = values;
  if (topic === undefined)
    throw new LabError("USAGE", `of which topic is ${origin} to be retired?`, {
      hint: `lab audit retire ${origin} --topic orders`,
    });
  const { retirement } = await import("../audit/retire.ts");
  const sink = await (await connect(context, values)).sink({ acks: "all", idempotent: true });
  try {
    const value = JSON.stringify(retirement(topic, origin, Date.now()));
    await sink.send(auditTopic, [{ key: origin, value }]);
  } finally {
    await sink.close();
  }
  context.screen.out(
    context.common.json
      ? `${toJson({ topic, origin, retired: true }, 2)}\n`
      : `${origin} is not waited for any more in ${topic}\n`,
  );
  return 0;
}

async function connect(context: Context, values: AuditValues): Promise<Kafka> {
  const { connectKafka } = await import("../kafka/client.ts");
  const access = await kafkaAccess(values, context);
  return connectKafka({ ...access, clientId: "lab-audit", connectTimeoutMs: values.connectTimeout });
}

async function withAdmin<T>(
  context: Context,
  values: AuditValues,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = await (await connect(context, values)).admin();
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

const DAY_MS = 86_400_000;

function relativeDate(asked: string, dateAt: (ms: number) => string): string {
  if (asked === "today") return dateAt(Date.now());
  return asked === "yesterday" ? dateAt(Date.now() - DAY_MS) : asked;
}
