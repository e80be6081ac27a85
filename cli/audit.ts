/** `lab audit`: is a day complete in the tables, and if not, what is missing of whom, where, and why? */

import { LabError } from "../core/errors.ts";
import { duration, named, toggle } from "../core/setting-kinds.ts";
import { SETTINGS as COMMON_SETTINGS, setting, type Values } from "../core/settings.ts";
import { nearNames } from "../query/near-names.ts";
import { ASK } from "./ask.ts";
import { type Context, defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { KAFKA } from "./kafka-settings.ts";
import { OPS } from "./serve-part.ts";

/** Where audits are read from; the dashboard takes them, too. */
export const AUDIT = {
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
  timeZone: setting<string>({
    flag: "--tz",
    env: "LAB_AUDIT_TZ",
    kind: named("zone"),
    default: "UTC",
    description: "whose day it is, as Europe/Berlin",
  }),
  webhook: setting<string | undefined>({
    flag: "--webhook",
    env: "LAB_AUDIT_WEBHOOK",
    kind: named("url"),
    default: undefined,
    description: "watch: told of each alert of an audit when it begins and when it ends, by a POST of JSON",
  }),
} as const;

const SETTINGS = {
  ...ASK,
  topic: setting<string | undefined>({
    flag: "--topic",
    kind: named("topic"),
    default: undefined,
    defaultText: "all that were heard of",
    description: "the topic that is asked about; retire needs one",
  }),
  ...AUDIT,
  wait: setting<boolean>({
    flag: "--wait",
    kind: toggle,
    default: false,
    description: "day: block until it is complete, or never will be",
  }),
  rows: setting<boolean>({
    flag: "--rows",
    kind: toggle,
    default: false,
    description: "day: read the rows of all windows, not only of those whose counts differ",
  }),
  trace: setting<boolean>({
    flag: "--trace",
    kind: toggle,
    default: false,
    description: "day: search the topic for what is lost, to tell whether the broker ever had it, and where",
  }),
  windows: setting<boolean>({
    flag: "--windows",
    kind: toggle,
    default: false,
    description: "day: with --json, the counts of each window, too",
  }),
  every: setting<number>({
    flag: "--every",
    env: "LAB_AUDIT_EVERY",
    kind: duration,
    default: 30_000,
    description: "watch: time between two looks",
  }),
  app: COMMON_SETTINGS.app,
  ...KAFKA,
  data: COMMON_SETTINGS.data,
  connectTimeout: CONNECT_TIMEOUT,
  ...OPS,
} as const;

export type AuditValues = Values<typeof SETTINGS>;

type Action = (context: Context, values: AuditValues, what: string) => Promise<number>;

/** Each loaded when it is wanted. */
const ACTIONS: Readonly<Record<string, Action>> = {
  day: async (...asked) => (await import("./audit-day.ts")).auditDay(...asked),
  retire: async (...asked) => (await import("./audit-retire.ts")).auditRetire(...asked),
  rollup: async (...asked) => (await import("./audit-rollup.ts")).auditRollUp(...asked),
  watch: async (context, values, what) => {
    requireNothing("watch", what);
    return (await import("./audit-watch.ts")).auditWatch(context, values);
  },
  rules: async (context, _values, what) => {
    requireNothing("rules", what);
    return (await import("./audit-rules.ts")).auditRules(context);
  },
};

function requireNothing(action: string, what: string): void {
  if (what === "") return;
  throw new LabError(
    "USAGE",
    `lab audit ${action} takes no ${JSON.stringify(what)}: it is about all topics`,
    {
      hint: `lab audit ${action}`,
    },
  );
}

export const audit = defineCommand({
  name: "audit",
  summary: "Tell whether a day is complete in the tables, and what is missing where; exit 3 while it is not",
  args: [
    {
      name: Object.keys(ACTIONS).join("|"),
      description:
        "day: is it complete; retire an origin; rollup: sum up a table's log in the audit table; watch: serve metrics and tell of alerts; rules: print them for Prometheus",
      required: true,
    },
    {
      name: "DATE|ORIGIN|TABLE",
      description:
        "day: which, as 2026-11-29, or today or yesterday; retire: who will send no more; rollup: of which table",
      required: false,
    },
  ],
  examples: [
    "lab audit day yesterday",
    "lab audit day 2026-11-29 --topic orders --tz Europe/Berlin --json",
    "lab audit day yesterday --wait && ./nightly-report.sh",
    "lab audit day yesterday --rows --trace",
    "lab audit retire shop-7 --topic orders",
    "lab audit rollup orders",
    "lab audit watch --webhook https://alerts.example.org/lab",
  ],
  settings: SETTINGS,
  stops: "tidily",
  seeAlso: ["produce", "ingest", "verify", "cleanup"],
  async run(context, values, [action = "", what = ""]) {
    const asked = ACTIONS[action];
    if (asked) return asked(context, values, what);
    const near = nearNames(action, Object.keys(ACTIONS));
    throw new LabError("USAGE", `lab audit cannot ${action}`, {
      hint:
        near.length > 0
          ? `did you mean ${near.join(" or ")}?`
          : `it can ${Object.keys(ACTIONS)
              .join(", ")
              .replace(/, (?=\w+$)/, " and ")}`,
    });
  },
});
